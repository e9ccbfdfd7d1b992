"""Captures of the same program before and after its fix: was the gain predicted?

Not compared: cases whose pauses are drawn anew in each run, and cases whose exchanges have holds
left in them that are shorter than the 10 ms from which they are reported. Where a held segment had
swallowed five writes or more, what the program takes to write, send and read them one by one hides
in the hold, and comes out when it is gone: there the prediction is a lower bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from scoring import Row

if TYPE_CHECKING:
    import nagle_scan

WITHIN_SHARE, WITHIN_MS = 0.1, 0.5
MANY_WRITES = 5

# Cases whose pauses or sizes are drawn anew in each run: their medians differ by chance.
DRAWN = re.compile(r"0-80|typed-|random-|30-50|20-60|swoole-fin|hard-")


@dataclass(frozen=True)
class Pair:
    """Median exchange latencies: before, predicted from before, and measured after."""

    name: str
    before_ms: float
    predicted_ms: float
    after_ms: float
    is_bound: bool

    @property
    def error_ms(self) -> float:
        """How far off the prediction is."""
        return abs(self.predicted_ms - self.after_ms)

    @property
    def is_met(self) -> bool:
        """The prediction is within 10 % or 0.5 ms of what was measured; a bound, not above."""
        near = self.error_ms <= max(WITHIN_SHARE * self.after_ms, WITHIN_MS)
        return near or (self.is_bound and self.predicted_ms < self.after_ms)


def base_name(case: str) -> str:
    """What a case before and the case after its fix have in common."""
    return re.sub(r"-(before|after|nodelay|nagle|off|on)(?=-|$)", "", case)


def is_fixed(case: str) -> bool:
    """The case is the one after the fix."""
    return bool(re.search(r"-(after|nodelay|on)(?=-|$)", case))


def is_comparable(truth: Row, exchanges: int) -> bool:
    """Its exchanges take as long in each run, and the holds in them are stalls."""
    short_ms = sum(hold["hold_ms"] for hold in truth["short_holds"])
    return not DRAWN.search(truth["case"]) and short_ms <= WITHIN_MS * exchanges


def has_merged_writes(truth: Row) -> bool:
    """What was held had swallowed many writes, on average."""
    writes = [stall.get("writes", 1) for stall in truth["stalls"]]
    return bool(writes) and sum(writes) >= MANY_WRITES * len(writes)


def measure(
    name: str, before: nagle_scan.Scan, after: nagle_scan.Scan, is_bound: bool
) -> Pair | None:
    """The pair's latencies, if both captures hold exchanges."""
    now, fixed = (s.core.columns("exchanges") for s in (before, after))
    if not len(now["latency_ms"]) or not len(fixed["latency_ms"]):
        return None
    return Pair(
        name,
        median(now["latency_ms"].tolist()),
        median(now["predicted_latency_ms"].tolist()),
        median(fixed["latency_ms"].tolist()),
        is_bound,
    )
