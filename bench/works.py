"""The works that are measured: each returns its lines of the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.goals import Row
from bench.measuring import (
    BENCH,
    BUILD,
    BenchError,
    Capture,
    Command,
    generate,
    generator_words,
    installed,
    made,
    rotated,
    spread_of,
    time_rounds,
)

MIB = 1 << 20
TSHARK_PACKETS = 1_000_000  # tshark takes nearly 1 GiB of memory per million packets
ACK_FILTER = "tcp.analysis.ack_rtt > 0.03"
PACKED = {"gzip": ".gz", "zstd": ".zst"}
MOST_CPUS, TWO_CPUS = 16, 1.85
"""The goal is stated up to so many; with two it is this."""


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

    @property
    def rpc(self) -> Capture:
        """What most works read."""
        return generate("rpc", 10_000, self.packets)

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

    def ratio(self, work: Command, yardstick: Command, runs: int | None = None) -> float:
        """How many times as long as the yardstick a work takes, in turn with it."""
        time_rounds([work, yardstick], runs or self.runs)
        return work.median_s / yardstick.median_s


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


# -- times ----------------------------------------------------------------------------------------


def loops(bench: Bench) -> Iterator[Row]:
    """The four works that libpcap's bare loop measures; RPC first, as others refer to it."""
    alive = generate("rpc", bench.crowd, bench.packets)
    short = generate("short", bench.crowd)
    bulk = generate("bulk", 100, max(bench.packets // 5, 10))
    for work, capture, goal, limit in (
        ("RPC, 10,000 connections", bench.rpc, 0.72, 0.85),
        (f"{alive.connections:,} connections alive", alive, 1.5, 1.8),
        (f"{short.connections:,} short connections", short, 1.35, 1.6),
        ("bulk, full payloads", bulk, 0.45, 0.65),
    ):
        scan, yardstick = bench.scan(capture), loop(capture)
        measured = bench.ratio(scan, yardstick)
        bench.check(capture)
        ns = [command.median_s / capture.packets * 1e9 for command in (scan, yardstick)]
        bench.rpc_ns = bench.rpc_ns or ns[0]
        note = f"{ns[0]:.0f} against {ns[1]:.0f} ns/packet; {capture.packets:,} packets"
        yield Row(
            work, "x libpcap", goal, limit, measured, note=note + spread_of([scan, yardstick])
        )


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
    rpc, small = bench.rpc, generate("rpc", 10_000, min(bench.packets, TSHARK_PACKETS))
    with tempfile.TemporaryDirectory(dir=BUILD) as flows:
        for name, capture, words, goal, limit in (
            ("tcptrace -n -l -r", rpc, ["tcptrace", "-n", "-l", "-r"], 12, 8),
            ("tshark conv,tcp", small, ["tshark", "-n", "-q", "-z", "conv,tcp", "-r"], 80, 60),
            ("tshark ack_rtt", small, ["tshark", "-n", "-Y", ACK_FILTER, "-r"], 100, 80),
            ("nfpcapd", rpc, ["nfpcapd", "-w", flows, "-r"], 6, 4),
        ):
            work, program = f"times faster than {name}", words[0]
            if program in bench.skip or not installed(program):
                yield Row(work, "x", goal, limit, None, True, f"{program} is not there or skipped")
                continue
            peer = Command(name, [*words, str(capture.path)], slow=True)
            ratio = bench.ratio(peer, bench.scan(capture))
            note = f"one run of {peer.median_s:.1f} s; {capture.packets:,} packets"
            yield Row(work, "x", goal, limit, ratio, True, note)


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


def pcapng(bench: Bench) -> Iterator[Row]:
    """The RPC work as pcapng against pcap."""
    pcap, pcapng = (
        bench.scan(generate("rpc", 10_000, bench.packets, suffix), name=f"as{suffix}")
        for suffix in (".pcap", ".pcapng")
    )
    ratio = bench.ratio(pcapng, pcap)
    note = f"{bench.packets:,} packets{spread_of([pcap, pcapng])}"
    yield Row("RPC as pcapng", "x pcap", 1.05, 1.15, ratio, note=note)


def packed(bench: Bench) -> Iterator[Row]:
    """Packed captures against their unpacking."""
    capture = generate("rpc", 10_000, bench.packets // 2)
    for program, suffix in PACKED.items():
        work, unit = f"RPC, {program}", f"x {program} -dc"
        if not installed(program):
            yield Row(work, unit, 1.1, 1.3, None, note=f"{program} is not there")
            continue
        path = capture.path.with_name(capture.path.name + suffix)
        made(path, capture.path, [program, "-c", str(capture.path)])
        scan = bench.scan(Capture(path, capture.packets, capture.connections, capture.stalls))
        unpack = Command(program, [program, "-dc", str(path)])
        ratio = bench.ratio(scan, unpack)
        bench.check(capture)
        note = f"{capture.packets:,} packets{spread_of([scan, unpack])}"
        yield Row(work, unit, 1.1, 1.3, ratio, note=note)


def pages(bench: Bench) -> Iterator[Row]:
    """What the page takes beyond the scan and one more reading."""
    for packets in (max(bench.packets // 10, 1000), bench.packets):
        capture = generate("rpc", 10_000, packets)
        page, scan = bench.scan(capture, "report", ".html"), bench.scan(capture)
        read = loop(capture)
        time_rounds([page, scan, read], min(bench.runs, 3))
        beyond_s = page.median_s - scan.median_s - read.median_s
        note = f"{page.median_s:.2f} s; beyond the scan and one reading by libpcap"
        yield Row(f"report.html of {packets:,} packets", "s more", 1.5, 3.0, beyond_s, note=note)


def cores(bench: Bench) -> Iterator[Row]:
    """All CPUs against one, and whether both find the same."""
    parts = rotated(bench.rpc.path)
    works = {"one large file": [bench.rpc.path], f"{len(parts)} rotated files": parts}
    cpus = sorted(os.sched_getaffinity(0))
    many = min(len(cpus), MOST_CPUS)
    goal, limit = (TWO_CPUS if many == 2 else 0.8 * many), 0.65 * many
    for name, paths in works.items():
        work = f"{name}, all CPUs"
        if many < 2 or not installed("taskset"):
            note = "needs two CPUs and taskset"
            yield Row(work, "x one CPU", goal, limit, None, True, note)
            continue
        one, every = (
            bench.scan_all(paths, "taskset", "-c", ",".join(map(str, some)), name=f"cpus-{cpu}")
            for cpu, some in (("one", cpus[:1]), ("all", cpus))
        )
        ratio = bench.ratio(one, every)
        results = [(BUILD / f"{command.name}.json").read_bytes() for command in (one, every)]
        if results[0] != results[1]:
            bench.wrong.append(f"{work}: one CPU and {len(cpus)} do not give the same result")
        note = f"{len(cpus)} CPUs; same result, bit by bit{spread_of([one, every])}"
        yield Row(work, "x one CPU", goal, limit, ratio, True, note)


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


def tables(bench: Bench) -> Iterator[Row]:
    """DataFrames, and one connection read again."""
    many, rpc = generate("stalls", 10_000, bench.packets // 2), bench.rpc
    words = [sys.executable, str(BENCH / "python_side.py"), str(many.path), str(rpc.path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"python_side.py: {done.stderr.strip().splitlines()[-1]}")
    times = json.loads(done.stdout)
    for table, goal_ms, limit_ms in (("stalls", 60, 120), ("exchanges", 100, 200)):
        rows = times[f"{table}_rows"]
        note = f"pandas imported, beyond the scan; {rows:,} rows, the goal is for 1 M"
        per_million_ms = times[f"{table}_s"] * 1e3 * 1e6 / max(rows, 1)
        yield Row(f"1 M {table} as a DataFrame", "ms", goal_ms, limit_ms, per_million_ms, note=note)
    ratio = times["segments_s"] / times["scan_s"]
    note = f"{times['segments_s']:.2f} s; {rpc.path.stat().st_size / 1e6:,.0f} MB"
    yield Row("scan.segments(id)", "x one scan", 1.0, 2.0, ratio, note=note)


# -- memory ---------------------------------------------------------------------------------------


def peak_bytes(bench: Bench, capture: Capture) -> float:
    """Largest resident set of one scan; its stalls are checked."""
    peak_kib = bench.scan(capture).run().peak_kib
    bench.check(capture)
    return peak_kib * 1024.0


def memory(bench: Bench) -> Iterator[Row]:
    """Python's own share is that of a scan of 100 packets."""
    start = peak_bytes(bench, generate("clean", 10, 100))
    many = generate("clean", 10_000, bench.packets)
    few = generate("clean", 10_000, bench.packets // 10)
    engine, engine_of_few = (peak_bytes(bench, capture) - start for capture in (many, few))
    note = f"{engine_of_few / MIB:.1f} MiB at {few.packets:,} packets; Python {start / MIB:.0f} MiB"
    work = f"engine, 10,000 connections, {many.packets:,} packets"
    yield Row(work, "MiB", 16, 32, engine / MIB, note=note)
    yield from slopes(bench)
    for mode, work in (("scan", "SYN scan of {:,} ports"), ("half", "{:,} half-open connections")):
        capture = generate(mode, bench.packets)
        peak = peak_bytes(bench, capture)
        note = f"{peak / MIB:.0f} MiB in all; the limit is 1.5 GB of 10 M"
        each = (peak - start) / capture.connections
        yield Row(work.format(capture.connections), "B each", 100, 150, each, note=note)


def slopes(bench: Bench) -> Iterator[Row]:
    """What a live connection and a stall take, from two numbers of them."""
    packets, few = bench.packets, max(bench.packets // 1000, 1)
    alive = [generate("clean", count, packets) for count in (bench.crowd // 10, bench.crowd)]
    found = [generate("stalls", few, count) for count in (packets // 4, packets)]
    for work, goal, limit, (less, more), name in (
        ("per live connection", 256, 512, alive, "connections"),
        ("per finding", 64, 128, found, "stalls"),
    ):
        first, last = (getattr(capture, name) for capture in (less, more))
        measured = (peak_bytes(bench, more) - peak_bytes(bench, less)) / (last - first)
        yield Row(work, "B", goal, limit, measured, note=f"{first:,} to {last:,} {name}")


def memory_of_python(bench: Bench) -> Iterator[Row]:
    """Does the memory of `nagle_scan.scan()` grow with packets? Stalls have a row of their own."""
    peaks_mib = []
    for packets in (bench.packets, bench.packets * bench.growth):
        feeder = generator_words("clean", 10_000, packets)
        words = [sys.executable, "-c", "import nagle_scan; nagle_scan.scan('-')"]
        peaks_mib.append(Command("scan()", words, stdin_words=feeder).run().peak_kib / 1024)
    less, more = peaks_mib
    work = f"memory of nagle_scan.scan() at {bench.packets * bench.growth:,} packets"
    note = f"{more:.0f} against {less:.0f} MiB at {bench.packets:,}"
    yield Row(work, "x", 1.1, 1.3, more / less, note=note)


PARTS = (
    *(loops, stalls, peers, growth, pcapng, packed, pages, cores),
    *(start, memory, memory_of_python, tables),
)
