"""Turns what programs/write_log.c noted into logs like peer.c's, one for each side."""

from __future__ import annotations

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
        """As peer.c writes it."""
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
    calls = [c for c in calls if server_port in (c.local, c.remote)]
    found: dict[str, str] = {}
    for side in SIDES:
        log: Log = []
        for client in sorted({c.local + c.remote - server_port for c in calls}):
            pair = (server_port, client) if side == "server" else (client, server_port)
            own = [c for c in calls if (c.local, c.remote) == pair]
            log += [f"{calls[0].before_ns} {client} open {server_port}", *lines(own, client)]
        found[side] = "".join(f"{line}\n" for line in log)
    return found


def lines(calls: list[Call], client: int) -> Log:
    """What one side did on one connection."""
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
