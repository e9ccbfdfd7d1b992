"""Captures that are generated, and commands that are run and measured."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("BENCH_BUILD", BENCH / "build"))
"""Programs, captures and results; what runs at the same time needs a folder of its own."""
PROGRAMS = {"generate": [], "pcap_loop": ["-lpcap"]}  # name: libraries


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
class Cost:
    """The cost of one run of a whole process."""

    wall_s: float
    cpu_s: float  # user + system
    peak_bytes: int  # largest resident set
    faults: int  # pages touched for the first time


def build() -> None:
    """Compiles the C programs that are missing or older than their source."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, libraries in PROGRAMS.items():
        source, program = BENCH / f"{name}.c", BUILD / name
        if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
            continue
        words = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", str(source)]
        words += ["-o", str(program), *libraries]
        if subprocess.run(words, check=False).returncode != 0:
            raise BenchError(f"cannot compile {source.name} (needs a C compiler and libpcap-dev)")


def generate(mode: str, connections: int, packets: int | None = None, seed: int = 0) -> Capture:
    """The capture for these arguments, generated unless it is there.

    Modes with a fixed number of packets per connection take no `packets`.
    """
    plan = [mode, *(str(count) for count in (connections, packets) if count is not None)]
    path = BUILD / f"{'-'.join(plan)}{f'-{seed}' if seed else ''}.pcap"
    truth_path = path.with_suffix(".json")  # written last: with it the capture is whole
    if not truth_path.exists() or truth_path.stat().st_mtime < (BUILD / "generate").stat().st_mtime:
        words = [str(BUILD / "generate"), *plan, "-o", str(path)]
        words += ["-s", str(seed)] if seed else []
        made = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True)
        if made.returncode != 0:
            raise BenchError(made.stderr.strip())
        truth_path.write_text(made.stderr)
    truth = json.loads(truth_path.read_text())
    return Capture(path, truth["packets"], truth["connections"], truth["stalls"])


def run(words: Sequence[str]) -> Cost:
    """Runs a command to its end, its output thrown away.

    A peak below that of this process cannot be seen: Linux keeps the parent's across exec.
    """
    start_s = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace").strip()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start_s
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"{words[0]}: exit status {process.returncode}: {said[-200:]}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(wall_s, cpu_s, usage.ru_maxrss * 1024, usage.ru_minflt)


def medians(commands: Sequence[Sequence[str]], runs: int) -> list[Cost]:
    """Runs commands in turn, after a warm-up round, so that what slows one slows all."""
    rounds = [[run(words) for words in commands] for _ in range(runs + 1)][1:]
    return [median(costs) for costs in zip(*rounds, strict=True)]


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each cost by itself."""
    return Cost(
        statistics.median(cost.wall_s for cost in costs),
        statistics.median(cost.cpu_s for cost in costs),
        round(statistics.median(cost.peak_bytes for cost in costs)),
        round(statistics.median(cost.faults for cost in costs)),
    )
