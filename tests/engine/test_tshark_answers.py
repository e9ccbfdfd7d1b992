"""Every segment of every shipped capture is read as tshark reads it, but for listed reasons.

What tshark says is kept in tests/tshark, so that no tshark is needed: tshark_answers.py asks it.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
import tshark_answers as tshark
from nagle_scan.result.rows import Rows
from tshark_answers import Answer

SYN = 0x02
SIDES = ("client", "server")
MS = 1_000_000
PAIRS = {"-": "no", "R": "retransmitted", "O": "reordered"}
"""Words of tshark's, and ours for the same thing."""


class Segment(NamedTuple):
    """A row of `Scan.segments`, with the number of its connection."""

    frame: int
    time_ns: int
    sender: str
    rel_seq: int
    len: int
    seq: int
    ack: int
    flags: int
    window: int
    repeat: str
    stream: int

    @property
    def packet(self) -> tuple[object, ...]:
        """The fields that two copies of it share."""
        return self.sender, self.seq, self.len, self.ack, self.flags, self.window


class Stream(NamedTuple):
    """A connection, its segments in the order of their frames, and round trips in ns."""

    segments: list[Segment]
    rtt_ns: dict[str, float]
    """To each end; NaN where it is not known."""
    handshake_rtt_ns: int | None
    initial_rtt_ns: int | None
    """The round trip of the handshake by tshark."""

    def before(self, segment: Segment) -> list[Segment]:
        """Segments that its sender sent before, the latest first."""
        rows = [row for row in self.segments if row.sender == segment.sender]
        return rows[: rows.index(segment)][::-1]

    def syns(self, sender: str) -> list[Segment]:
        return [row for row in self.segments if row.flags & SYN and row.sender == sender]


def is_copy(segment: Segment, stream: Stream, _mark: str) -> bool:
    """A copy was captured before, sooner than any host sends it again (Linux: 200 ms)."""
    return segment.repeat == "duplicated" and any(
        row.packet == segment.packet and segment.time_ns - row.time_ns < 200 * MS
        for row in stream.before(segment)
    )


def is_too_late_for_reordering(segment: Segment, stream: Stream, mark: str) -> bool:
    """Missing bytes come 3 ms or three quarters of a round trip after what overtook them.

    Then their sender may have heard of the loss. For tshark they are out of order for a whole round
    trip of the handshake.
    """
    overtook = [row for row in stream.before(segment) if row.len > 0]
    if segment.repeat != "retransmitted" or mark != "O" or not overtook:
        return False
    late_ns = segment.time_ns - overtook[0].time_ns
    rtt_ns = stream.rtt_ns[segment.sender]
    return late_ns >= (min(3 * MS, rtt_ns * 3 / 4) if rtt_ns == rtt_ns else 3 * MS)


Why = Callable[[Segment, Stream, str], bool]

MARKS: dict[str, Why] = {
    "one frame, captured twice, was not sent again": is_copy,
    "a lost segment sent again soon is not out of order": is_too_late_for_reordering,
}


def begins_with_a_copy(stream: Stream) -> bool:
    """tshark counts from the last copy of the SYN: by as much is its round trip shorter."""
    first, *copies = stream.syns("client")
    if not copies or stream.handshake_rtt_ns is None or stream.initial_rtt_ns is None:
        return False
    sent = [row for row in [first, *copies] if row.repeat != "duplicated"][-1]
    between_ns = copies[-1].time_ns - sent.time_ns
    return (
        copies[-1].repeat == "duplicated"
        and abs(stream.handshake_rtt_ns - between_ns - stream.initial_rtt_ns) < 1
    )


def is_zero(stream: Stream) -> bool:
    """A round trip of 0, by a coarse clock, is none for tshark: it takes a later ACK."""
    return stream.handshake_rtt_ns == 0


def lacks_the_answer(stream: Stream) -> bool:
    """Without the server's SYN, data comes first: for tshark that ends the handshake."""
    after = [row for row in stream.segments if not row.flags & SYN and row.sender == "client"]
    answered = bool(stream.syns("server"))
    return stream.handshake_rtt_ns is None and not answered and after[0].len > 0


