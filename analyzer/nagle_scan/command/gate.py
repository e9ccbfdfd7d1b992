"""The exit status: whether a capture passes or fails a pipeline."""

from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.words import certainty
from nagle_scan.words.certainty import CONFIDENCES

if TYPE_CHECKING:
    from nagle_scan.result import Result
    from nagle_scan.words.certainty import Counted

EXIT_PASSED, EXIT_STALLS, EXIT_UNUSABLE, EXIT_BUG, EXIT_CANNOT_TELL = 0, 1, 2, 3, 4
EXIT_INTERRUPTED = 130
SURE = CONFIDENCES[:-1]
"""Confidences that fail a gate: stalls that are only possible do not."""


class Gate(NamedTuple):
    """Which stalls are a failure."""

    max_lost_ms: float
    """The most time that stalls which are at least likely may cost in all."""

    def fails(self, counted: "Counted") -> bool:
        """Do its stalls take more time than they may?"""
        shares = [share for share in certainty.shares(counted) if share.word in SURE]
        return bool(shares) and sum(share.lost_ms for share in shares) > self.max_lost_ms

    def status(self, result: "Result") -> int:
        """The exit status for one capture."""
        summary = result.core.summary()
        if self.fails(summary):
            return EXIT_STALLS
        return EXIT_CANNOT_TELL if summary.verdict == "inconclusive" else EXIT_PASSED
