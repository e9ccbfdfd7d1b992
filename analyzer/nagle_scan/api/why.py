"""Why a wait counts as held or not: the terms from which its probability is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.errors import NagleScanError
from nagle_scan.result.options import ScanOptions
from nagle_scan.words.wording import printable

EVIDENCE_MS = 10.0
"""Waits as long as this are always tracked."""


class Term(NamedTuple):
    """One term: its name, its number as text, and what it means."""

    name: str
    value: str
    text: str


class Case(NamedTuple):
    """A wait, what was decided on it, and the terms of its probability; `print` shows it.

    `frame_ack` is 0 where no ACK came; `verdict` is `held`, `not held` or `cannot tell`;
    `confidence` is empty for what is not held. A wait that cannot be a hold has one term, which
    says why. `owed` and `ended_by` are the row of the ledger that gave the cause: what was owed
    when the wait began, and what ended it. `calls` are lines of the trace, where the scan has one:
    the write and the one before it, without what they wrote.
    """

    connection: int
    sender: str
    frame_from: int
    frame_ack: int
    frame_to: int
    wait_ms: float
    cause: str
    owed: str
    ended_by: str
    verdict: str
    confidence: str
    probability: float
    terms: list[Term]
    calls: list[str] = []  # noqa: RUF012

    def __str__(self) -> str:
        """The text that `nagle-scan --why` prints."""
        ack = f", ACK in frame {self.frame_ack}" if self.frame_ack else ""
        sure = f" ({self.confidence})" if self.confidence else ""
        wide = max(len(term.value) for term in self.terms)
        return "\n".join(
            [
                f"tcp.stream {self.connection}: the {self.sender} waited {self.wait_ms:.1f} ms, "
                f"frame {self.frame_from} to {self.frame_to}{ack}",
                f"{self.verdict}{sure}; cause: {self.cause}",
                f"owed when it began: {self.owed}; ended by: {self.ended_by}",
                "",
                *(f"  {name:<11}  {value:>{wide}}  {text}" for name, value, text in self.terms),
                *(["", "lines of the trace:"] if self.calls else []),
                *(f"  {printable(line)}" for line in self.calls),
            ]
        )


def case_of(paths: Sequence[str], options: ScanOptions, frame: int) -> Case:
    """Raises `NagleScanError` for a frame that is of no wait."""
    if not 0 < frame < 1 << 63:
        raise NagleScanError("frames count from 1")
    row = _core.why(list(paths), options, frame)
    if row is None:
        raise NagleScanError(
            f"frame {frame} ends no wait of {min(options.min_wait_ms, EVIDENCE_MS):g} ms or more, "
            "nor is it the start or the ACK of one"
        )
    values = {name: getattr(row, name) for name in Case._fields}
    return Case(**values | {"terms": [Term(*term) for term in row.terms]})
