"""The works that are timed: each returns its lines of the table."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.goals import Row
from bench.measuring import (
    BUILD,
    Capture,
    Command,
    generate,
    generator_words,
    installed,
    spread_of,
    time_rounds,
)

TSHARK_PACKETS = 1_000_000  # tshark takes nearly 1 GiB of memory per million packets
ACK_FILTER = "tcp.analysis.ack_rtt > 0.03"


@dataclass
class Bench:
    """How large the works are, and what they share."""

    packets: int
    runs: int
    growth: int  # how many times the packets are streamed to see what grows
    nagle_scan: str
    skip: list[str]
    wrong: list[str] = field(default_factory=list)
    rpc_ns: float = 0.0

    @property
    def crowd(self) -> int:
        """Connections where all are alive: ten packets each."""
        return max(self.packets // 10, 1)

    def scan(self, capture: Capture, name: str = "nagle-scan", suffix: str = ".json") -> Command:
        """The whole command, with its JSON written, or what another suffix asks for."""
        return self.scan_all([capture.path], name=name, suffix=suffix)

    def scan_all(
        self, paths: Sequence[Path], *prefix: str, name: str, suffix: str = ".json"
    ) -> Command:
        """The same on several files, after the words of `prefix`."""
        output = BUILD / f"{name}{suffix}"
        files = map(str, paths)
        words = [*prefix, self.nagle_scan, *files, "-o", str(output), "--exit-zero"]
        return Command(name, words, output=output)

    def check(self, capture: Capture, name: str = "nagle-scan") -> None:
        """Notes a wrong number of stalls in the last result, that of this capture."""
        found = summary_of(BUILD / f"{name}.json")["stalls"]
        if found != capture.stalls:
            self.wrong.append(f"{capture.path.name}: {found} stalls, {capture.stalls} generated")

    def has(self, program: str) -> bool:
        """May this peer be measured?"""
        return program not in self.skip and installed(program)


def summary_of(result: Path) -> dict[str, Any]:
    """The summary, which stands at the head of a result that may be larger than the memory."""
    with result.open() as file:
        head = file.read(1 << 20)
    summary: dict[str, Any]
    summary, _ = json.JSONDecoder().raw_decode(head, head.index('"summary":') + len('"summary":'))
    return summary


def loop(capture: Capture) -> Command:
    """The yardstick."""
    return Command("libpcap loop", [str(BUILD / "pcap_loop"), str(capture.path)])


def against_loop(
    bench: Bench, work: str, capture: Capture, goal: float, limit: float
) -> Iterator[Row]:
    """nagle-scan and the yardstick, in turn."""
    scan, yardstick = bench.scan(capture), loop(capture)
    time_rounds([scan, yardstick], bench.runs)
    bench.check(capture)
    ns = [command.median_s / capture.packets * 1e9 for command in (scan, yardstick)]
    bench.rpc_ns = bench.rpc_ns or ns[0]
    note = f"{ns[0]:.0f} against {ns[1]:.0f} ns/packet; {capture.packets:,} packets"
    note += spread_of([scan, yardstick])
    yield Row(work, "x libpcap", goal, limit, scan.median_s / yardstick.median_s, note=note)


def loops(bench: Bench) -> Iterator[Row]:
    """The four works that libpcap's bare loop measures; RPC first, as others refer to it."""
    rpc = generate("rpc", 10_000, bench.packets)
    yield from against_loop(bench, "RPC, 10,000 connections", rpc, 0.72, 0.85)
    alive = generate("rpc", bench.crowd, bench.packets)
    yield from against_loop(bench, f"{alive.connections:,} connections alive", alive, 1.5, 1.8)
    short = generate("short", bench.crowd)
    yield from against_loop(bench, f"{short.connections:,} short connections", short, 1.35, 1.6)
    bulk = generate("bulk", 100, max(bench.packets // 5, 10))
    yield from against_loop(bench, "bulk, full payloads", bulk, 0.45, 0.65)


def stalls(bench: Bench) -> Iterator[Row]:
    """A stall in every exchange, its output included, against the RPC figure."""
    capture = generate("stalls", 10_000, bench.packets)
    scan = bench.scan(capture)
    time_rounds([scan], bench.runs)
    bench.check(capture)
    ratio = scan.median_s / capture.packets * 1e9 / bench.rpc_ns
    note = f"{capture.stalls:,} stalls{spread_of([scan])}"
    yield Row("a stall in every exchange", "x RPC", 1.5, 1.8, ratio, note=note)


def peers(bench: Bench) -> Iterator[Row]:
    """Tools that do related work, on the same file."""
    rpc = generate("rpc", 10_000, bench.packets)
    small = generate("rpc", 10_000, min(bench.packets, TSHARK_PACKETS))
    conversations = ["-q", "-z", "conv,tcp"]
    with tempfile.TemporaryDirectory(dir=BUILD) as flows:
        for name, program, capture, words, goal, limit in (
            ("tcptrace -n -l -r", "tcptrace", rpc, ["-n", "-l", "-r", "PCAP"], 12, 8),
            ("tshark conv,tcp", "tshark", small, ["-n", "-r", "PCAP", *conversations], 80, 60),
            ("tshark ack_rtt", "tshark", small, ["-n", "-r", "PCAP", "-Y", ACK_FILTER], 100, 80),
            ("nfpcapd", "nfpcapd", rpc, ["-r", "PCAP", "-w", flows], 6, 4),
        ):
            work = f"times faster than {name}"
            if not bench.has(program):
                yield Row(work, "x", goal, limit, None, True, f"{program} is not there or skipped")
                continue
            path = str(capture.path)
            peer = Command(name, [program, *(path if it == "PCAP" else it for it in words)], True)
            scan = bench.scan(capture)
            time_rounds([scan, peer], bench.runs)
            note = f"one run of {peer.median_s:.1f} s; {capture.packets:,} packets"
            yield Row(work, "x", goal, limit, peer.median_s / scan.median_s, True, note)


def growth(bench: Bench) -> Iterator[Row]:
    """Streamed from the generator: CPU time, as the generator works on the same CPUs."""
    ns = []
    for packets in (bench.packets, bench.packets * bench.growth):
        output = BUILD / "streamed.json"
        words = [bench.nagle_scan, "-", "-o", str(output), "--exit-zero"]
        feeder = generator_words("rpc", 10_000, packets)
        slow = packets > bench.packets
        command = Command("nagle-scan -", words, slow, stdin_words=feeder, output=output)
        time_rounds([command], min(bench.runs, 3))
        ns.append(command.median_cpu_s / packets * 1e9)
    work = f"CPU per packet at {bench.packets * bench.growth:,} packets"
    note = f"{ns[1]:.0f} against {ns[0]:.0f} ns at {bench.packets:,}"
    yield Row(work, "x", 1.15, 1.3, ns[1] / ns[0], note=note)


def start(bench: Bench) -> Iterator[Row]:
    """What a user waits for before anything is read."""
    tiny = generate("rpc", 10, 100)
    nothing = Command("python", [sys.executable, "-c", "pass"])
    commands = [
        Command("start of --version", [bench.nagle_scan, "--version"]),
        Command("start of --help", [bench.nagle_scan, "--help"]),
        Command("100 packets, as text", [bench.nagle_scan, str(tiny.path)]),
    ]
    time_rounds([nothing, *commands], max(15, bench.runs))
    python_ms = nothing.median_s * 1e3
    for command in commands:
        goal, limit = 2 * python_ms + 10, 3 * python_ms + 10
        note = f"python -c pass: {python_ms:.1f} ms; goal 2 x that + 10 ms"
        yield Row(command.name, "ms", goal, limit, command.median_s * 1e3, note=note)
