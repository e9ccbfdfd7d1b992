"""Turns what programs/write_log.c noted into logs like peer.c's, one for each side."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from truths import SIDES

LINE = 160  # as in write_log.c


class Call(NamedTuple):
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
    own = [call for call in calls if server_port in (call.local, call.remote)]
    clients = sorted({call.local + call.remote - server_port for call in own})
    opened = [f"{own[0].before_ns} {client} open {server_port}" for client in clients]
    log = {side: [*opened] for side in SIDES}
    written: Counter[tuple[str, int]] = Counter()
    options: Counter[tuple[str, int, str]] = Counter()
    for call in own:
        client = call.local + call.remote - server_port
        side = SIDES[call.local == server_port]
        for name, value in (("nodelay", call.nodelay), ("cork", call.cork)):
            if options[side, client, name] != value:
                log[side].append(f"{call.before_ns} {client} option {name} {value}")
            options[side, client, name] = value
        if call.length:
            at = written[side, client]
            log[side].append(f"{call.before_ns} {client} write {at} {call.length}")
            log[side].append(f"{call.after_ns} {client} info {call.info}")
            written[side, client] += call.length
    return {side: "".join(f"{line}\n" for line in lines) for side, lines in log.items()}
