"""Turns what strace saw of a real program into a log like peer.c's.

Made for: strace -f -ttt -yy -e trace=CALLS. A time is the entry into the system call. There is no
TCP_INFO here: sender_state.py derives it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

WRITES = ("write", "writev", "sendto", "sendmsg", "sendfile")
CALLS = ",".join((*WRITES, "setsockopt", "close"))
LINE = re.compile(
    r"(\d+) +(\d+)\.(\d{6}) (?:(\w+)\((\d+)<TCP(?:v6)?:\[(.*?)\]>(.*)|<\.\.\. (\w+) resumed>(.*))"
)
PAIR = re.compile(r"\[?([^\]]*?)\]?:(\d+)->\[?([^\]]*?)\]?:(\d+)$")
OPTION = re.compile(r", SOL_TCP, TCP_(NODELAY|CORK|QUICKACK), \[(\d+)\]")
RESULT = re.compile(r"= (-?\d+)")
Call = tuple[int, str, int, str, str]  # time, name, descriptor, socket, rest


@dataclass
class Strace:
    """The log so far, and what must be known of earlier calls to go on."""

    server_port: int
    written: dict[int, int] = field(default_factory=dict)  # client port -> bytes
    # descriptor -> options before it had an address
    pending: dict[int, list[str]] = field(default_factory=dict)
    listener: dict[str, str] = field(default_factory=dict)  # inherited by accepted sockets
    unfinished: dict[str, Call] = field(default_factory=dict)  # by thread
    lines: list[str] = field(default_factory=list)

    def call(self, time: int, name: str, descriptor: int, socket: str, rest: str) -> None:
        """Take in one call; rest is its text after the socket, with the result."""
        pair = PAIR.match(socket)
        option = OPTION.search(rest) if name == "setsockopt" else None
        if not pair:
            if option:
                self._option_before_connection(descriptor, socket, option[1], option[2])
            return
        local, remote = int(pair[2]), int(pair[4])
        if self.server_port not in (local, remote):
            return
        port = remote if local == self.server_port else local
        self._open(time, port, descriptor)
        result = RESULT.search(rest)
        if option:
            self.lines.append(f"{time} {port} option {option[1].lower()} {option[2]}")
        elif name in WRITES and result and int(result[1]) > 0:
            self._write(time, port, int(result[1]))

    def _option_before_connection(
        self, descriptor: int, socket: str, name: str, value: str
    ) -> None:
        if socket.endswith(f":{self.server_port}"):
            self.listener[name.lower()] = value
        else:
            self.pending.setdefault(descriptor, []).append(f"option {name.lower()} {value}")

    def _open(self, time: int, port: int, descriptor: int) -> None:
        if port in self.written:
            return
        self.written[port] = 0
        self.lines.append(f"{time} {port} open {self.server_port}")
        inherited = [f"option {name} {value}" for name, value in self.listener.items()]
        self.lines += [
            f"{time} {port} {text}" for text in inherited + self.pending.pop(descriptor, [])
        ]

    def _write(self, time: int, port: int, length: int) -> None:
        self.lines.append(f"{time} {port} write {self.written[port]} {length}")
        self.written[port] += length


def convert(trace: Path, log: Path, server_port: int) -> None:
    """Write the log for what strace wrote to a file."""
    strace = Strace(server_port)
    for line in trace.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if not match:
            continue
        thread, seconds, micros, name, descriptor, socket, rest, _, resumed = match.groups()
        if name and rest.endswith("<unfinished ...>"):
            time = int(seconds + micros) * 1000
            strace.unfinished[thread] = (time, name, int(descriptor), socket, rest)
        elif name:
            strace.call(int(seconds + micros) * 1000, name, int(descriptor), socket, rest)
        elif thread in strace.unfinished:
            time, name, fd, socket, rest = strace.unfinished.pop(thread)
            strace.call(time, name, fd, socket, rest + resumed)
    log.write_text("".join(f"{line}\n" for line in strace.lines))
