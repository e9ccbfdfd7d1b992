"""Turns what programs/write_log.c noted into logs like peer.c's, one for each side."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from truths import SIDES

LINE = 160  # as in write_log.c
Log = list[str]


@dataclass(frozen=True)
class Call:
    """A write, or with length 0 a setsockopt, and what the kernel said right after it."""

    before_ns: int
    after_ns: int
    local: int
    remote: int
    length: int
    nodelay: int
    cork: int
    not_sent: int
    queued: int
    unacked: int
    congestion_window: int
    window: int
    mss: int

    @property
    def info(self) -> str:
        """The line of TCP_INFO as peer.c writes it."""
        return (
            f"{self.not_sent} {self.unacked} {self.congestion_window} {self.window} "
            f"{self.queued - self.not_sent} {self.mss}"
        )


def read(noted: Path) -> list[Call]:
    """All calls, in the order in which they began."""
    data = noted.read_bytes()
    count = int.from_bytes(data[:8], "little")
    lines = (data[at : at + LINE] for at in range(LINE, (count + 1) * LINE, LINE))
    words = (line.rstrip(b"\0").split() for line in lines)
    return sorted((Call(*map(int, w)) for w in words if w), key=lambda call: call.before_ns)


def logs(calls: list[Call], server_port: int) -> dict[str, str]:
    """Both sides' logs; a connection is in both, even if one side wrote nothing."""
    own: dict[tuple[int, int], list[Call]] = defaultdict(list)
    for call in calls:
        if server_port in (call.local, call.remote):
            own[call.local, call.remote].append(call)
    clients = sorted({local + remote - server_port for local, remote in own})
    start = min((some[0].before_ns for some in own.values()), default=0)
    found = dict.fromkeys(SIDES, "")
    for client in clients:
        ends = {"client": (client, server_port), "server": (server_port, client)}
        for side, pair in ends.items():
            log = [f"{start} {client} open {server_port}", *lines(own.get(pair, []), client)]
            found[side] += "".join(f"{line}\n" for line in log)
    return found


def lines(calls: list[Call], client: int) -> Log:
    """The log of one side on one connection."""
    log: Log = []
    written = 0
    options = {"nodelay": 0, "cork": 0}
    for call in calls:
        for name, value in (("nodelay", call.nodelay), ("cork", call.cork)):
            if options[name] != value:
                log.append(f"{call.before_ns} {client} option {name} {value}")
            options[name] = value
        if call.length:
            log.append(f"{call.before_ns} {client} write {written} {call.length}")
            log.append(f"{call.after_ns} {client} info {call.info}")
            written += call.length
    return log
