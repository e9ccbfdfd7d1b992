"""Measures nagle-scan against its goals and its peers, and checks what it found.

Commands that are compared run in turn, round after round, on a warm page cache. Writes
docs/benchmark.md. Exit status: 0 done, 1 a wrong result, 2 the benchmark could not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import cores, footprint, forms, machine, works
from bench.goals import HEAD, Row, markdown, table
from bench.measuring import BENCH, MOST_SPREAD, BenchError, build, installed

NAGLE_SCAN = BENCH.parent / ".venv" / "bin" / "nagle-scan"
REPORT = BENCH.parent / "docs" / "benchmark.md"
FULL_PACKETS = 10_000_000
PARTS: dict[str, Callable[[works.Bench], Iterator[Row]]] = {
    "loops": works.loops,
    "stalls": works.stalls,
    "peers": works.peers,
    "growth": works.growth,
    "pcapng": forms.pcapng,
    "packed": forms.packed,
    "pages": forms.pages,
    "cores": cores.scaling,
    "start": works.start,
    "memory": footprint.memory,
    "interface": footprint.interface_memory,
    "python": footprint.python_tables,
}
QUICK = (
    f"This is a quick run: the goals are stated for {FULL_PACKETS:,} packets "
    f"(`make bench PACKETS={FULL_PACKETS}`), and on fewer the start weighs more."
)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--growth", type=int, default=10, help="packets streamed, x --packets")
    parser.add_argument("--runs", type=int, default=5, help="rounds that count (default: 5)")
    parser.add_argument("--nagle-scan", default=str(NAGLE_SCAN), metavar="PROGRAM")
    parser.add_argument("--report", type=Path, default=REPORT, help="the page to write")
    peers = ["tcptrace", "tshark", "nfpcapd"]
    parser.add_argument("--skip", nargs="+", default=[], choices=peers, metavar="PEER")
    arguments = parser.parse_args()
    if arguments.packets < 1000 or arguments.runs < 1 or arguments.growth < 2:
        parser.error("--packets must be at least 1000, --runs at least 1, --growth at least 2")
    return arguments


def page(bench: works.Bench, rows: list[Row], load: float) -> str:
    """The whole of docs/benchmark.md."""
    quick = f"{QUICK}\n\n" if bench.packets < FULL_PACKETS else ""
    wrong = "".join(f"- WRONG: {text}\n" for text in bench.wrong)
    checked = wrong or "Every scan found exactly the stalls that were generated.\n"
    described = [list(pair) for pair in machine.described(load)]
    return (
        "# Benchmark\n\n"
        f"Written by `make bench PACKETS={bench.packets}`; [bench](../bench/README.md) says how it "
        "measures. Whole processes, JSON written; ratios of medians of "
        f"{bench.runs} alternating runs, warm cache; repeated once where runs of one command lie "
        f"more than {MOST_SPREAD:.0%} apart.\n\n{quick}"
        f"{table(rows)}\n\n{checked}\n"
        f"## The machine\n\n{markdown(['', ''], described)}\n"
    )


def benchmark(arguments: argparse.Namespace) -> int:
    """Builds, measures, prints and writes; returns the exit status."""
    load = machine.load()
    build()
    bench = works.Bench(
        arguments.packets,
        arguments.runs,
        arguments.growth,
        arguments.nagle_scan,
        arguments.skip,
    )
    if not installed(bench.nagle_scan):
        raise BenchError("nagle-scan is not there: build it, or name it with --nagle-scan")
    if bench.packets < FULL_PACKETS:
        print(f"{QUICK}\n", flush=True)
    print(f"load before: {load:.1f}\n" + "\t".join(HEAD), flush=True)
    rows = []
    for part in PARTS.values():
        for row in part(bench):
            rows.append(row)
            print("\t".join(row.cells()), flush=True)
    text = page(bench, rows, load)
    arguments.report.parent.mkdir(exist_ok=True)
    arguments.report.write_text(text)
    print(f"\n{text}\nWritten to {arguments.report}.")
    return 1 if bench.wrong else 0


def main() -> int:
    """Runs the benchmark; what stops it is printed in one line."""
    try:
        return benchmark(parse_arguments())
    except BenchError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
