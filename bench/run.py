"""Measures nagle-scan against its goals and its peers, and checks what it found.

Commands that are compared run in turn, round after round, on a warm page cache. Writes
docs/benchmark.md. Exit status: 0 done, 1 a wrong result, 2 the benchmark could not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bench import fleet, machine, works
from bench.goals import FULL_PACKETS, HEAD, Row, markdown, table
from bench.measuring import BENCH, MOST_SPREAD, BenchError, build, installed

NAGLE_SCAN = BENCH.parent / ".venv" / "bin" / "nagle-scan"
REPORT = BENCH.parent / "docs" / "benchmark.md"
Part = Callable[[works.Bench], Iterator[Row]]
FLEETS = "<!-- fleets: make bench-fleet -->\n", "<!-- end -->\n"
"""Around the section that has its own run."""
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
    parser.add_argument("--fleet", action="store_true", help="fleets only, into their section")
    parser.add_argument("--report", type=Path, default=REPORT, help="the page to write")
    peers = ["tcptrace", "tshark", "nfpcapd"]
    parser.add_argument("--skip", nargs="+", default=[], choices=peers, metavar="PEER")
    arguments = parser.parse_args()
    if arguments.packets < 1000 or arguments.runs < 1 or arguments.growth < 2:
        parser.error("--packets must be at least 1000, --runs at least 1, --growth at least 2")
    return arguments


def checked(bench: works.Bench) -> str:
    """Whether all that was found is true."""
    wrong = "".join(f"- WRONG: {text}\n" for text in bench.wrong)
    return wrong or "Every scan found exactly the stalls that were generated.\n"


def measure(bench: works.Bench, parts: Iterable[Part]) -> list[Row]:
    """Runs parts, and prints each line as soon as it is known."""
    rows = []
    for part in parts:
        for row in part(bench):
            rows.append(row)
            print("\t".join(row.cells()), flush=True)
    return rows


def fleets(bench: works.Bench) -> str:
    """The section of fleets, with a machine of its own, as it can be run alone."""
    load = machine.load()
    begin, end = FLEETS
    rows = measure(bench, [fleet.fleets])
    quick = f"{QUICK}\n\n" if bench.packets < FULL_PACKETS else ""
    described = [list(pair) for pair in machine.of_fleets(load)]
    return (
        f"{begin}## Fleets\n\n"
        f"Written by `make bench-fleet PACKETS={bench.packets}`. Whole commands, with their start, "
        f"on all CPUs, page written, warm cache; medians of {bench.runs} runs. Where other "
        "work runs, as the load tells, CPU seconds vary less than times.\n\n"
        f"{quick}{table(rows)}\n\n{checked(bench)}\n"
        f"{markdown(['', ''], described)}\n{end}"
    )


def with_fleets(before: str, section: str) -> str:
    """The page with this section in the place of the one that it has."""
    begin, end = FLEETS
    if begin in before:
        head, _, rest = before.partition(begin)
        return f"{head}{section}{rest.partition(end)[2]}"
    head, heading, rest = before.partition("## The machine\n")
    return f"{head}{section}\n{heading}{rest}"


def page(bench: works.Bench, rows: list[Row], load: float, fleets: str) -> str:
    """The whole of docs/benchmark.md."""
    quick = f"{QUICK}\n\n" if bench.packets < FULL_PACKETS else ""
    described = [list(pair) for pair in machine.described(load)]
    return (
        "# Benchmark\n\n"
        f"Written by `make bench PACKETS={bench.packets}`; [bench](../bench/README.md) says how it "
        "measures. Whole processes, JSON written; ratios of medians of "
        f"{bench.runs} alternating runs, warm cache; repeated once where runs of one command lie "
        f"more than {MOST_SPREAD:.0%} apart.\n\n{quick}"
        f"{table(rows)}\n\n{checked(bench)}\n{fleets}\n"
        f"## The machine\n\n{markdown(['', ''], described)}\n"
    )


def benchmark(arguments: argparse.Namespace) -> int:
    """Builds, measures, prints and writes; returns the exit status."""
    if arguments.fleet and not arguments.report.exists():
        raise BenchError(f"{arguments.report} is not there: --fleet writes a section of it")
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
    if arguments.fleet:
        text = with_fleets(arguments.report.read_text(), fleets(bench))
    else:
        rows = measure(bench, works.PARTS)
        text = page(bench, rows, load, fleets(bench))
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
