"""Since when a service loses more time than usual."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

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
