"""The truth of a run: which segments Nagle held, for how long, and why they went.

From the sender's side only: its log says when the application wrote each byte
and what the kernel's own TCP_INFO said while the bytes waited; its capture says
when they left. Nothing here looks at the shape of the wait on the wire, except
to find the acknowledgment that ended it and how long the receiver sat on it.

A segment's wait in the kernel is divided by the state at each moment:
    cork        TCP_CORK was on
    window      the peer's window had no room for it
    congestion  as many segments unacknowledged as the congestion window allows
                (congestion+nagle: and less than one MSS unsent, so Nagle might
                have held it as well)
    loss        the wire lost the sender's data, or anything on the way back, after
                the oldest data unacknowledged at the write was sent: all of the
                wait counts as loss
    nagle       none of these, TCP_NODELAY off, and less than one MSS unsent
    kernel      anything else (pacing, TSO deferral)
Nagle held it for the last unbroken stretch that began as 'nagle' before it left:
a congestion window that shrinks meanwhile (a retransmission timer shorter than
the receiver's ACK timer) changes nothing, without Nagle it would have gone before.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import dropwhile, pairwise, takewhile

from logs import Peer, write_time
from packets import ACK, Direction, Packet, later

STALL_MS, SHORTEST_MS = 10.0, 0.05  # a stall; the shortest wait worth a line
RELEASE_NS = 3_000_000  # an ACK further before the segment did not release it
MS = 1_000_000
NAGLE_STATES = ("nagle", "congestion+nagle")


def states(peer: Peer, start: int, end: int, released: int) -> list[tuple[str, float]]:
    """States between the write and the transmission, in order, with milliseconds.

    What the kernel said after the release does not count: it was about to send.
    """
    inside = [(time, info) for time, info in peer.infos if start <= time < released]
    if not inside:
        return []
    marks = [start, *(time for time, _ in inside[1:]), end]
    return [
        (_state(peer, info, time), (right - left) / MS)
        for (time, info), (left, right) in zip(inside, pairwise(marks), strict=True)
    ]


def _state(peer: Peer, info: tuple[int, ...], time: int) -> str:
    not_sent, unacked, congestion_window, window, in_flight, mss = info
    if peer.option("cork", time):
        return "cork"
    if not_sent and in_flight + min(not_sent, mss) > window:
        return "window"
    small = unacked and 0 < not_sent < mss and not peer.option("nodelay", time)
    if unacked >= congestion_window:
        return "congestion+nagle" if small else "congestion"
    return "nagle" if small else "kernel"


@dataclass
class Held:
    """A segment that waited in the sender's kernel."""

    segment: Packet
    offset: int
    hold_ms: float
    states: list[tuple[str, float]]
    release: str  # ack | data | retransmission | sender
    release_ack: int | None  # what it acknowledged
    ack_delay_ms: float | None

    @property
    def nagle_ms(self) -> float:
        """For how long Nagle held it, in the end."""
        last = list(takewhile(lambda s: s[0] in NAGLE_STATES, reversed(self.states)))[::-1]
        return sum(ms for _, ms in dropwhile(lambda s: s[0] != "nagle", last))

    @property
    def longest_state(self) -> str:
        """The state it spent most of its wait in."""
        total: dict[str, float] = {}
        for state, ms in self.states:
            total[state] = total.get(state, 0.0) + ms
        return max(total, key=total.__getitem__, default="kernel")


def held_segments(
    peer: Peer, at_sender: Direction, at_receiver: Direction, drops: list[int]
) -> list[Held]:
    """Every segment that waited in the kernel of this side."""
    held, new = [], at_sender.new_segments()
    again = [p.time_ns for p in at_sender.sent if p.length and p not in set(new)]
    for segment in new:
        offset = at_sender.offset(segment.seq)
        written, left = write_time(peer, offset), segment.time_ns
        if left - written < SHORTEST_MS * MS:
            continue
        release = _release(at_sender, segment)
        released = release.time_ns if release else left
        outstanding_since = _outstanding_since(at_sender, segment, written)
        lost = any(outstanding_since <= drop <= left for drop in drops)
        waited = (left - written) / MS
        resent = any(written < time < left for time in again)
        held.append(
            Held(
                segment,
                offset,
                hold_ms=waited,
                states=[("loss", waited)] if lost else states(peer, written, left, released),
                release=_release_kind(release, resent),
                release_ack=release.ack if release else None,
                ack_delay_ms=_ack_delay(at_receiver, release) if release else None,
            )
        )
    return held


