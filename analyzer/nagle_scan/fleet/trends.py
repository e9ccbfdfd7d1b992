"""Since when a service loses more time than usual: its hours, and a picture of them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from nagle_scan.words.certainty import CONFIDENCES
from nagle_scan.words.wording import duration

EARLIER = 3
"""Captured hours before an onset: of fewer, one odd hour would be half of the usual."""
TIMES = 2
"""Above the usual: half of all hours are above their median, few are so by chance that far."""
MIN_STALLS = 3
"""In the hour of an onset: up to two come by chance where one is to be expected."""
LASTING = 0.5
"""The share of the hours since that must be above as well: a peak that went back is no onset."""
UNDATED = "the captures tell no date"
STEPS = {
    timedelta(hours=1): "an hour",
    timedelta(days=1): "a day",
    timedelta(days=7): "a week",
}
"""Widths of a bar."""
MOST_BARS = 96
"""Four days of hours, three months of days, 22 months of weeks."""
MOST = 0.95
"""Share of the hours that must fit: a broken clock must not make years of a week."""
LEAST_BARS = 24
"""Room for this many: of two, neither is half as wide as the picture."""
BAR, GAP, HEIGHT = 2, 1, 32
"""Of a picture, in its own units."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Hour: TypeAlias = Mapping[str, Any]
"""A row of `services.hours`."""


class Trend(NamedTuple):
    """When a service began to lose more than usual."""

    onset: datetime | None
    """The first hour, UTC."""
    note: str
    """What was usual before, or why there is no onset."""


def trend(hours: Sequence[Hour]) -> Trend:
    """Of the captured hours of one service with stalls, in order; there is at least one.

    Time lost to certain and likely stalls counts per exchange: a busier hour is no onset. An hour
    without a whole exchange (a stream, or the end of one) counts as one exchange. Hours without
    captures are unknown, and left out.
    """
    lost_ms = [
        (one["lost_ms_certain"] + one["lost_ms_likely"]) / max(1, one["exchanges"]) for one in hours
    ]
    stalls = [one["stalls_certain"] + one["stalls_likely"] for one in hours]
    earlier_ms: list[float] = []
    for place, each_ms in enumerate(lost_ms):
        if place >= EARLIER and stalls[place] >= MIN_STALLS:
            usual_ms = (earlier_ms[(place - 1) // 2] + earlier_ms[place // 2]) / 2
            if each_ms > TIMES * usual_ms and _lasts(lost_ms[place:], TIMES * usual_ms):
                note = _before(usual_ms) + "; one hour so far" * (place == len(hours) - 1)
                return Trend(hours[place]["hour"], note)
        insort(earlier_ms, each_ms)
    return Trend(None, _no_onset(stalls))


def _lasts(since_ms: Sequence[float], most_ms: float) -> bool:
    return sum(one > most_ms for one in since_ms) > LASTING * len(since_ms)


def no_trend(hours: int) -> Trend:
    """Of a service without stalls."""
    return Trend(None, "" if hours else UNDATED)


def _before(usual_ms: float) -> str:
    return f"{duration(usual_ms)} per exchange before" if usual_ms else "usually nothing before"


def _no_onset(stalls: Sequence[int]) -> str:
    first = next((place for place, each in enumerate(stalls) if each), None)
    if first is None:
        return ""
    if first == 0:
        return "since the first capture"
    if first < EARLIER or len(stalls) <= EARLIER:
        return f"fewer than {EARLIER} captured hours before"
    return "now and then; no lasting rise"


class Axis(NamedTuple):
    """The time that the pictures of all services show: the latest that fits."""

    step: timedelta
    begin: datetime
    bars: int

    def place(self, hour: datetime) -> int:
        """The bar of an hour; negative if it is before all."""
        return (hour - self.begin) // self.step

    def shows(self, hour: datetime) -> bool:
        """Has it a bar?"""
        return 0 <= self.place(hour) < self.bars

    @property
    def width(self) -> int:
        """Of the picture."""
        return max(self.bars, LEAST_BARS) * (BAR + GAP)

    @property
    def told(self) -> str:
        """In words."""
        last = self.begin + (self.bars - 1) * self.step
        ends = " to ".join(f"{end:%Y-%m-%d %H:%M}" for end in (self.begin, last))
        return f"{ends} UTC; a bar is {STEPS[self.step]}"


def axis(hours: Sequence[datetime]) -> Axis:
    """The shortest step that shows most of these hours, of which there is at least one."""
    for step in STEPS:
        end = _floor(max(hours), step)
        shown = [hour for hour in hours if hour >= end - (MOST_BARS - 1) * step]
        if len(shown) >= MOST * len(hours):
            break
    begin = _floor(min(shown), step)
    return Axis(step, begin, (end - begin) // step + 1)


def _floor(hour: datetime, step: timedelta) -> datetime:
    return EPOCH + (hour - EPOCH) // step * step


class Chart(NamedTuple):
    """Time lost per captured hour: bars by confidence, the surest lowest."""

    bars: list[tuple[str, str]]
    """Confidence, and the path of its bars."""
    captured: str
    """The path of a line below all that was captured: a gap is unknown, not clean."""
    onset: int
    """Where it is; -1 if it is not in the picture."""
    label: str


def chart(hours: Sequence[Hour], onset: datetime | None, axis: Axis) -> Chart:
    """The picture of one service."""
    places: dict[int, list[Hour]] = {}
    for hour in hours:
        if axis.shows(hour["hour"]):
            places.setdefault(axis.place(hour["hour"]), []).append(hour)
    means_ms = {
        place: [sum(one[f"lost_ms_{word}"] for one in each) / len(each) for word in CONFIDENCES]
        for place, each in sorted(places.items())
    }
    most_ms = max(map(sum, means_ms.values()), default=0.0)
    bars = [(word, "".join(_bars(means_ms, at, most_ms))) for at, word in enumerate(CONFIDENCES)]
    captured = "".join(f"M{_x(place)} {HEIGHT}h{BAR}v1h-{BAR}z" for place in means_ms)
    at = _x(axis.place(onset)) if onset is not None and axis.shows(onset) else -1
    label = f"Time lost per hour, at most {duration(most_ms)}, {axis.told}"
    return Chart([bar for bar in bars if bar[1]], captured, at, label)


def _bars(means_ms: Mapping[int, Sequence[float]], at: int, most_ms: float) -> Iterator[str]:
    for place, each_ms in means_ms.items():
        if each_ms[at] > 0:
            top = HEIGHT - sum(each_ms[: at + 1]) * HEIGHT / most_ms
            yield f"M{_x(place)} {top:.1f}h{BAR}v{each_ms[at] * HEIGHT / most_ms:.1f}h-{BAR}z"


def _x(place: int) -> int:
    return place * (BAR + GAP)
