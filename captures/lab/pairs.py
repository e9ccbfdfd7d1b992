"""Captures of the same program before and after its fix: was the gain predicted?

Not compared: cases with pauses drawn anew in each run, and cases with exchanges that have holds
left in them: shorter than the 10 ms from which they are reported, or only possible beside stalls
that count. Where a held segment had
swallowed five writes or more, what the program takes to write, send and read them one by one hides
in the hold, and comes out when it is gone: there the prediction is a lower bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from truths import Row, short_name

if TYPE_CHECKING:
    import nagle_scan

WITHIN_SHARE, WITHIN_MS = 0.1, 0.5
MANY_WRITES = 5
# Cases with pauses or sizes drawn anew in each run: their medians differ by chance.
DRAWN = re.compile(r"0-80|typed-|random-|30-50|20-60|swoole-fin|hard-")
Key = tuple[str, str]  # what both cases have in common, and the capture's name


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

    @property
    def line(self) -> str:
        """For a terminal."""
        miss = "" if self.is_met else f"  off by {self.error_ms:.1f} ms"
        miss += "  at least: many writes were merged" if self.is_bound else ""
        times = (self.before_ms, self.predicted_ms, self.after_ms)
        return f"{self.name:44}" + "".join(f" {ms:6.1f} ms" for ms in times) + miss


class Latencies:
    """The latencies of captures, until both of a pair are known."""

    def __init__(self) -> None:
        self.before: dict[Key, tuple[float, float, bool]] = {}
        self.after: dict[Key, float] = {}

    def add(self, truth: Row, scan: nagle_scan.Scan) -> None:
        """Take in one capture."""
        key = base_name(truth["case"]), short_name(truth)
        columns = scan._result.core.columns("exchanges")
        exchanges = len(columns["latency_ms"])
        if not exchanges:
            return
        latency_ms = median(columns["latency_ms"].tolist())
        if is_fixed(truth["case"]):
            self.after[key] = latency_ms
        elif is_comparable(truth, exchanges, _uncounted_ms(scan)):
            predicted_ms = median(columns["predicted_latency_ms"].tolist())
            self.before[key] = latency_ms, predicted_ms, has_merged_writes(truth)

    def pairs(self) -> list[Pair]:
        """The pairs that have both captures."""
        return [
            Pair(", ".join(key), before_ms, predicted_ms, self.after[key], is_bound)
            for key, (before_ms, predicted_ms, is_bound) in sorted(self.before.items())
            if key in self.after
        ]


def base_name(case: str) -> str:
    """The common name of a case before and the case after its fix."""
    return re.sub(r"-(before|after|nodelay|nagle|off|on)(?=-|$)", "", case)


def is_fixed(case: str) -> bool:
    """The case is the one after the fix."""
    return bool(re.search(r"-(after|nodelay|on)(?=-|$)", case))


def _uncounted_ms(scan: nagle_scan.Scan) -> float:
    """The time of possible stalls beside others that count."""
    summary = scan._result.core.summary()
    return summary.stalled_ms_by_confidence[0] if summary.verdict == "stalls" else 0.0


def is_comparable(truth: Row, exchanges: int, uncounted_ms: float = 0.0) -> bool:
    """Its exchanges take as long in each run, and the holds in them are stalls that count."""
    left_ms = sum(hold["hold_ms"] for hold in truth["short_holds"]) + uncounted_ms
    return not DRAWN.search(truth["case"]) and left_ms <= WITHIN_MS * exchanges


def has_merged_writes(truth: Row) -> bool:
    """The held segments had swallowed many writes, on average."""
    writes = [stall.get("writes", 1) for stall in truth["stalls"]]
    return bool(writes) and sum(writes) >= MANY_WRITES * len(writes)
