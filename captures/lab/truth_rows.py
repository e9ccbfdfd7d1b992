"""The truth of the captures of a run, as truths.py keeps it.

The stalls are found once, from the full captures at both ends, and then told for every capture in
that capture's own numbering: Wireshark's tcp.stream, and stream offsets that start at the first
payload byte, or, without a handshake in the capture, at the first sequence number seen in that
direction.
"""

from __future__ import annotations

from collections import defaultdict
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
Writes = list[tuple[int, int, int]]  # of one application: time, offset, length
STATES = {
    "nagle": "nagle_ended_by_sender",
    "loss": "retransmission",
    "window": "zero_window",
    "congestion": "congestion_window",
    "congestion+nagle": "congestion_window",
}


class Connection:
    """One connection of the run: both peers, and what was held in each direction."""

    def __init__(
        self,
        client_port: int,
        peers: dict[str, Peer],
        captures: dict[str, list[Packet]],
        wire_log: Path,
    ) -> None:
        self.client_port, self.peers = client_port, peers
        self.server_port = peers["client"].server_port
        self.ports = {"client": self.client_port, "server": self.server_port}
        self.at_sender = {side: self.direction(captures[side], side) for side in SIDES}
        self.held: list[Held] = []
        self.drops: dict[str, list[int]] = {}
        # small segments whose program waited for the ACK itself: on the wire as if Nagle held them
        self.undecidable: set[tuple[str, int]] = set()
        for sender in SIDES:
            peer, at_sender = peers[sender], self.at_sender[sender]
            peer.infos = peer.infos or sender_state.infos(peer, at_sender)
            at_receiver = self.direction(captures[SIDES[sender == "client"]], sender)
            self.drops[sender] = read_drops(wire_log, sender, client_port)
            self.held += held_segments(sender, peer, at_sender, at_receiver, self.drops[sender])
            waited = {offset for _, _, offset in peer.ack_waits}
            self.undecidable |= {(sender, at) for at in waited & small_segments(peer, at_sender)}

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
            sides = {side: describe_side(c, side) for side in SIDES}
            described.append({"connection": stream} | sides | connecting(inside))
            for sender in SIDES:
                seen = c.direction(inside, sender)
                if seen.base is None:
                    one_way = True
                    continue
                shift = c.at_sender[sender].offset(seen.base)
                for kind, found in describe_direction(c, sender, seen, stream, shift).items():
                    rows[kind] += found
    described.sort(key=lambda d: d["connection"])
    tables = {kind: sorted(found, key=place) for kind, found in rows.items()}
    return {"connections": described, "one_way": one_way, **tables}


def describe_side(c: Connection, side: str) -> Row:
    """Its socket; a program that waits for each ACK does by itself what Nagle would do."""
    own: Row = {"nagle": c.peers[side].nagle, "port": c.ports[side]}
    return own | ({"waits_for_acks": True} if c.peers[side].ack_waits else {})


def connecting(packets: list[Packet]) -> Row:
    """How often this capture holds the client's SYN, and how long connecting took, if long."""
    syns = [p for p in packets if p.flags & (SYN | ACK) == SYN]
    done = [p for p in packets if syns and not p.flags & SYN]
    took_ms = (done[0].time_ns - syns[0].time_ns) / MS if done else 0.0
    if took_ms < SLOW_CONNECT_MS:
        return {}
    return {"syns": len(syns), "connect_ms": round(took_ms, 3)}


def describe_direction(
    c: Connection, sender: str, seen: Direction, connection: int, shift: int
) -> dict[str, list[Row]]:
    """The rows that a capture has of one direction; its offsets begin at our offset `shift`."""
    mine = [h for h in c.held if h.sender == sender and is_seen(h, seen)]
    writes = c.peers[sender].writes
    by_nagle = [stall_row(h, connection, shift, writes) for h in mine if is_nagle(h)]
    others = [h for h in mine if not is_nagle(h) and h.hold_ms >= STALL_MS]
    return {
        "stalls": [row for row in by_nagle if row["hold_ms"] >= STALL_MS],
        "short_holds": [row for row in by_nagle if row["hold_ms"] < STALL_MS],
        "other_waits": [
            *(wait_row(h, connection, shift) for h in others),
            *pause_rows(c, sender, connection, shift),
            *lost_rows(c, sender, seen, connection, shift),
        ],
    }


def pause_rows(c: Connection, sender: str, connection: int, shift: int) -> list[Row]:
    """The application itself waited before it wrote this byte: asleep, busy, or for an ACK."""
    peer = c.peers[sender]
    for_acks = {offset: end - start for start, end, offset in peer.ack_waits}
    asleep = long_waits(peer, peer.pauses) or [
        (offset, wait_ms)
        for offset, wait_ms in late_writes(peer, c.at_sender[sender])
        if offset not in for_acks
    ]
    waits = [
        *((offset, wait_ms, "sender_app") for offset, wait_ms in asleep),
        *((*wait, "stop_and_wait") for wait in long_waits(peer, peer.ack_waits)),
    ]
    return [
        other_row(sender, connection, offset - shift, cause, wait_ms)
        | ({"undecidable": True} if (sender, offset) in c.undecidable else {})
        for offset, wait_ms, cause in waits
        if offset >= shift
    ]


def long_waits(peer: Peer, waits: list[tuple[int, int, int]]) -> list[tuple[int, float]]:
    """Waits of 10 ms and more that a write followed: its offset, and how long."""
    written = {offset for _, offset, _ in peer.writes}
    return [
        (offset, (end - start) / MS)
        for start, end, offset in waits
        if end - start >= STALL_MS * MS and offset in written
    ]


def lost_rows(
    c: Connection, sender: str, seen: Direction, connection: int, shift: int
) -> list[Row]:
    """Segments whose first copy was lost on its way to this capture, which so shows a later one."""
    lost = lost_before(c.at_sender[sender], seen, c.drops[sender])
    return [
        other_row(sender, connection, (offset - shift) % MODULUS, "retransmission", wait_ms)
        for offset, wait_ms in lost
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


def stall_row(held: Held, connection: int, shift: int, writes: Writes) -> Row:
    """A segment that Nagle held."""
    end = held.offset + held.segment.length
    delayed = held.ack_delay_ms is not None and held.ack_delay_ms >= STALL_MS
    return {
        "connection": connection,
        "sender": held.sender,
        "rel_seq": (held.offset - shift) % MODULUS,
        "len": held.segment.length,
        "writes": sum(held.offset <= offset < end for _, offset, _ in writes),
        "hold_ms": round(held.nagle_ms, 3),
        "ack_delay_ms": None if held.ack_delay_ms is None else round(held.ack_delay_ms, 3),
        "cause": "nagle_delack" if delayed else "nagle_rtt",
        "release": held.release,
    }


def wait_row(held: Held, connection: int, shift: int) -> Row:
    """A wait in the kernel that was not Nagle's, or that no acknowledgment ended."""
    state = held.longest_state
    from_rel = (held.offset - shift) % MODULUS
    row = other_row(held.sender, connection, from_rel, STATES.get(state, state), held.hold_ms)
    return row | {"nagle_too": state == "congestion+nagle"}


def other_row(by: str, connection: int, from_rel: int, cause: str, wait_ms: float) -> Row:
    """A wait that is not Nagle's."""
    return {
        "connection": connection,
        "by": by,
        "from_rel": from_rel,
        "cause": cause,
        "wait_ms": round(wait_ms, 3),
    }
