"""The logs of peer.c and wire.c."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Peer:
    """One side of one connection, from its log."""

    server_port: int = 0
    writes: list[tuple[int, int, int]] = field(default_factory=list)  # time, offset, length
    infos: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    options: list[tuple[int, str, int]] = field(default_factory=list)
    # start, end, offset of the next write
    pauses: list[tuple[int, int, int]] = field(default_factory=list)
    # the same, for when the application waited until all it had written was acknowledged
    ack_waits: list[tuple[int, int, int]] = field(default_factory=list)

    def option(self, name: str, at_ns: int) -> int:
        """The value of the option at this time."""
        return next(
            (value for time, n, value in reversed(self.options) if n == name and time <= at_ns), 0
        )

    @property
    def nagle(self) -> str:
        """off | on | switched, from its first write on."""
        start = self.writes[0][0] if self.writes else 1 << 62
        states = {self.option("nodelay", start)} | {
            v for time, n, v in self.options if n == "nodelay" and time > start
        }
        return "switched" if len(states) > 1 else "off" if 1 in states else "on"


def read_log(path: Path) -> dict[int, Peer]:
    """Client port -> Peer."""
    peers: dict[int, Peer] = {}
    for line in path.read_text().splitlines():
        time, port, kind, *values = line.split()
        _note(peers.setdefault(int(port), Peer()), int(time), kind, values)
    return peers


def _note(peer: Peer, time: int, kind: str, values: list[str]) -> None:
    match kind:
        case "open":
            peer.server_port = int(values[0])
        case "write":
            peer.writes.append((time, int(values[0]), int(values[1])))
        case "info":
            peer.infos.append((time, tuple(map(int, values))))
        case "option":
            peer.options.append((time, values[0], int(values[1])))
        case "pause" | "wait-ack":
            waits = peer.pauses if kind == "pause" else peer.ack_waits
            waits.append((time, time, sum(peer.writes[-1][1:]) if peer.writes else 0))
        case "resume" | "acked":
            waits = peer.pauses if kind == "resume" else peer.ack_waits
            start, _, offset = waits[-1]
            waits[-1] = (start, time, offset)


def write_time(peer: Peer, offset: int) -> int:
    """When the application wrote this byte."""
    at = bisect_right([first for _, first, _ in peer.writes], offset) - 1
    return peer.writes[at][0]


def read_drops(wire_log: Path, sender: str, client_port: int) -> list[int]:
    """Times at which the wires lost data of this sender, or a frame that went to it."""
    if not wire_log.exists():
        return []
    rows = [line.split() for line in wire_log.read_text().splitlines()]
    outward = "there" if sender == "client" else "back"
    return [
        int(row[2])
        for row in rows
        if row[1] == "drop"
        and (row[3] != outward or int(row[4]) > 0)
        and (not row[5:] or str(client_port) in row[5:])
    ]
