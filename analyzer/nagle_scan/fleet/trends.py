"""Since when a service loses more time than usual: its hours, and a picture of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nagle_scan.words.certainty import CONFIDENCES
from nagle_scan.words.wording import duration

EARLIER = 3
"""Captured hours before an onset: of fewer, one odd hour would be half of what is usual."""
TIMES = 2
"""Above the usual: half of all hours are above their median, few are so by chance that far."""
MIN_STALLS = 3
"""In the hour of an onset: up to two come by chance where one is to be expected."""
LASTING = 0.5
"""The share of the hours since that must be above as well: a peak that went back is no onset."""
UNDATED = "the captures tell no date"
STEPS = {"1h": "an hour", "1D": "a day", "7D": "a week"}
"""What a bar stands for, as pandas and as readers call it."""
MOST_BARS = 96
"""Four days of hours, three months of days, 22 months of weeks."""
MOST = 0.95
"""Of the hours: a few captures with a broken clock must not make years of a week."""
LEAST_BARS = 24
"""There is room for so many: of two, none is half as wide as the picture."""
BAR, GAP, HEIGHT = 2, 1, 32
"""Of a picture, in its own units."""


class Trend(NamedTuple):
    """When a service began to lose more than usual."""

    onset: pd.Timestamp | None
    """The first hour, UTC."""
    note: str
    """What was usual before, or why there is none."""


def trend(hours: pd.DataFrame) -> Trend:
    """Of the captured hours of one service, in order: rows of `Fleet.hours`.

    Time lost to certain and likely stalls counts per exchange: a busier hour is no onset. An hour
    without a whole exchange (a stream, or the end of one) counts as one exchange. Hours without
    captures are unknown, and left out.
    """
    if not len(hours):
        return Trend(None, UNDATED)
    lost_ms = (hours["lost_ms_certain"] + hours["lost_ms_likely"]) / hours["exchanges"].clip(1)
    stalls = hours["stalls_certain"] + hours["stalls_likely"]
    usual_ms = lost_ms.expanding().median().shift()
    is_above = (lost_ms > TIMES * usual_ms) & (stalls >= MIN_STALLS)
    for place in np.flatnonzero(is_above)[np.flatnonzero(is_above) >= EARLIER]:
        since = lost_ms.iloc[place:] > TIMES * usual_ms.iloc[place]
        if since.mean() > LASTING:
            note = _before(usual_ms.iloc[place]) + "; one hour so far" * (len(since) == 1)
            return Trend(hours["hour"].iloc[place], note)
    return Trend(None, _none(np.flatnonzero(stalls), len(hours)))


def _before(usual_ms: float) -> str:
    return f"{duration(usual_ms)} per exchange before" if usual_ms else "usually nothing before"


def _none(with_stalls: np.ndarray, hours: int) -> str:
    if not len(with_stalls):
        return ""
    if with_stalls[0] == 0:
        return "in the first captured hour already"
    if with_stalls[0] < EARLIER or hours <= EARLIER:
        return f"fewer than {EARLIER} captured hours before"
    return "now and then; no lasting rise"


class Axis(NamedTuple):
    """The time that the pictures of all services show: the latest that fits."""

    step: str
    begin: pd.Timestamp
    end: pd.Timestamp
    """The begin of the last bar."""

    def places(self, hours: pd.Series[pd.Timestamp]) -> pd.Series[int]:
        """The bar of each hour; negative if it is before all."""
        return (hours.dt.floor(self.step) - self.begin) // pd.Timedelta(self.step)

    @property
    def last(self) -> pd.Timestamp:
        """The last moment."""
        return self.end + pd.Timedelta(self.step) - pd.Timedelta("1ns")

    @property
    def width(self) -> int:
        """Of the picture."""
        bars = self.places(pd.Series([self.end]))[0] + 1
        return max(bars, LEAST_BARS) * (BAR + GAP)

    @property
    def told(self) -> str:
        """In words."""
        ends = " to ".join(f"{end:%Y-%m-%d %H:%M}" for end in (self.begin, self.end))
        return f"{ends} UTC; a bar is {STEPS[self.step]}"


def axis(hours: pd.Series[pd.Timestamp]) -> Axis:
    """For these hours, of which there is at least one: the shortest step that shows most."""
    for step in STEPS:
        end = hours.max().floor(step)
        first = end - (MOST_BARS - 1) * pd.Timedelta(step)
        shown = hours[hours >= first]
        if len(shown) >= MOST * len(hours):
            break
    return Axis(step, shown.min().floor(step), end)


class Chart(NamedTuple):
    """Time lost per captured hour: bars by confidence, the surest lowest."""

    bars: list[tuple[str, str]]
    """Confidence, and the path of its bars."""
    captured: str
    """The path of a line below all that was captured: a gap is unknown, not clean."""
    onset: int
    """Where it is; -1 if it is not in the picture."""
    label: str


def chart(hours: pd.DataFrame, onset: pd.Timestamp | None, axis: Axis) -> Chart:
    """The picture of one service."""
    lost = [f"lost_ms_{word}" for word in CONFIDENCES]
    shown = hours.assign(place=axis.places(hours["hour"]))
    means = shown[shown["hour"].between(axis.begin, axis.last)].groupby("place")[lost].mean()
    most_ms = means.sum(axis=1).max() if len(means) else 0.0
    tops = means.cumsum(axis=1) * (HEIGHT / most_ms if most_ms else 0.0)
    bars = [
        (word, "".join(_bars(tops[column], means[column] * HEIGHT / (most_ms or 1.0))))
        for word, column in zip(CONFIDENCES, lost, strict=True)
    ]
    captured = "".join(f"M{_x(place)} {HEIGHT}h{BAR}v1h-{BAR}z" for place in means.index)
    at = -1 if pd.isna(onset) else _x(axis.places(pd.Series([onset]))[0])
    label = f"Time lost per hour, at most {duration(most_ms)}, {axis.told}"
    return Chart([bar for bar in bars if bar[1]], captured, max(at, -1), label)


def _bars(tops: pd.Series[float], heights: pd.Series[float]) -> Iterator[str]:
    for (place, top), height in zip(tops.items(), heights, strict=True):
        if height > 0:
            yield f"M{_x(place)} {HEIGHT - top:.1f}h{BAR}v{height:.1f}h-{BAR}z"


def _x(place: Any) -> int:  # noqa: ANN401
    return int(place) * (BAR + GAP)
