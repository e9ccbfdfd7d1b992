"""The wait that a ladder shows: a stall, or if there is none, the longest other wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.timeline.subject import NS_PER_MS, Subject
from nagle_scan.words import causes

if TYPE_CHECKING:
    from nagle_scan import _core


class Wait(NamedTuple):
    """A wait between two frames, and the ACK that ended it if it is a stall."""

    cause: str
    sender: str
    frame_from: int
    frame_ack: int | None
    frame_to: int
    from_ns: int
    ack_ns: int
    to_ns: int
    len_unacked: int
    len: int
    wait_ms: float
    ack_delay_ms: float
    release_ms: float
    confidence: str = ""
    """The confidence in a stall; empty for other waits."""
    is_measured: bool = True
    """Is the round trip to the other end known?"""

    @property
    def words(self) -> str:
        """The event in a few words."""
        return causes.of(self.cause).words.format(by=self.sender)


def row_of_stall(subject: Subject, number: int) -> _core.WaitRow | None:
    """The `number`-th clearest stall; None where the connection has no stall at all.

    Raises `IndexError`, `TypeError`.
    """
    if not hasattr(number, "__index__"):
        kind = type(number).__name__
        raise TypeError(f"a stall is a number, 0 for the clearest, not {kind}")
    count = subject.row.stalls
    if not count and number == 0:
        return None
    if not 0 <= number < count:
        has = f"0 to {count - 1}" if count else "none"
        raise IndexError(f"stall {number}: tcp.stream {subject.row.connection} has {has}")
    return subject.scan.core.stalls_of(subject.row.connection, number + 1)[number]


def stall(subject: Subject, number: int) -> Wait | None:
    """The stall as a ladder shows it. Raises as `row_of_stall`."""
    row = row_of_stall(subject, number)
    return _of_stall(row) if row else None


def _of_stall(row: _core.WaitRow) -> Wait:
    return Wait(*(getattr(row, name) for name in Wait._fields))


def longest_wait(subject: Subject) -> Wait | None:
    """The longest wait that is not a stall; the scan's longest, if it is on this connection."""
    if not len(subject.waits):
        return None
    for longest in subject.scan.core.longest_waits(1):
        if longest.connection == subject.row.connection:
            return _of_stall(longest)._replace(frame_ack=None, ack_ns=longest.to_ns)
    # A client that is idle between two requests keeps nobody waiting.
    idle = (subject.waits["cause"] == "sender_app") & (subject.waits["sender"] == "client")
    waits = subject.waits if idle.all() else subject.waits[~idle]
    at = int(waits["wait_ms"].argmax())
    to_ns, wait_ms = int(waits["time_ns"][at]), float(waits["wait_ms"][at])
    from_ns = to_ns - round(wait_ms * NS_PER_MS)
    first, last = int(waits["frame_from"][at]), int(waits["frame_to"][at])
    cause, sender = str(waits["cause"][at]), str(waits["sender"][at])
    return Wait(cause, sender, first, None, last, from_ns, to_ns, to_ns, 0, 0, wait_ms, 0.0, 0.0)
