"""The works that more CPUs are to make faster: one large file, and a rotated set."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.goals import Row
from bench.measuring import BUILD, BenchError, generate, installed, spread_of, time_rounds
from bench.works import Bench

FILES = 64
MOST_CPUS = 16
"""The goal is stated up to here."""
TWO_CPUS = 1.85


def scaling(bench: Bench) -> Iterator[Row]:
    """All CPUs against one, and whether both find the same."""
    capture = generate("rpc", 10_000, bench.packets)
    yield against_one_cpu(bench, "one large file", [capture.path])
    work = f"{FILES} rotated files"
    if not installed("tcpdump"):
        yield Row(f"{work}, all CPUs", "x one CPU", *goals(), None, True, "needs tcpdump")
        return
    yield against_one_cpu(bench, work, rotated(capture.path))


def goals() -> tuple[float, float]:
    """Goal and limit for as many CPUs as there are."""
    cpus = min(len(os.sched_getaffinity(0)), MOST_CPUS)
    return (TWO_CPUS if cpus == 2 else 0.8 * cpus), 0.65 * cpus


def against_one_cpu(bench: Bench, work: str, paths: list[Path]) -> Row:
    """The same command with one CPU and with all."""
    goal, limit = goals()
    work = f"{work}, all CPUs"
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not installed("taskset"):
        note = "needs two CPUs and taskset"
        return Row(work, "x one CPU", goal, limit, None, True, note)
    one, every = (
        bench.scan_all(paths, "taskset", "-c", ",".join(map(str, some)), name=name)
        for name, some in (("one-cpu", cpus[:1]), ("all-cpus", cpus))
    )
    time_rounds([one, every], bench.runs)
    results = [(BUILD / f"{command.name}.json").read_bytes() for command in (one, every)]
    if results[0] != results[1]:
        bench.wrong.append(f"{work}: one CPU and {len(cpus)} do not give the same result")
    note = f"{len(cpus)} CPUs; same result, bit by bit{spread_of([one, every])}"
    return Row(work, "x one CPU", goal, limit, one.median_s / every.median_s, True, note)


def rotated(path: Path) -> list[Path]:
    """A capture in so many files, as `tcpdump -C` rotates them."""
    folder = path.with_suffix(".rotated")
    if not folder.exists():
        unfinished = path.with_suffix(".rotating")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        file_bytes = str(-(-path.stat().st_size // FILES))
        words = ["tcpdump", "-Z", "root", "-r", str(path), "-w", str(unfinished / "part")]
        done = subprocess.run([*words, "-C", file_bytes], check=False, capture_output=True)
        if done.returncode != 0:
            raise BenchError(f"tcpdump: exit status {done.returncode}")
        unfinished.rename(folder)
    return sorted(folder.iterdir())
