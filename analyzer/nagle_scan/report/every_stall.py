"""All stalls of a scan in numbers, and what is said about the three frames of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from nagle_scan import _core
    from nagle_scan.result import Result


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


def of(result: Result) -> Iterator[Stall]:
    """In the order of `Scan.stalls`."""
    columns = result.core.columns("stalls")
    names = (
        "connection",
        "sender",
        "cause",
        "confidence",
        "frame_unacked",
        "frame_ack",
        "frame_held",
        "wait_ms",
        "ack_delay_ms",
    )
    measured = _measured(result)
    for row in zip(*(_values(columns[name]) for name in names), strict=True):
        yield Stall._make((*row, row[:2] in measured))


def _measured(result: Result) -> set[tuple[int, str]]:
    """Connections and senders to whose other end the round trip is known."""
    columns = result.core.columns("connections")
    numbers = _values(columns["connection"])
    sides = {"client": "server", "server": "client"}
    return {
        (number, sender)
        for sender, other in sides.items()
        for number, rtt_ms in zip(numbers, _values(columns[f"{other}_rtt_ms"]), strict=True)
        if rtt_ms == rtt_ms
    }


def _values(column: NDArray[Any] | tuple[NDArray[Any], Sequence[str]]) -> list[Any]:
    if isinstance(column, tuple):
        codes, words = column
        return [words[code] for code in codes.tolist()]
    return list(column.tolist())


def frames(stall: Stall | _core.WaitRow) -> tuple[int, int, int]:
    """The unacknowledged segment, its ACK, the held segment."""
    return stall.frame_from, stall.frame_ack, stall.frame_to


def said(stall: Stall | _core.WaitRow, named: Callable[[int], str]) -> tuple[str, str, str]:
    """A sentence for each of its frames, which are called as `named` tells."""
    unacked, ack, held = map(named, frames(stall))
    was_held = f"{certainty.WAS_HELD[stall.confidence]} {duration(stall.wait_ms)}"
    return (
        f"[{unacked}] unacknowledged: the next small segment waits for its ACK",
        f"[{ack}] {causes.ack(stall)}; it releases {held}",
        f"[{held}] {was_held} by Nagle; released by {ack}",
    )
