"""Unsent and unacknowledged data of a sender without TCP_INFO, by its write log and the capture.

Stands in for the 'info' lines of peer.c. A state is noted at every write, at
every segment sent, and at every acknowledgment that leaves data in flight; not
in the moment between the last acknowledgment and the segment that it
releases, which still counts as held. The congestion window is not on the wire: cases
of such senders must stay below it.
"""

from __future__ import annotations

from logs import Peer
from packets import ACK, MODULUS, SYN, Direction, Packet, later

NO_CONGESTION_WINDOW = 1_000_000
TIMESTAMP_BYTES = 12
Info = tuple[int, tuple[int, ...]]  # as in Peer.infos


class _Sender:
    """One direction, event by event."""

    def __init__(self, at_sender: Direction) -> None:
        self.direction = at_sender
        syns = [p for p in at_sender.all if p.flags & SYN]
        stamps = all(p.timestamp is not None for p in syns)
        self.mss = min(p.mss for p in syns) - TIMESTAMP_BYTES * stamps
        receiver = next(p for p in at_sender.received if p.flags & SYN)
        scaled = all(p.window_shift is not None for p in syns)
        self.shift = (receiver.window_shift or 0) if scaled else 0
        self.window = receiver.window
        self.written = self.sent = self.acked = 0
        self.in_flight: list[int] = []  # ends of the segments not acknowledged

    def info(self) -> tuple[int, ...]:
        """NOTSENT UNACKED CWND SND_WND IN_FLIGHT MSS."""
        return (
            self.written - self.sent,
            len(self.in_flight),
            NO_CONGESTION_WINDOW,
            self.window,
            self.sent - self.acked,
            self.mss,
        )

    def wrote(self, end: int) -> bool:
        """Take in a write; worth noting unless it joins bytes that are about to leave."""
        leaving = self.written > self.sent and not self.in_flight
        self.written = end
        return not leaving

    def packet(self, p: Packet) -> bool:
        """Take in a packet; whether the state that it leaves is worth noting."""
        return self._sent(p) if p in self.direction.sent_set else self._received(p)

    def _sent(self, p: Packet) -> bool:
        end = self.direction.offset(p.end)
        if not p.length or end <= self.sent:
            return False
        self.sent = end
        self.in_flight.append(end)
        return True

    def _received(self, p: Packet) -> bool:
        if not p.flags & ACK or p.flags & SYN:
            return False
        self.window = p.window << self.shift
        if self.direction.sent and later(p.ack, (self.direction.base + self.acked) % MODULUS):
            self.acked = min(self.direction.offset(p.ack), self.sent)  # a FIN counts one more
        self.in_flight = [end for end in self.in_flight if end > self.acked]
        return bool(self.in_flight) or self.window < self.mss


def infos(peer: Peer, at_sender: Direction) -> list[Info]:
    """The states of one sender, in the order of time."""
    sender, found = _Sender(at_sender), list[Info]()
    events: list[tuple[int, int | Packet]] = [(time, n + at) for time, at, n in peer.writes]
    events += [(p.time_ns, p) for p in at_sender.all]
    for time, event in sorted(events, key=lambda e: e[0]):
        noted = sender.packet(event) if isinstance(event, Packet) else sender.wrote(event)
        if noted:
            found.append((time, sender.info()))
    return found
