"""Turns what strace saw of a real program into a log like peer.c's.

Made for: strace -f -ttt -yy -e trace=CALLS. A time is the entry into the system call. It has
no TCP_INFO: sender_state.py derives it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

WRITES = ("write", "writev", "sendto", "sendmsg", "sendfile")
CALLS = ",".join((*WRITES, "setsockopt", "close"))
LINE = re.compile(
    r"(\d+) +(\d+)\.(\d{6}) (?:(\w+)\((\d+)<TCP(?:v6)?:\[(.*?)\]>(.*)|<\.\.\. (\w+) resumed>(.*))"
)
PAIR = re.compile(r"\[?([^\]]*?)\]?:(\d+)->\[?([^\]]*?)\]?:(\d+)$")
OPTION = re.compile(r", SOL_TCP, TCP_(NODELAY|CORK|QUICKACK), \[(\d+)\]")
RESULT = re.compile(r"= (-?\d+)")
Call = tuple[int, str, int, str, str]  # time, name, descriptor, socket, the rest with the result


def calls(trace: Path) -> Iterator[Call]:
    """The calls on TCP sockets; one that another thread interrupted comes once it is resumed."""
    unfinished: dict[str, Call] = {}
    lines = trace.read_text(errors="replace").splitlines()
    for match in filter(None, map(LINE.match, lines)):
        thread, seconds, micros, name, descriptor, socket, rest, _, resumed = match.groups()
        if name:
            call = (int(seconds + micros) * 1000, name, int(descriptor), socket, rest)
            if rest.endswith("<unfinished ...>"):
                unfinished[thread] = call
            else:
                yield call
        elif thread in unfinished:
            *_, begun = call = unfinished.pop(thread)
            yield (*call[:4], begun + resumed)


def convert(trace: Path, log: Path, server_port: int) -> None:
    """Write the log for what strace wrote to a file."""
    lines: list[str] = []
    written: dict[int, int] = {}  # client port -> bytes
    # Options that were set before a socket had an address, and those that accepted ones inherit.
    early: dict[int, list[str]] = defaultdict(list)  # by descriptor
    inherited: dict[str, str] = {}
    for time, name, descriptor, socket, rest in calls(trace):
        set_option = OPTION.search(rest) if name == "setsockopt" else None
        option = f"option {set_option[1].lower()} {set_option[2]}" if set_option else ""
        pair = PAIR.match(socket)
        ports = (int(pair[2]), int(pair[4])) if pair else ()
        if set_option and not pair:
            if socket.endswith(f":{server_port}"):
                inherited[set_option[1]] = option
            else:
                early[descriptor].append(option)
        if server_port not in ports:
            continue
        port = sum(ports) - server_port
        if port not in written:
            written[port] = 0
            begin = (f"open {server_port}", *inherited.values(), *early.pop(descriptor, []))
            lines += [f"{time} {port} {event}" for event in begin]
        result = RESULT.search(rest)
        if option:
            lines.append(f"{time} {port} {option}")
        elif name in WRITES and result and int(result[1]) > 0:
            lines.append(f"{time} {port} write {written[port]} {result[1]}")
            written[port] += int(result[1])
    log.write_text("".join(f"{line}\n" for line in lines))
