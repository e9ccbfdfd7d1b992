"""The truth of the captures of a run, as truths.py keeps it.

The stalls are found once, from the full captures at both ends, and then listed for every capture
in that capture's own numbering: Wireshark's tcp.stream, and stream offsets that start at the first
payload byte, or, without a handshake in the capture, at the first sequence number seen in that
direction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import sender_state
from cases import Run
from logs import Peer, read_drops, read_log
from packets import ACK, MODULUS, SYN, Direction, Packet, read_packets
from truth import (
    MS,
    SHORTEST_MS,
    STALL_MS,
    Held,
    held_segments,
    late_writes,
    lost_before,
    small_segments,
)
from truths import KINDS, SIDES, Row, place

SLOW_CONNECT_MS = 100.0
STATES = {
    "nagle": "nagle_ended_by_sender",
    "loss": "retransmission",
    "window": "zero_window",
    "congestion": "congestion_window",
    "congestion+nagle": "congestion_window",
}


class Sender:
    """One side of a connection: what its program wrote and what it sent, and what waited."""

    def __init__(
        self, side: str, peer: Peer, at_sender: Direction, at_receiver: Direction, drops: list[int]
    ) -> None:
        self.side, self.peer, self.at_sender, self.drops = side, peer, at_sender, drops
        peer.infos = peer.infos or sender_state.infos(peer, at_sender)
        self.held = held_segments(peer, at_sender, at_receiver, drops)

    @property
    def socket(self) -> Row:
        """Its option; a program that waits for each ACK does by itself what Nagle would do."""
        own: Row = {"nagle": self.peer.nagle, "port": self.at_sender.ports[0]}
        return own | ({"waits_for_acks": True} if self.peer.ack_waits else {})

    def rows(self, seen: Direction, stream: int) -> dict[str, list[Row]]:
        """The waits that a capture shows of it, by that capture's stream number and offsets."""
        shift = self.at_sender.offset(seen.base)
        mine = [held for held in self.held if is_seen(held, seen)]
        by_nagle = [self._stall(held) for held in mine if is_nagle(held)]
        others = [held for held in mine if not is_nagle(held) and held.hold_ms >= STALL_MS]
        rows = {
            "stalls": [row for row in by_nagle if row["hold_ms"] >= STALL_MS],
            "short_holds": [row for row in by_nagle if row["hold_ms"] < STALL_MS],
            "other_waits": [
                *(self._in_kernel(held) for held in others),
                *(row for row in self._pauses() if row["from_rel"] >= shift),
                # The first copy was lost on its way to this capture, which so shows a later one.
                *(
                    self._wait(offset, "retransmission", wait_ms)
                    for offset, wait_ms in lost_before(self.at_sender, seen, self.drops)
                ),
            ],
        }
        for row in (row for of_kind in rows.values() for row in of_kind):
            name = "rel_seq" if "rel_seq" in row else "from_rel"
            row |= {"connection": stream, name: (row[name] - shift) % MODULUS}
        return rows

    def _stall(self, held: Held) -> Row:
        """A segment that Nagle held."""
        end = held.offset + held.segment.length
        delayed = held.ack_delay_ms is not None and held.ack_delay_ms >= STALL_MS
        return {
            "connection": None,
            "sender": self.side,
            "rel_seq": held.offset,
            "len": held.segment.length,
            "writes": sum(held.offset <= offset < end for _, offset, _ in self.peer.writes),
            "hold_ms": round(held.nagle_ms, 3),
            "ack_delay_ms": None if held.ack_delay_ms is None else round(held.ack_delay_ms, 3),
            "cause": "nagle_delack" if delayed else "nagle_rtt",
            "release": held.release,
        }

    def _wait(self, offset: int, cause: str, wait_ms: float) -> Row:
        """A wait that is not Nagle's."""
        return {
            "connection": None,
            "by": self.side,
            "from_rel": offset,
            "cause": cause,
            "wait_ms": round(wait_ms, 3),
        }

    def _in_kernel(self, held: Held) -> Row:
        """A wait in the kernel that was not Nagle's, or that no acknowledgment ended."""
        state = held.longest_state
        row = self._wait(held.offset, STATES.get(state, state), held.hold_ms)
        return row | {"nagle_too": state == "congestion+nagle"}

    def _pauses(self) -> Iterator[Row]:
        """The application itself waited before it wrote this byte: asleep, busy, or for an ACK."""
        peer = self.peer
        for_acks = {offset for _, _, offset in peer.ack_waits}
        # If the program itself waited for the ACK, small segments look as if Nagle held them.
        undecidable = for_acks & small_segments(peer, self.at_sender)
        asleep = long_waits(peer, peer.pauses) or [
            wait for wait in late_writes(peer, self.at_sender) if wait[0] not in for_acks
        ]
        for_ack = long_waits(peer, peer.ack_waits)
        for cause, waits in (("sender_app", asleep), ("stop_and_wait", for_ack)):
            for offset, wait_ms in waits:
                row = self._wait(offset, cause, wait_ms)
                yield row | ({"undecidable": True} if offset in undecidable else {})


