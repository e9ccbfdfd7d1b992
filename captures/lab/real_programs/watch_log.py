"""Turns what watch.c noted into client.log and server.log, as peer.c writes them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LINE = 160  # as in watch.c
SIDES = ("client", "server")
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


def convert(noted: Path, folder: Path, server_port: int) -> None:
    """Write both logs; a connection is in both, even if one side wrote nothing."""
    calls = [c for c in read(noted) if server_port in (c.local, c.remote)]
    logs: dict[str, Log] = {side: [] for side in SIDES}
    for client in sorted({c.local + c.remote - server_port for c in calls}):
        for side in SIDES:
            local = server_port if side == "server" else client
            pair = (local, client + server_port - local)
            own = [c for c in calls if (c.local, c.remote) == pair]
            logs[side] += [f"{calls[0].before_ns} {client} open {server_port}", *lines(own, client)]
    for side, log in logs.items():
        (folder / f"{side}.log").write_text("".join(f"{line}\n" for line in log))


def lines(calls: list[Call], client: int) -> Log:
    """What one side did on one connection."""
    log: Log = []
    written: int = 0
    options: dict[str, int] = defaultdict(int)
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