def late_writes(peer: Peer, at_sender: Direction) -> list[tuple[int, float]]:
    """Offsets that the application wrote late, and how late.

    That is 10 ms or more after whatever came last: its write before, its data on the wire, or the
    other side's data.
    """
    moments = sorted(p.time_ns for p in at_sender.all if p.length)
    found: list[tuple[int, float]] = []
    for number, (time, offset, _) in enumerate(peer.writes):
        at = bisect_right(moments, time)
        before = [peer.writes[number - 1][0]] if number else []
        before += moments[at - 1 : at] if at else []
        if before and time - max(before) >= STALL_MS * MS:
            found.append((offset, (time - max(before)) / MS))
    return found


def small_segments(peer: Peer, at_sender: Direction) -> set[int]:
    """Offsets of segments that Nagle would hold behind data in flight."""
    mss = max((info[5] for _, info in peer.infos), default=0)
    return {at_sender.offset(p.seq) for p in at_sender.sent if 0 < p.length < mss}


def lost_before(at_sender: Direction, seen: Direction, drops: list[int]) -> list[tuple[int, float]]:
    """Offsets of first copies lost before a capture, and how much later the next one left."""
    first_seen: dict[int, int] = {}
    for p in seen.sent:
        if p.length:
            first_seen.setdefault(p.seq, p.time_ns)
    copies: dict[int, list[int]] = {}
    for p in at_sender.sent:
        if p.length:
            copies.setdefault(p.seq, []).append(p.time_ns)
    both = first_seen.keys() & copies.keys()
    way = min((first_seen[seq] - copies[seq][0] for seq in both), default=0)
    found: list[tuple[int, float]] = []
    for seq in both:
        came = bisect_right(copies[seq], first_seen[seq] - way) - 1
        sent = copies[seq][max(came, 0)]
        waited = (sent - copies[seq][0]) / MS
        if waited >= STALL_MS and any(copies[seq][0] <= drop <= sent for drop in drops):
            found.append((at_sender.offset(seq), waited))
    return found


def _outstanding_since(at_sender: Direction, segment: Packet, written: int) -> int:
    """When the oldest data left that was unacknowledged when the segment was written."""
    acked: int | None = None
    for p in at_sender.received:
        if p.time_ns <= written and p.flags & ACK and (acked is None or later(p.ack, acked)):
            acked = p.ack
    return min(
        (
            p.time_ns
            for p in at_sender.sent
            if p.length
            and p.time_ns < segment.time_ns
            and (acked is None or later(p.end, acked))
            and p.seq != segment.seq
        ),
        default=written,
    )


def _release(at_sender: Direction, segment: Packet) -> Packet | None:
    """The packet that released the segment: the last before it that acknowledged something new."""
    newest: int | None = None
    release: Packet | None = None
    for p in at_sender.received:
        if p.time_ns > segment.time_ns:
            break
        if p.flags & ACK and (newest is None or later(p.ack, newest)):
            newest, release = p.ack, p
    return release if release and segment.time_ns - release.time_ns <= RELEASE_NS else None


def _release_kind(release: Packet | None, resent: bool) -> str:
    if release is None:
        return "sender"
    return "retransmission" if resent else "data" if release.length else "ack"


def _ack_delay(at_receiver: Direction, release: Packet) -> float | None:
    """How long the receiver had all that it acknowledged before it did so."""
    arrival = next(
        (p.time_ns for p in at_receiver.sent if p.length and not later(release.ack, p.end)), None
    )
    answer = next(
        (
            p.time_ns
            for p in at_receiver.received
            if p.ack == release.ack and p.length == release.length
        ),
        None,
    )
    return None if arrival is None or answer is None else max(0.0, (answer - arrival) / MS)
