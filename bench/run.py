"""Measures nagle-scan against its peers on one generated capture, and checks what it found.

All commands run in turn, round after round, on a warm page cache, so that the figures of one
table compare. Exit status: 0 done, 1 a wrong number of stalls, 2 the benchmark could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent
BUILD = BENCH / "build"
NAGLE_SCAN = BENCH.parent / ".venv" / "bin" / "nagle-scan"
RESULT_JSON = BUILD / "out.json"
PROGRAMS = {"generate": [], "measure": [], "pcap_loop": ["-lpcap"]}  # name: libraries
SLOW_PACKETS = 1_000_000  # on larger captures the slow peers run once
LOOP_GOAL = 1.0  # nagle-scan's time, at most this many times the libpcap loop's
TCPTRACE_GOAL = 8.0  # tcptrace's time, at least this many times nagle-scan's


class BenchError(Exception):
    """The benchmark cannot run or go on; the message is for the user."""


@dataclass(frozen=True)
class Capture:
    """A generated capture and the generator's truth about it."""

    path: Path
    packets: int
    connections: int
    stalls: int


@dataclass(frozen=True)
class Sample:
    """What one run of a whole process cost."""

    wall_s: float
    cpu_s: float  # user + system
    peak_kib: int  # largest resident set

    @property
    def peak_mib(self) -> float:
        """Largest resident set in MiB."""
        return self.peak_kib / 1024


@dataclass
class Command:
    """A command under measurement; `words` takes the capture's path."""

    name: str
    program: str
    words: Callable[[str], list[str]]
    slow: bool = False
    samples: list[Sample] = field(default_factory=list)

    def run(self, capture: Capture) -> Sample:
        """Runs the command once on the capture."""
        return measure(self.name, [self.program, *self.words(str(capture.path))])

    @property
    def median_s(self) -> float:
        """Median wall time in seconds."""
        return statistics.median(sample.wall_s for sample in self.samples)

    @property
    def peak_mib(self) -> float:
        """Median of the peak resident set, in MiB."""
        return statistics.median(sample.peak_mib for sample in self.samples)


def all_commands(nagle_scan: str) -> list[Command]:
    """nagle-scan, the yardstick and the peers."""
    scan_options = ["-o", str(RESULT_JSON), "--exit-zero"]
    return [
        Command("nagle-scan", nagle_scan, lambda path: [path, *scan_options]),
        Command("libpcap loop", str(BUILD / "pcap_loop"), lambda path: [path]),
        Command("tcpdump -w", "tcpdump", lambda path: ["-r", path, "-w", "/dev/null"]),
        Command("tcptrace -n", "tcptrace", lambda path: ["-n", path], slow=True),
        Command(
            "tshark conv,tcp",
            "tshark",
            lambda path: ["-n", "-r", path, "-q", "-z", "conv,tcp"],
            slow=True,
        ),
    ]


def measure(name: str, words: Sequence[str]) -> Sample:
    """Runs a command to its end, its output thrown away, and returns what it cost."""
    result = BUILD / "measured.txt"
    finished = subprocess.run(
        [str(BUILD / "measure"), str(result), *words],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if finished.returncode != 0:
        last_words = (finished.stderr.strip().splitlines() or ["(no message)"])[-1]
        raise BenchError(f"{name}: exit status {finished.returncode}: {last_words}")
    wall_s, cpu_s, peak_kib = result.read_text().split()
    return Sample(float(wall_s), float(cpu_s), int(peak_kib))


def build() -> None:
    """Compiles the C programs that are missing or older than their source."""
    BUILD.mkdir(exist_ok=True)
    for name, libraries in PROGRAMS.items():
        source, program = BENCH / f"{name}.c", BUILD / name
        if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
            continue
        words = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", str(source)]
        words += ["-o", str(program), *libraries]
        if subprocess.run(words, check=False).returncode != 0:
            raise BenchError(f"cannot compile {source.name} (needs a C compiler and libpcap-dev)")


def generate(connections: int, packets: int) -> Capture:
    """Returns the capture for these arguments, generated unless a present one is up to date."""
    generator = BUILD / "generate"
    path = BUILD / f"rpc-{connections}-{packets}.pcap"
    truth_path = path.with_suffix(".json")  # written last: with it the capture is whole
    if not truth_path.exists() or truth_path.stat().st_mtime < generator.stat().st_mtime:
        truth_path.unlink(missing_ok=True)
        words = [str(generator), "rpc", str(connections), str(packets), "-o", str(path)]
        made = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True)
        if made.returncode != 0:
            raise BenchError(made.stderr.strip())
        truth_path.write_text(made.stderr)
    truth = json.loads(truth_path.read_text())
    return Capture(path, truth["packets"], truth["connections"], truth["stalls"])


