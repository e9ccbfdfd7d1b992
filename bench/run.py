"""Measures nagle-scan against its goals and its peers, and checks what it found.

Writes docs/benchmark.md. Exit status: 0 done, 1 a wrong result, 2 the benchmark could not run.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import platform
import re
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench.measuring import BENCH, BUILD, BenchError, Capture, Cost, build, generate, medians, run

LOOP = str(BUILD / "pcap_loop")
NAGLE_SCAN = str(Path(sys.executable).with_name("nagle-scan"))
REPORT = BENCH.parent / "docs" / "benchmark.md"
FULL_PACKETS = 10_000_000
"""The size that the goals are stated for."""
RESULT, FLEET = BUILD / "result.json", BUILD / "fleet"
FLOWS, PID = BUILD / "flows", BUILD / "softflowd.pid"
DPKT = """import dpkt, sys
for _, frame in dpkt.pcap.Reader(open(sys.argv[1], "rb")): dpkt.ethernet.Ethernet(frame)"""
NFSTREAM = "import nfstream, sys; sum(1 for _ in nfstream.NFStreamer(sys.argv[1]))"
FEW = FULL_PACKETS // 10  # tshark takes nearly 1 GiB of memory per million packets
PEERS = [  # name, command, packets at most; goal and limit in times of nagle-scan, 0 for none
    ("libpcap loop", LOOP, FULL_PACKETS, 0, 0),
    ("nagle-scan, with Python", f"{NAGLE_SCAN} -o {RESULT} --exit-zero", FULL_PACKETS, 0, 0),
    ("tcpdump -w", "tcpdump -n -w - -r", FULL_PACKETS, 0, 0),
    ("softflowd", f"softflowd -d -c none -p {PID} -m 20000 -r", FULL_PACKETS, 0, 0),
    ("argus", "argus -w - -r", FULL_PACKETS, 0, 0),
    ("nfpcapd", f"nfpcapd -w {FLOWS} -r", FULL_PACKETS, 6, 4),
    ("ndpiReader", "ndpiReader -q -i", FULL_PACKETS, 0, 0),
    ("tcptrace", "tcptrace -n -l -r", FULL_PACKETS, 12, 8),
    ("nfstream", f"python3 -c '{NFSTREAM}'", FEW, 0, 0),
    ("dpkt", f"python3 -c '{DPKT}'", FEW, 0, 0),
    ("tshark conv,tcp", "tshark -n -q -z conv,tcp -r", FEW, 80, 60),
    ("tshark ack_rtt", "tshark -n -Y 'tcp.analysis.ack_rtt>0.03' -r", FEW, 100, 80),
]
PACKED = {"gzip": ".gz", "zstd": ".zst"}
MIB = 1 << 20
LARGE, SMALL, NEW = 50, 5_000, 10
"""Captures of 20 MB and of 11 kB for a fleet, and new ones beside these."""
ENOUGH_MB_S = 278  # of 1,000 hosts with 1 GB an hour each
PCAP_HEAD, RECORD_HEAD = 24, 16


class Row(NamedTuple):
    """A line of a table. `measured` is None where a tool is not there."""

    work: str
    unit: str
    goal: float
    limit: float
    measured: float | None
    detail: str = ""
    more_is_better: bool = False

    @property
    def result(self) -> str:
        """How the measurement stands against the goal and the limit."""
        if self.measured is None:
            return "not measured"
        sign = -1 if self.more_is_better else 1
        if sign * self.measured <= sign * self.goal:
            return "goal met"
        return "within limit" if sign * self.measured <= sign * self.limit else "MISSED"

    @property
    def cells(self) -> list[str]:
        """The texts of its columns."""
        goal = f"{'>=' if self.more_is_better else '<='} {self.goal:.4g} {self.unit}"
        measured = "-" if self.measured is None else f"{self.measured:.4g}"
        return [self.work, goal, f"{self.limit:.4g}", measured, self.result, self.detail]


HEAD = ["work", "goal", "must not exceed", "measured", "result", "detail"]
PEERS_HEAD = ["peer", "x libpcap loop", *HEAD[1:3], "x nagle-scan", "result", "packets"]


@dataclass
class Bench:
    """The size of the measurements, and the wrong results so far."""

    packets: int
    runs: int
    wrong: list[str] = field(default_factory=list)

    def scan(self, *paths: Path, output: Path = RESULT) -> list[str]:
        """The whole command."""
        return [NAGLE_SCAN, *map(str, paths), "-o", str(output), "--exit-zero"]

    def check(self, capture: Capture) -> None:
        """Notes a wrong number of stalls in the last result, that of this capture."""
        with RESULT.open() as file:
            # Children take over this process's size: the whole document would hide theirs.
            summary = re.search(r'"summary":{.*?"stalls":(\d+)', file.read(1 << 16))
        found = int(summary[1]) if summary else None
        if found != capture.stalls:
            self.wrong.append(f"{capture.path.name}: {found} stalls, {capture.stalls} generated")


def against_libpcap(bench: Bench) -> Iterator[Row]:
    """Works beside libpcap's bare loop over the same file."""
    crowd = max(bench.packets // 10, 1)
    for work, capture, goal, limit in (
        ("RPC, 10,000 connections", generate("rpc", 10_000, bench.packets), 0.72, 0.85),
        (f"{crowd:,} connections alive", generate("rpc", crowd, bench.packets), 1.5, 1.8),
        (f"{crowd:,} short connections", generate("short", crowd), 1.35, 1.6),
        ("bulk, full payloads", generate("bulk", 100, max(bench.packets // 5, 10)), 0.45, 0.65),
    ):
        loop = [LOOP, str(capture.path)]
        ours, bare = medians([bench.scan(capture.path), loop], bench.runs)
        bench.check(capture)
        ns = [cost.wall_s / capture.packets * 1e9 for cost in (ours, bare)]
        detail = f"{ns[0]:.0f} against {ns[1]:.0f} ns/packet; {capture.packets:,} packets"
        yield Row(work, "x libpcap", goal, limit, ns[0] / ns[1], detail)


def stalls(bench: Bench) -> Iterator[Row]:
    """A stall in every exchange, its output included, beside few."""
    capture, rpc = (generate(mode, 10_000, bench.packets) for mode in ("stalls", "rpc"))
    few, many = medians([bench.scan(one.path) for one in (rpc, capture)], bench.runs)
    bench.check(capture)
    detail = f"{capture.stalls:,} stalls"
    yield Row("a stall in every exchange", "x RPC", 1.5, 1.8, many.wall_s / few.wall_s, detail)


def peers(bench: Bench) -> Iterator[list[str]]:
    """Tools that do related work, each run once beside the loop and the scan of the same file."""
    FLOWS.mkdir(exist_ok=True)
    tiny = str(generate("clean", 10, 100).path)
    bases: dict[Path, list[Cost]] = {}
    for name, command, most, goal, limit in PEERS:
        capture, words = generate("rpc", 10_000, min(bench.packets, most)), shlex.split(command)
        path = capture.path
        if path not in bases:
            bases[path] = medians([[LOOP, str(path)], bench.scan(path)], bench.runs)
        row, of_loop = Row(name, "x", goal, limit, None, more_is_better=True), "not there"
        is_there = ["sh", "-c", f'{command} "$0"', tiny]
        if subprocess.run(is_there, capture_output=True, check=False).returncode == 0:
            wall_s = run([*words, str(path)]).wall_s
            loop, ours = (wall_s / base.wall_s for base in bases[path])
            row, of_loop = row._replace(measured=ours), f"{loop:.4g}"
        goals = row.cells[1:5] if goal else ["", "", row.cells[3], ""]
        yield [name, of_loop, *goals, f"{capture.packets:,}"]


def packed(bench: Bench) -> Iterator[Row]:
    """Packed captures beside their unpacking."""
    capture = generate("rpc", 10_000, bench.packets // 2)
    for program, suffix in PACKED.items():
        measured = None
        if shutil.which(program):
            path = capture.path.with_name(capture.path.name + suffix)
            with path.open("wb") as file:
                subprocess.run([program, "-c", str(capture.path)], check=True, stdout=file)
            unpack = [program, "-dc", str(path)]
            ours, theirs = medians([bench.scan(path), unpack], bench.runs)
            bench.check(capture)
            measured = ours.wall_s / theirs.wall_s
        detail = f"{capture.packets:,} packets"
        yield Row(f"RPC, {program}", f"x {program} -dc", 1.1, 1.3, measured, detail)


def page(bench: Bench) -> Iterator[Row]:
    """The page, beyond the scan and one more reading."""
    capture = generate("rpc", 10_000, bench.packets)
    html, loop = BUILD / "report.html", [LOOP, str(capture.path)]
    commands = [bench.scan(capture.path, output=html), bench.scan(capture.path), loop]
    whole, scan, read = medians(commands, bench.runs)
    beyond_s = whole.wall_s - scan.wall_s - read.wall_s
    detail = f"{whole.wall_s:.2f} s; beyond the scan and one reading by libpcap"
    yield Row(f"report.html of {capture.packets:,} packets", "s more", 1.5, 3.0, beyond_s, detail)


def all_cpus(bench: Bench) -> Iterator[Row]:
    """All CPUs beside one, and whether both find the same."""
    capture, cpus = generate("rpc", 10_000, bench.packets), sorted(os.sched_getaffinity(0))
    measured, count = None, len(cpus)
    if count > 1 and shutil.which("taskset"):
        results = [BUILD / f"cpus-{name}.json" for name in ("one", "all")]
        lists = [",".join(map(str, some)) for some in (cpus[:1], cpus)]
        one, every = medians(
            [
                ["taskset", "-c", some, *bench.scan(capture.path, output=result)]
                for some, result in zip(lists, results, strict=True)
            ],
            bench.runs,
        )
        measured = one.wall_s / every.wall_s
        if not filecmp.cmp(results[0], results[1], shallow=False):
            bench.wrong.append(f"one CPU and {count} do not give the same result")
    goal = 1.85 if count == 2 else 0.8 * count
    serial = f"{(count / measured - 1) / (count - 1):.0%}" if measured else "unknown"
    detail = f"{count} CPUs; serial share (Amdahl): {serial}; same result, bit by bit"
    yield Row("one large file, all CPUs", "x one CPU", goal, 0.65 * count, measured, detail, True)


def start(bench: Bench) -> Iterator[Row]:
    """The wait before anything is read."""
    options = (["--version"], ["--help"], [str(generate("rpc", 10, 100).path)])
    commands = [[sys.executable, "-c", "pass"], *([NAGLE_SCAN, *words] for words in options)]
    nothing, *costs = medians(commands, max(15, bench.runs))
    python_ms = nothing.wall_s * 1e3
    for work, cost in zip(("--version", "--help", "100 packets, as text"), costs, strict=True):
        detail = f"python -c pass: {python_ms:.1f} ms; goal 2 x that + 10 ms"
        goals = 2 * python_ms + 10, 3 * python_ms + 10
        yield Row(f"start: {work}", "ms", *goals, cost.wall_s * 1e3, detail)


def memory(bench: Bench) -> Iterator[Row]:
    """Peaks less that of a scan of 100 packets, which is Python's."""

    def peak_bytes(capture: Capture) -> int:
        peak = run(bench.scan(capture.path)).peak_bytes
        bench.check(capture)
        return peak

    nothing = peak_bytes(generate("clean", 10, 100))
    few = peak_bytes(generate("clean", 10_000, bench.packets // 10)) - nothing
    many = peak_bytes(generate("clean", 10_000, bench.packets)) - nothing
    detail = f"{few / MIB:.1f} MiB at a tenth of the packets; Python {nothing / MIB:.0f} MiB"
    work = f"engine, 10,000 connections, {bench.packets:,} packets"
    yield Row(work, "MiB", 16, 32, many / MIB, detail)
    for mode, text in (("scan", "SYN scan of {:,} ports"), ("half", "{:,} half-open connections")):
        peak = peak_bytes(generate(mode, bench.packets))
        each = (peak - nothing) / bench.packets
        detail = f"{peak / MIB:.0f} MiB in all; the limit is 1.5 GB of 10 M"
        yield Row(text.format(bench.packets), "B each", 100, 150, each, detail)


# -- fleets ---------------------------------------------------------------------------------------


def fleets(bench: Bench) -> Iterator[Row]:
    """The cost of new captures, the bytes kept of them, and runs that find few new ones or none."""
    if not all(map(find_spec, ("duckdb", "fsspec", "pyarrow"))):
        goals = 2 * ENOUGH_MB_S, ENOUGH_MB_S
        yield Row("new captures", "MB/s", *goals, None, "needs nagle-scan[fleet]", True)
        return
    share = min(bench.packets, FULL_PACKETS) / FULL_PACKETS
    yield from large_captures(bench, max(4, round(LARGE * share)))
    yield from small_captures(max(4, round(SMALL * share)))


def adding(paths: Iterable[Path], *options: str) -> list[str]:
    """The command that adds to the fleet what is new among them."""
    words = [NAGLE_SCAN, "fleet", *map(str, paths), "-o", str(FLEET), "--exit-zero"]
    return [*words, *options]


def large_captures(bench: Bench, count: int) -> Iterator[Row]:
    """Captures of 20 MB with contents of their own: copies would be packed into small tables."""
    captures = [generate("rpc", 1000, 130_000, seed=number + 1) for number in range(count)]
    paths = [capture.path for capture in captures]
    gb = sum(path.stat().st_size for path in paths) / 1e9
    shutil.rmtree(FLEET, ignore_errors=True)
    cost = run(adding(paths))
    detail = f"{cost.cpu_s / gb:.1f} CPU s per GB; 1,000 hosts with 1 GB an hour: {ENOUGH_MB_S}"
    goals = 2 * ENOUGH_MB_S, ENOUGH_MB_S
    work = f"{count:,} new captures of 20 MB"
    yield Row(work, "MB/s", *goals, gb * 1e3 / cost.wall_s, detail, True)
    stalls = sum(capture.stalls for capture in captures)
    found = stalls_of_fleet()
    if found != stalls:
        bench.wrong.append(f"fleet of {count:,}: {found} stalls, {stalls} generated")
    detail = f"{stalls / gb:,.0f} stalls per GB"
    yield Row("table of these", "MB per GB", 1, 1.2, table_mb() / gb, detail)
    shutil.rmtree(FLEET)
    run(adding(paths, "--all"))
    yield Row("table, with --all", "MB per GB", 35, 50, table_mb() / gb, detail)


def stalls_of_fleet() -> int:
    """Stalls in the table, read in another process: this one must stay small."""
    query = "SELECT sum(stalls) AS n FROM captures"
    code = (
        f"import nagle_scan; print(int(nagle_scan.Fleet({str(FLEET)!r}).query({query!r})['n'][0]))"
    )
    return int(
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout
    )


def small_captures(count: int) -> Iterator[Row]:
    """Captures of 11 kB, the same each time a second later; then ten more, then none."""
    folder = BUILD / "small"
    for old in (folder, FLEET):
        shutil.rmtree(old, ignore_errors=True)
    write_later(folder, range(count))
    added = run(adding([folder]))
    detail = f"{count / added.wall_s:,.0f} captures/s; one run, with its start"
    each_ms = added.cpu_s / count * 1e3
    yield Row(f"{count:,} new captures of 11 kB", "CPU ms each", 2, 2.5, each_ms, detail)
    yield Row("the same, largest process", "MiB", 300, 400, added.peak_bytes / MIB)
    write_later(folder, range(count, count + NEW))
    few, none = (run(adding([folder])) for _ in range(2))
    yield Row(f"{NEW} new captures beside {count:,} known ones", "CPU s", 1.5, 2, few.cpu_s)
    yield Row("nothing new among them", "CPU s", 1, 1.5, none.cpu_s)


def write_later(folder: Path, seconds: Iterable[int]) -> None:
    """A capture for each of these seconds, whose packets came that much later."""
    original = generate("stalls", 1, 75).path.read_bytes()
    for second in seconds:
        content, at = bytearray(original), PCAP_HEAD
        while at < len(content):
            time_s, _, length = struct.unpack_from("<III", content, at)
            struct.pack_into("<I", content, at, time_s + second)
            at += RECORD_HEAD + length
        path = folder / str(second // 1000) / f"{second}.pcap"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def table_mb() -> float:
    """The size of the fleet's table."""
    return sum(path.stat().st_size for path in FLEET.glob("*/**/*") if path.is_file()) / 1e6


# -- the page -------------------------------------------------------------------------------------


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, aligned so that it reads well as plain text too."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    padded = [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join(f"| {line} |" for line in padded)


def measured(rows: Iterable[Row]) -> str:
    """The table of these; each line is printed as soon as it is known."""
    cells = []
    for row in rows:
        cells.append(row.cells)
        print(*row.cells, sep="\t", flush=True)
    return markdown(HEAD, cells)


def machine(load: float) -> str:
    """The machine of the figures, without its name."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    facts = [
        ["CPU", model[1] if model else platform.machine()],
        ["CPUs to run on", str(len(os.sched_getaffinity(0)))],
        ["memory", f"{memory_bytes / 2**30:.1f} GiB"],
        ["kernel", f"{platform.system()} {platform.release()}"],
        ["load before", f"{load:.1f}"],
        ["Python", platform.python_version()],
    ]
    return markdown(["", ""], facts)


def text(bench: Bench) -> str:
    """The whole of docs/benchmark.md."""
    load = os.getloadavg()[0]
    parts = (against_libpcap, stalls, packed, page, all_cpus, start, memory)
    table = measured(row for part in parts for row in part(bench))
    of_peers = markdown(PEERS_HEAD, list(peers(bench)))
    of_fleets = measured(fleets(bench))
    quick = f"This is a quick run: the goals are stated for {FULL_PACKETS:,} packets.\n\n"
    wrong = "".join(f"- WRONG: {text}\n" for text in bench.wrong)
    return (
        "# Benchmark\n\n"
        f"Written by `make bench PACKETS={bench.packets}`; [bench](../bench/README.md) says how it "
        f"measures. Whole processes, JSON written; ratios of medians of {bench.runs} alternating "
        f"runs, warm cache.\n\n{quick if bench.packets < FULL_PACKETS else ''}{table}\n\n"
        f"{wrong or 'Every scan found exactly the stalls that were generated.'}\n\n"
        f"## Peers\n\nTools that do related work, one run each on the same file.\n\n{of_peers}\n\n"
        f"## Fleets\n\nWhole commands, with their start, on all CPUs, page written; one run each."
        f"\n\n{of_fleets}\n\n## The machine\n\n{machine(load)}\n"
    )


def main() -> int:
    """Builds, measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5, help="rounds that count (default: 5)")
    parser.add_argument("--report", type=Path, default=REPORT, help="the page to write")
    arguments = parser.parse_args()
    if arguments.packets < 1000 or arguments.runs < 1:
        parser.error("--packets must be at least 1000, --runs at least 1")
    bench = Bench(arguments.packets, arguments.runs)
    try:
        build()
        arguments.report.write_text(text(bench))
    except BenchError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    print(f"Written to {arguments.report}.")
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
