"""Why a wait counts as held or not: its whole case, for and against."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.errors import NagleScanError

ROOMS = {
    "path": "where is a release due, and how well is that known?",
    "program": "may the program have made the wait?",
    "capture": "may the capture hide a hold, or fake one?",
    "pooled": "what do other connections say?",
    "nagle": "would Nagle's algorithm hold this segment?",
}
"""The question of each room, in the order in which an expert asks."""


class CaseLine(NamedTuple):
    """One line of a case: what was compared, and the side it speaks for.

    `side` is `for` or `against` a hold; `weight` says what it does to the decision where it applies
    (else empty).
    """

    room: str
    name: str
    side: str
    weight: str
    text: str
    frames: list[int]

    def __str__(self) -> str:
        """As `nagle-scan --why` prints it."""
        weight = f" ({self.weight})" if self.weight else ""
        return f"  {self.side:<7}  {self.name:<20}  {self.text}{weight}"


class Case(NamedTuple):
    """A wait, what was decided on it, and all lines of its case; `print` shows it.

    `frame_ack` is 0 where no ACK came; `verdict` is `held`, `not held` or `cannot tell`;
    `confidence` is empty for what is not held.
    """

    connection: int
    sender: str
    frame_from: int
    frame_ack: int
    frame_to: int
    wait_ms: float
    cause: str
    verdict: str
    confidence: str
    lines: list[CaseLine]

    def __str__(self) -> str:
        """As `nagle-scan --why` prints it."""
        ack = f", ACK in frame {self.frame_ack}" if self.frame_ack else ""
        sure = f" ({self.confidence})" if self.confidence else ""
        text = [
            f"tcp.stream {self.connection}: the {self.sender} waited {self.wait_ms:.1f} ms, "
            f"frame {self.frame_from} to {self.frame_to}{ack}",
            f"{self.verdict}{sure}; cause: {self.cause}",
        ]
        for room, lines in groupby(self.lines, lambda line: line.room):
            text += ["", f"{room}: {ROOMS[room]}", *map(str, lines)]
        return "\n".join(text)


def case_of(
    paths: Sequence[str],
    filter: str | None,
    min_wait_ms: float,
    frame: int,
    threads: int | None,
) -> Case:
    """Raises `NagleScanError` for a frame that is of no wait."""
    if not 0 < frame < 1 << 63:
        raise NagleScanError("frames count from 1")
    row = _core.why(list(paths), filter, min_wait_ms, frame, threads)
    if row is None:
        raise NagleScanError(
            f"frame {frame} ends no wait of {min(min_wait_ms, EVIDENCE_MS):g} ms or more, "
            "nor is it the start or the ACK of one"
        )
    return Case(
        row.connection,
        row.sender,
        row.frame_from,
        row.frame_ack,
        row.frame_to,
        row.wait_ms,
        row.cause,
        row.verdict,
        row.confidence,
        [CaseLine(*line) for line in row.lines],
    )


EVIDENCE_MS = 10.0
"""Waits as long as this are always tracked."""