def stalls_found(capture: Capture) -> int:
    """The number of stalls in nagle-scan's last result, that of this capture."""
    try:
        return int(json.loads(RESULT_JSON.read_text())["summary"]["stalls"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        name = capture.path.name
        raise BenchError(f"nagle-scan on {name}: no summary.stalls: {error}") from error


def time_rounds(commands: Sequence[Command], capture: Capture, runs: int) -> None:
    """Runs all commands in turn: one warm-up round, then `runs` rounds that count."""
    for number in range(runs + 1):
        for command in commands:
            only_once = command.slow and capture.packets > SLOW_PACKETS
            if only_once and number != 1:
                continue
            sample = command.run(capture)
            if number > 0:
                command.samples.append(sample)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Prints a Markdown table; the first row is its head, the first column is left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    for row in [rows[0], rule, *rows[1:]]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print(f"| {' | '.join(cells)} |")
    print()


def speed_row(command: Command, capture: Capture, loop_s: float) -> list[str]:
    """A command's line of the speed table."""
    walls_s = [sample.wall_s for sample in command.samples]
    cpu_s = statistics.median(sample.cpu_s for sample in command.samples)
    return [
        command.name + (" (one run)" if len(walls_s) == 1 else ""),
        f"{command.median_s:.3f} ({min(walls_s):.3f}..{max(walls_s):.3f})",
        f"{cpu_s:.3f}",
        f"{command.median_s / capture.packets * 1e9:.1f}",
        f"{command.median_s / loop_s:.2f}",
        f"{command.peak_mib:.1f}",
    ]


def print_speed(commands: Sequence[Command], capture: Capture, runs: int) -> None:
    """Prints the one table whose figures compare."""
    size_mb = capture.path.stat().st_size / 1e6
    print(f"{capture.packets:,} packets, {capture.connections:,} connections, {size_mb:,.0f} MB.")
    print(f"Median of {runs} alternating runs, warm cache; load {os.getloadavg()[0]:.1f}", end="")
    print(f" on {os.cpu_count()} CPUs.\n")
    loop_s = next(command.median_s for command in commands if command.name == "libpcap loop")
    head = ["command", "wall s (min..max)", "CPU s", "ns/packet", "x libpcap loop", "peak MiB"]
    print_table([head, *(speed_row(command, capture, loop_s) for command in commands)])
    slow = [command.name for command in commands if command.slow]
    if slow and capture.packets > SLOW_PACKETS:
        print(f"Run once, as the capture is over {SLOW_PACKETS:,} packets: {', '.join(slow)}.\n")


def print_goals(commands: Sequence[Command]) -> None:
    """Prints each goal beside what was measured."""
    median_s = {command.name: command.median_s for command in commands}
    scan_s = median_s["nagle-scan"]
    loop_ratio = scan_s / median_s["libpcap loop"]
    rows = [["goal", "at", "measured", "met"]]
    met = "yes" if loop_ratio <= LOOP_GOAL else "no"
    rows.append(["time, x libpcap loop", f"<= {LOOP_GOAL}", f"{loop_ratio:.2f}", met])
    if "tcptrace -n" in median_s:
        speedup = median_s["tcptrace -n"] / scan_s
        met = "yes" if speedup >= TCPTRACE_GOAL else "no"
        rows.append(["times faster than tcptrace -n", f">= {TCPTRACE_GOAL}", f"{speedup:.1f}", met])
    else:
        rows.append(["times faster than tcptrace -n", f">= {TCPTRACE_GOAL}", "not measured", "-"])
    print_table(rows)


def check_and_print_memory(scan: Command, captures: Sequence[Capture]) -> bool:
    """Scans each capture once more, prints stalls and memory; False when a count is wrong."""
    rows = [["packets", "connections", "stalls expected", "stalls found", "peak MiB"]]
    right = True
    for capture in captures:
        RESULT_JSON.unlink(missing_ok=True)
        peak_mib = scan.run(capture).peak_mib
        found = stalls_found(capture)
        right &= found == capture.stalls
        counts = [capture.packets, capture.connections, capture.stalls, found]
        rows.append([*(f"{count:,}" for count in counts), f"{peak_mib:.1f}"])
    print("Memory of nagle-scan: should not grow with packets (findings, which it keeps, do).\n")
    print_table(rows)
    return right


def choose(commands: Sequence[Command], skip: Sequence[str]) -> list[Command]:
    """The commands to measure; says which are left out. nagle-scan and the yardstick must be."""
    chosen = []
    for command in commands:
        if command.name.split()[0] in skip:
            print(f"{command.name}: not measured (skipped)")
        elif shutil.which(command.program) is not None:
            chosen.append(command)
        elif command.name == "nagle-scan":
            raise BenchError("nagle-scan is not there: build it, or name it with --nagle-scan")
        else:
            print(f"{command.name}: not measured (not installed)")
    return chosen


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5, help="rounds that count (default: 5)")
    parser.add_argument("--nagle-scan", default=str(NAGLE_SCAN), metavar="PROGRAM")
    parser.add_argument(
        "--skip", nargs="+", default=[], choices=["tcpdump", "tcptrace", "tshark"], metavar="PEER"
    )
    arguments = parser.parse_args()
    if arguments.packets < 10 or arguments.connections < 1 or arguments.runs < 1:
        parser.error("--packets must be at least 10, --connections and --runs at least 1")
    return arguments


def benchmark(arguments: argparse.Namespace) -> int:
    """Builds, generates, measures, checks and prints; returns the exit status."""
    build()
    commands = choose(all_commands(arguments.nagle_scan), arguments.skip)
    capture = generate(arguments.connections, arguments.packets)
    smaller = generate(arguments.connections, arguments.packets // 10)
    time_rounds(commands, capture, arguments.runs)
    print_speed(commands, capture, arguments.runs)
    print_goals(commands)
    right = check_and_print_memory(commands[0], [smaller, capture])
    print("The stalls found are those generated." if right else "WRONG number of stalls found.")
    return 0 if right else 1


def main() -> int:
    """Runs the benchmark; what stops it is printed in one line."""
    try:
        return benchmark(parse_arguments())
    except BenchError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