HANDSHAKES: dict[str, Callable[[Stream], bool]] = {
    "a copy of the SYN opens nothing": begins_with_a_copy,
    "a coarse clock shows 0": is_zero,
    "what follows much later is not part of the handshake": lacks_the_answer,
}


def own_streams(path: Path, said: Answer) -> list[Stream]:
    """All connections of a capture."""
    scan = nagle_scan.scan(path, threads=1)
    table = scan.connections
    streams = []
    for number, columns_of in scan._result._segments_of(table.index.tolist()).items():
        segments = Rows(columns_of)
        columns = [segments[name].tolist() for name in Segment._fields[:-1]]
        rows = [Segment._make([*row, number]) for row in zip(*columns, strict=True)]
        rtt_ns = {side: table[f"{side}_rtt_ms"].to_dict()[number] * MS for side in SIDES}
        own_ms = table["handshake_rtt_ms"].to_dict()[number]
        own_ns = None if math.isnan(own_ms) else round(own_ms * MS)
        streams.append(Stream(rows, rtt_ns, own_ns, said["initial_rtt_ns"].get(str(number))))
    return streams


@cache
def answers() -> dict[str, Answer]:
    return tshark.kept()


def expected(path: Path) -> Answer:
    return answers()[tshark.name(path)]


class Numbers(NamedTuple):
    """tshark's words on a segment."""

    stream: int
    rel_seq: int
    len: int


def segments_of_tshark(
    said: Answer, ours: dict[int, Segment]
) -> Iterator[tuple[int, Numbers, str]]:
    """Frame, numbers and mark of each segment, in our way of counting.

    Streams that tshark numbers only for what ICMP errors quote are left out. tshark's sequence
    numbers count the SYN; ours are offsets in the stream, for a SYN 0 as well.
    """
    quoted = set(said["quotes"]) - set(said["stream"])
    frame = 0
    columns = (said["frame"], said["stream"], said["len"], said["seq"], said["mark"])
    for step, stream, length, seq, mark in zip(*columns, strict=True):
        frame += step
        is_syn = frame in ours and bool(ours[frame].flags & SYN)
        number = stream - sum(other < stream for other in quoted)
        yield frame, Numbers(number, seq - (not is_syn), length), mark


def differences(path: Path, said: Answer, used: Counter[str]) -> Iterator[str]:
    """Answers that differ from tshark's for no listed reason; `used` counts the reasons."""
    streams = own_streams(path, said)
    ours = {row.frame: row for stream in streams for row in stream.segments}
    theirs = set()
    for frame, segment, mark in segments_of_tshark(said, ours):
        theirs.add(frame)
        own = ours.get(frame)
        if own is None or Numbers(own.stream, own.rel_seq, own.len) != segment:
            yield f"{path}: frame {frame}: {own}, tshark: {segment}"
        elif own.repeat != PAIRS[mark]:
            stream = streams[own.stream]
            why = [reason for reason, holds in MARKS.items() if holds(own, stream, mark)]
            used.update(why[:1])
            if not why:
                yield f"{path}: frame {frame}: {own.repeat}, tshark: {mark}"
    if more := set(ours) - theirs:
        yield f"{path}: no segments for tshark: {sorted(more)}"
    for number, stream in enumerate(streams):
        own_ns, initial_ns = stream.handshake_rtt_ns, stream.initial_rtt_ns
        if own_ns != initial_ns:
            reasons = [reason for reason, holds in HANDSHAKES.items() if holds(stream)]
            used.update(reasons[:1])
            if not reasons:
                yield f"{path}: stream {number}: handshake {own_ns} ns, tshark: {initial_ns}"


def test_every_segment_is_told_as_tshark_tells_it() -> None:
    used: Counter[str] = Counter()
    paths = tshark.captures()
    found = [line for path in paths for line in differences(path, expected(path), used)]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:20])
    assert set(used) == {*MARKS, *HANDSHAKES}, "a reason that explains nothing is none"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="NOT CHECKED: tshark is not installed")
def test_tshark_still_says_so() -> None:
    some = tshark.captures()[::70]
    assert all(tshark.ask(path) == expected(path) for path in some)
