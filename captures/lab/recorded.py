"""Recordings that came with strace logs: those of ../recipes/lotos and ../recipes/swoole.

tcpdump on loopback, and beside it 'strace -f -ttt -s 0' of the programs, which names descriptors
and no connections. A descriptor is the connection whose bytes left when it had written them. The
captures are those in ../labelled, or with RECORDED=FOLDER in the environment new ones. While bytes
wait, windows come from the capture (sender_state.py).
"""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import strace_log
from cases import LOOPBACK, Extra
from net import Net
from packets import SYN, Direction, Packet, read_packets
from tools import HERE
from truths import SIDES

RECIPES, LABELLED = HERE.parent / "recipes", HERE.parent / "labelled"
CALL = re.compile(r"\d+ +(\d+)\.(\d{6}) (\w+)\((\d+)(, .*= (-?\d+).*)")
SLACK_NS = 1000  # both clocks write microseconds


@dataclass(frozen=True)
class Recording:
    """One of them, and the case it becomes."""

    id: str
    program: str  # its recipe
    name: str
    # not traced: sets TCP_NODELAY, writes each request at once (wrk, as its src/wrk.c says)
    wrk: bool = False
    net: Net = LOOPBACK
    extras: tuple[Extra, ...] = ()


RECORDINGS = (
    Recording("lotos-before", "lotos", "lotos-149bcb6", wrk=True),
    Recording("lotos-after", "lotos", "lotos-8717b1a", wrk=True),
    Recording("swoole-fin-before", "swoole", "swoole-fin-nagle"),
    Recording("swoole-fin-after", "swoole", "swoole-fin-nodelay"),
    Recording("swoole-greeter-before", "swoole", "swoole-greeter-nagle"),
    Recording("swoole-greeter-after", "swoole", "swoole-greeter-nodelay"),
)


@dataclass
class Written:
    """What one descriptor wrote: times, and bytes up to then."""

    times: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def lag_ns(self, sent: Direction) -> int | None:
        """How long after their writes the segments left, in all; none if one left before."""
        ends, at, lag = list(accumulate(self.lengths)), 0, 0
        for segment in sent.new_segments():
            end = sent.offset(segment.seq) + segment.length
            while at < len(ends) and ends[at] < end:
                at += 1
            if at == len(ends) or segment.time_ns + SLACK_NS < self.times[at]:
                return None
            lag += segment.time_ns - self.times[at]
        return lag


def descriptors(trace: str) -> dict[int, Written]:
    """What each descriptor wrote."""
    found: dict[int, Written] = {}
    for line in trace.splitlines():
        call = CALL.match(line)
        if call and call[3] in strace_log.WRITES and int(call[6]) > 0:
            written = found.setdefault(int(call[4]), Written())
            written.times.append(int(call[1] + call[2]) * 1000)
            written.lengths.append(int(call[6]))
    return found


def logged(trace: str, packets: list[Packet], side: str, server_port: int) -> list[str]:
    """What the program at this side did with its connections, without what strace cannot know."""
    strace, sockets = strace_log.Strace(server_port), sockets_of(trace, packets, side, server_port)
    for call in filter(None, map(CALL.match, trace.splitlines())):
        seconds, micros, name, descriptor, rest, _ = call.groups()
        if socket := sockets.get(int(descriptor)):
            strace.call(int(seconds + micros) * 1000, name, int(descriptor), socket, rest)
    # wrk's trial connection: opened, and closed without a byte
    silent = set(client_ports(packets)) - strace.written.keys()
    lines = [line for line in strace.lines if " info " not in line]
    return lines + [f"0 {port} open {server_port}" for port in sorted(silent)]


def sockets_of(trace: str, packets: list[Packet], side: str, server_port: int) -> dict[int, str]:
    """The connection of each descriptor, as 'strace -yy' would have named it."""
    sockets: dict[int, str] = {}
    wrote = descriptors(trace)
    for port in client_ports(packets):
        ends = (port, server_port) if side == "client" else (server_port, port)
        sent = Direction(packets, *ends)
        lags = {fd: w.lag_ns(sent) for fd, w in wrote.items() if sent.new_segments()}
        fitting = {fd: lag for fd, lag in lags.items() if lag is not None}
        if fitting:
            best = min(fitting, key=fitting.__getitem__)
            if best in sockets:
                raise RuntimeError(f"descriptor {best} fits two connections")
            sockets[best] = f"127.0.0.1:{ends[0]}->127.0.0.1:{ends[1]}"
    return sockets


def client_ports(packets: list[Packet]) -> list[int]:
    """The client's port of every connection, in the order of their SYNs."""
    return list(dict.fromkeys(p.source_port for p in packets if p.flags == SYN))


def wrk_log(packets: list[Packet], server_port: int) -> list[str]:
    """What wrk would have logged: each of its segments is one write that nothing can hold."""
    lines = []
    for port in client_ports(packets):
        sent = Direction(packets, port, server_port)
        start = sent.sent[0].time_ns
        lines += [f"{start} {port} open {server_port}", f"{start} {port} option nodelay 1"]
        lines += [
            f"{p.time_ns} {port} write {sent.offset(p.seq)} {p.length}" for p in sent.new_segments()
        ]
    return lines


def record(recording: Recording, folder: Path) -> None:
    """Capture and logs of one recording in its case's folder."""
    capture = folder / "loopback.pcap"
    if new := os.environ.get("RECORDED"):
        capture.write_bytes(Path(new, f"{recording.name}.pcap").read_bytes())
    else:
        packed = LABELLED / recording.id / "loopback.pcap.gz"
        capture.write_bytes(gzip.decompress(packed.read_bytes()))
    packets = read_packets(capture)
    server_port = next(p.target_port for p in packets if p.flags == SYN)
    for side in SIDES:
        if side == "client" and recording.wrk:
            lines = wrk_log(packets, server_port)
        else:
            name = f"{recording.name}.{side}.strace.gz"
            trace = gzip.decompress((RECIPES / recording.program / name).read_bytes())
            lines = logged(trace.decode(errors="replace"), packets, side, server_port)
        (folder / f"{side}.log").write_text("".join(f"{line}\n" for line in lines))