class Connection:
    """One connection of the run."""

    def __init__(
        self,
        client_port: int,
        peers: dict[str, Peer],
        captures: dict[str, list[Packet]],
        wire_log: Path,
    ) -> None:
        self.ports = {"client": client_port, "server": peers["client"].server_port}
        self.senders = [
            Sender(
                side,
                peers[side],
                self.direction(captures[side], side),
                self.direction(captures[SIDES[side == "client"]], side),
                read_drops(wire_log, side, client_port),
            )
            for side in SIDES
        ]

    def direction(self, packets: list[Packet], sender: str) -> Direction:
        """The direction of one side of it, in any capture."""
        return Direction(packets, self.ports[sender], self.ports[SIDES[sender == "client"]])


def of_run(case: Run, folder: Path) -> list[Row]:
    """The truth of each capture of a run."""
    captures = {name_of(p): read_packets(p) for p in sorted(folder.glob("*.pcap*"))}
    ends = {side: captures["loopback" if case.net.kind == "loopback" else side] for side in SIDES}
    logs = {side: read_log(folder / f"{side}.log") for side in SIDES}
    connections = [
        Connection(port, {side: logs[side][port] for side in SIDES}, ends, folder / "wire.log")
        for port in logs["client"]
    ]
    points = {point: point for point in case.net.points()} | {e.name: e.point for e in case.extras}
    return [
        {
            "name": f"{case.id}/{name_of(path)}",
            "capture": path.name,
            "point": points[name_of(path)],
            "case": case.id,
            **describe(connections, captures[name_of(path)]),
            "rtt_ms": sum(case.net.one_way_ms),
        }
        for path in sorted(folder.glob("*.pcap*"))
    ]


def name_of(capture: Path) -> str:
    """A capture's name without its suffixes."""
    return capture.name.split(".")[0]


def describe(connections: list[Connection], packets: list[Packet]) -> Row:
    """The part of a truth that speaks of connections, in this capture's numbering."""
    described: list[Row] = []
    rows: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    one_way = False
    streams: dict[frozenset[int], dict[int, list[Packet]]] = defaultdict(lambda: defaultdict(list))
    for p in packets:
        streams[frozenset((p.source_port, p.target_port))][p.stream].append(p)
    for c in connections:
        # Two streams, where a NAT lies between two captures merged.
        for stream, inside in streams[frozenset(c.ports.values())].items():
            sockets = {sender.side: sender.socket for sender in c.senders}
            described.append({"connection": stream} | sockets | connecting(inside))
            for sender in c.senders:
                seen = c.direction(inside, sender.side)
                one_way |= not seen.sent
                for kind, found in sender.rows(seen, stream).items() if seen.sent else ():
                    rows[kind] += found
    described.sort(key=lambda d: d["connection"])
    tables = {kind: sorted(found, key=place) for kind, found in rows.items()}
    return {"connections": described, "one_way": one_way, **tables}


def connecting(packets: list[Packet]) -> Row:
    """How often this capture holds the client's SYN, and how long connecting took, if long."""
    syns = [p for p in packets if p.flags & (SYN | ACK) == SYN]
    done = [p for p in packets if syns and not p.flags & SYN]
    took_ms = (done[0].time_ns - syns[0].time_ns) / MS if done else 0.0
    if took_ms < SLOW_CONNECT_MS:
        return {}
    return {"syns": len(syns), "connect_ms": round(took_ms, 3)}


def long_waits(peer: Peer, waits: list[tuple[int, int, int]]) -> list[tuple[int, float]]:
    """Waits of 10 ms and more that a write followed: its offset, and how long."""
    written = {offset for _, offset, _ in peer.writes}
    return [
        (offset, (end - start) / MS)
        for start, end, offset in waits
        if end - start >= STALL_MS * MS and offset in written
    ]


def is_seen(held: Held, seen: Direction) -> bool:
    """The capture holds the segment, and before it the ACK that released it and what that acked."""
    sent, seq = seen.sent_set, held.segment.seq
    at = next((i for i, p in enumerate(seen.all) if p.length and p.seq == seq and p in sent), None)
    earlier = seen.all[:at]
    data = any(p.length and p.end == held.release_ack for p in earlier if p in sent)
    ack = any(p.flags & ACK and p.ack == held.release_ack for p in earlier if p not in sent)
    return at is not None and (held.release == "sender" or (data and ack))


def is_nagle(held: Held) -> bool:
    """Nagle held it, and an acknowledgment let it go."""
    return held.release != "sender" and held.nagle_ms >= SHORTEST_MS
