#!/usr/bin/env python3
"""Truth of captures that came with strace logs: recorded.py FOLDER [--out DIR]

For recordings made elsewhere (../recipes/lotos, ../recipes/swoole): tcpdump on loopback, and
'strace -f -ttt -s 0' of the programs beside it, which names descriptors and not connections. A
descriptor is the connection whose bytes left when it had written them. FOLDER holds NAME.pcap and
NAME.client.strace, NAME.server.strace; DIR/CASE gets capture, logs and truth as from run.py.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import check
import strace_log
import truth_files
from cases import LOOPBACK, Extra
from logs import read_log
from net import Net
from packets import SYN, Direction, Packet, read_packets

HERE = Path(__file__).resolve().parent
CALL = re.compile(r"(\d+ +(\d+)\.(\d{6}) (\w+)\((\d+))(, .*= (-?\d+).*)")
SLACK_NS = 1000  # both clocks write microseconds


@dataclass(frozen=True)
class Recording:
    """One of them, and the case it becomes."""

    id: str
    name: str
    # not traced: sets TCP_NODELAY, writes each request at once (wrk, as its src/wrk.c says)
    wrk: bool = False
    net: Net = LOOPBACK
    extras: tuple[Extra, ...] = ()


RECORDINGS = (
    Recording("lotos-before", "lotos-149bcb6", wrk=True),
    Recording("lotos-after", "lotos-8717b1a", wrk=True),
    Recording("swoole-fin-before", "swoole-fin-nagle"),
    Recording("swoole-fin-after", "swoole-fin-nodelay"),
    Recording("swoole-greeter-before", "swoole-greeter-nagle"),
    Recording("swoole-greeter-after", "swoole-greeter-nodelay"),
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
        if call and call[4] in strace_log.WRITES and int(call[7]) > 0:
            written = found.setdefault(int(call[5]), Written())
            written.times.append(int(call[2] + call[3]) * 1000)
            written.lengths.append(int(call[7]))
    return found


def named(trace: str, packets: list[Packet], side: str, server_port: int) -> str:
    """The trace with its connections, as 'strace -yy' would have written it."""
    sockets: dict[int, str] = {}
    wrote = descriptors(trace)
    for port in client_ports(packets):
        ends = (port, server_port) if side == "client" else (server_port, port)
        sent = Direction(packets, *ends)
        lags = {fd: w.lag_ns(sent) for fd, w in wrote.items() if sent.new_segments()}
        fitting = {fd: lag for fd, lag in lags.items() if lag is not None}
        if not fitting:
            continue
        best = min(fitting, key=fitting.__getitem__)
        if best in sockets:
            raise RuntimeError(f"descriptor {best} fits two connections")
        sockets[best] = f"<TCP:[127.0.0.1:{ends[0]}->127.0.0.1:{ends[1]}]>"
    lines = []
    for line in trace.splitlines():
        call = CALL.match(line)
        if call and int(call[5]) in sockets:
            lines.append(call[1] + sockets[int(call[5])] + call[6])
    return "".join(f"{line}\n" for line in lines)


def client_ports(packets: list[Packet]) -> list[int]:
    """The client's port of every connection, in the order of their SYNs."""
    return list(dict.fromkeys(p.source_port for p in packets if p.flags == SYN))


def wrk_log(packets: list[Packet], server_port: int) -> str:
    """What wrk would have logged: each of its segments is one write that nothing can hold."""
    lines = []
    for port in client_ports(packets):
        sent = Direction(packets, port, server_port)
        start = sent.sent[0].time_ns
        lines += [f"{start} {port} open {server_port}", f"{start} {port} option nodelay 1"]
        lines += [
            f"{p.time_ns} {port} write {sent.offset(p.seq)} {p.length}" for p in sent.new_segments()
        ]
    return "".join(f"{line}\n" for line in lines)


def take(recording: Recording, source: Path, out: Path) -> list[Path]:
    """Capture, logs and truth of one recording in its case's folder; the truth files."""
    folder = out / recording.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy2(source / f"{recording.name}.pcap", folder / "loopback.pcap")
    packets = read_packets(folder / "loopback.pcap")
    server_port = next(p.target_port for p in packets if p.flags == SYN)
    for side in ("client", "server"):
        log = folder / f"{side}.log"
        if side == "client" and recording.wrk:
            log.write_text(wrk_log(packets, server_port))
            continue
        trace = (source / f"{recording.name}.{side}.strace").read_text(errors="replace")
        with_names = folder / f"{side}.strace"
        with_names.write_text(named(trace, packets, side, server_port))
        strace_log.convert(with_names, log, server_port)
        silent = set(client_ports(packets)) - set(read_log(log))
        with log.open("a") as lines:  # wrk's trial connection: opened, and closed without a byte
            lines.writelines(f"0 {port} open {server_port}\n" for port in sorted(silent))
    return truth_files.write_all(recording, folder)


def main() -> int:
    """Take them all, and check their truth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "out")
    arguments = parser.parse_args()
    bad = 0
    for recording in RECORDINGS:
        files = take(recording, arguments.folder, arguments.out)
        complaints = [c for f in files for c in check.complaints(f)]
        print(f"{recording.id:36} {len(files)} captures", *complaints, sep="\n        ", flush=True)
        bad += bool(complaints)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
