"""All stalls of a scan in numbers, and what is said about the three frames of one."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nagle_scan import _core
    from nagle_scan.result import Result


Comments = defaultdict[int, list[str]]
"""Sentences by frame."""


class Stall(NamedTuple):
    """A stall; durations in ms."""

    connection: int
    sender: str
    cause: str
    confidence: str
    frame_from: int
    frame_ack: int
    frame_to: int
    wait_ms: float
    ack_delay_ms: float
    is_measured: bool
    """Is the round trip to the other end known?"""


COLUMNS = (
    *("connection", "sender", "cause", "confidence"),
    *("frame_unacked", "frame_ack", "frame_held", "wait_ms", "ack_delay_ms"),
)
"""Columns of `Scan.stalls` that hold the fields of a `Stall`, but for the last one."""


def of(result: Result) -> Iterator[Stall]:
    """In the order of `Scan.stalls`."""
    from nagle_scan.result.rows import Rows

    @cache
    def is_measured(connection: int, sender: str) -> bool:
        row = result.core.connection(connection)
        rtt_ms = row and (row.server_rtt_ms if sender == "client" else row.client_rtt_ms)
        return rtt_ms is not None

    stalls = Rows(result.core.columns("stalls"))
    for values in zip(*(stalls[name].tolist() for name in COLUMNS), strict=True):
        yield Stall._make((*values, is_measured(*values[:2])))


def frames(stall: Stall | _core.WaitRow) -> tuple[int, int, int]:
    """The unacknowledged segment, its ACK, the held segment."""
    return stall.frame_from, stall.frame_ack, stall.frame_to


def said(stall: Stall | _core.WaitRow, named: Callable[[int], str]) -> tuple[str, str, str]:
    """A sentence for each of its frames, to which `named` gives names."""
    unacked, ack, held = map(named, frames(stall))
    was_held = f"{certainty.WAS_HELD[stall.confidence]} {duration(stall.wait_ms)}"
    return (
        f"[{unacked}] unacknowledged: the next small segment waits for its ACK",
        f"[{ack}] {causes.ack(stall)}; it releases {held}",
        f"[{held}] {was_held} by Nagle; released by {ack}",
    )


def comment(stall: Stall | _core.WaitRow, named: Callable[[int], str], comments: Comments) -> None:
    """Adds its sentences to the comments on its frames."""
    for frame, sentence in zip(frames(stall), said(stall, named), strict=True):
        comments[frame].append(sentence)
