"""The subject of a picture: a connection, its stalls and its segments as columns of numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nagle_scan.errors import UnknownConnectionError
from nagle_scan.result import Result
from nagle_scan.result.rows import Rows

if TYPE_CHECKING:
    from nagle_scan import _core

NS_PER_MS = 1e6
NOT_READ_AGAIN = "The capture cannot be read a second time: scan a file to see the segments"
FIN, SYN, RST, ACK = 1, 2, 4, 16
SEQUENCE_SPACE = 1 << 32


@dataclass(frozen=True)
class Subject:
    """One connection of a scan."""

    scan: Result
    row: _core.ConnectionRow

    @cached_property
    def segments(self) -> Rows | None:
        """All segments; None where the capture cannot be read a second time."""
        if not self.scan.can_be_read_again:
            return None
        return self.scan.kept_segments(self.row.connection)

    @property
    def is_excerpt(self) -> bool:
        """Are there too many segments to show, so that `segments` are only some in a row?"""
        return self.segments is not None and len(self.segments) < self.row.segments

    @cached_property
    def stalls(self) -> Rows:
        """When the stalls were, who held and which frames, in the order of time."""
        columns = ["sender", "time_ns", "wait_ms", "frame_unacked", "frame_ack", "frame_held"]
        return findings(self.scan, True, columns, self.row.connection)

    def stalls_in(self, frames: Collection[int]) -> Rows:
        """The stalls with their ACK or held segment among `frames`."""
        held, acks = (
            np.isin(self.stalls[name], list(frames)) for name in ("frame_held", "frame_ack")
        )
        return self.stalls[held | acks]

    @cached_property
    def waits(self) -> Rows:
        """The waits that are no stalls."""
        return findings(self.scan, False, ["time_ns", "wait_ms"], self.row.connection)

    @cached_property
    def clearest(self) -> _core.WaitRow | None:
        """The clearest stall."""
        return self.stall(0)

    def stall(self, number: int) -> _core.WaitRow | None:
        """The `number`-th clearest stall; None where the connection has no stall at all.

        Raises `IndexError`, `TypeError`.
        """
        if not hasattr(number, "__index__"):
            kind = type(number).__name__
            raise TypeError(f"a stall is a number, 0 for the clearest, not {kind}")
        count = self.row.stalls
        if not count and number == 0:
            return None
        if not 0 <= number < count:
            has = f"0 to {count - 1}" if count else "none"
            raise IndexError(f"stall {number}: tcp.stream {self.row.connection} has {has}")
        return self.scan.core.stalls_of(self.row.connection, number + 1)[number]

    @property
    def longest_wait(self) -> _core.WaitRow | None:
        """The longest wait without a stall; an idle client's only if it is the only one."""
        return next(iter(self.scan.core.longest_waits(1, self.row.connection)), None)

    def since_begin_ms(self, time_ns: np.ndarray) -> np.ndarray:
        """Times as milliseconds since the connection's first segment."""
        return (time_ns - self.row.first_ns) / NS_PER_MS

    @property
    def span_ms(self) -> float:
        """How long the connection lasted in the capture; more than 0."""
        return max((self.row.last_ns - self.row.first_ns) / NS_PER_MS, 1e-3)

    def name(self, side: str) -> str:
        """Address and port of `client` or `server`."""
        return self.row.client if side == "client" else self.row.server


def of(scan: Result, connection: int | None) -> Subject:
    """The connection asked for, or else the most telling one. Raises `KeyError`, `TypeError`."""
    number = worst(scan) if connection is None else connection
    if number is None:
        raise UnknownConnectionError("the scan holds no connection")
    return Subject(scan, scan.row_of(number))


def worst(scan: Result) -> int | None:
    """The connection of the clearest stall, else of the longest wait, else of the most bytes."""
    rows = [scan.core.clearest(), *scan.core.longest_waits(1)]
    for row in rows:
        if row is not None:
            return row.connection
    return scan.core.busiest()


def findings(scan: Result, stalls: bool, columns: list[str], connection: int | None = None) -> Rows:
    """These columns of the stalls or of the other waits. All columns of millions take too much."""
    return Rows(scan.core.findings(stalls, columns, connection))


def rel_acks(segments: Rows, receiver: str) -> np.ndarray:
    """Bytes of the peer's stream that `receiver`'s segments acknowledge; -1 where none."""
    by_receiver = segments["sender"] == receiver
    peer = segments[~by_receiver & ((segments["flags"] & SYN) == 0)]
    acks = segments["ack"][by_receiver]
    stream = np.full(len(acks), -1)
    known = (segments["flags"][by_receiver] & (ACK | RST)) == ACK
    if not len(peer) or not known.any():
        return stream
    # ACKs and data that lie together differ by less than half the sequence space.
    half = SEQUENCE_SPACE // 2
    since = (int(acks[known][0]) - int(peer["seq"][0]) + half) % SEQUENCE_SPACE - half
    first = since + int(peer["rel_seq"][0])
    steps = (np.diff(acks[known]) + half) % SEQUENCE_SPACE - half
    stream[known] = first + np.concatenate([[0], np.cumsum(steps)])
    return stream
