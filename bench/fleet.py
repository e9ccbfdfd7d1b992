"""Fleets: many captures, small captures, and one that is shared; against the same without Dask."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.cores import rotated
from bench.goals import FULL_PACKETS, Row
from bench.measuring import BENCH, BUILD, BenchError, generate, generator_words, installed, is_newer
from bench.paper import Inputs
from bench.works import Bench

MANY, MANY_PACKETS = 200, 130_000
"""Captures of 20 MB."""
SMALL, SMALL_PACKETS = 10_000, 100
MIB = 1 << 20


@dataclass(frozen=True)
class Captures:
    """A folder of captures, and the generator's truth about all of them."""

    folder: Path
    count: int
    packets: int
    stalls: int
    bytes: int


class Measured:
    """What the runs of some variants cost: see `fleet_side.py`."""

    def __init__(self, runs: dict[str, list[dict[str, Any]]]) -> None:
        self.runs = runs

    def median(self, variant: str, what: str = "wall_s") -> float:
        """Of a variant's runs."""
        return float(statistics.median(run[what] for run in self.runs[variant]))

    def most(self, what: str) -> float:
        """Of all runs that tell it."""
        return float(max(run[what] for runs in self.runs.values() for run in runs if what in run))


def per_host(count: int, connections: int, packets: int) -> Captures:
    """So many captures with contents of their own, as so many hosts may have them."""
    folder = BUILD / f"fleet-{count}-{connections}-{packets}"
    truth_path = folder.with_suffix(".json")  # written last: with it all are there
    if not is_newer(truth_path, BUILD / "generate"):
        shutil.rmtree(folder, ignore_errors=True)
        truths = [
            capture_of_host(folder / f"host-{seed:05d}", connections, packets, seed)
            for seed in range(1, count + 1)
        ]
        total = {name: sum(truth[name] for truth in truths) for name in ("packets", "stalls")}
        truth_path.write_text(json.dumps(total))
    truth = json.loads(truth_path.read_text())
    size = sum(path.stat().st_size for path in folder.rglob("*.pcap"))
    return Captures(folder, count, truth["packets"], truth["stalls"], size)


def capture_of_host(host: Path, connections: int, packets: int, seed: int) -> dict[str, Any]:
    """Generates one; returns the truth about it."""
    host.mkdir(parents=True)
    words = generator_words("rpc", connections, packets)
    words += ["-o", str(host / "traffic.pcap"), "--seed", str(seed)]
    made = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        raise BenchError(made.stderr.strip())
    truth: dict[str, Any] = json.loads(made.stderr)
    return truth


def measured(bench: Bench, captures: Captures, *variants: str, cpus: int = 0) -> Measured:
    """Runs variants in turn, on all CPUs or so many; their stalls are checked."""
    words = [sys.executable, "-m", "bench.fleet_side", str(bench.runs), str(captures.folder)]
    some = sorted(os.sched_getaffinity(0))[:cpus]
    pinned = ["taskset", "-c", ",".join(map(str, some))] if cpus else []
    done = subprocess.run(
        [*pinned, *words, *variants],
        cwd=BENCH.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"fleet_side.py: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    runs: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    for variant, all_runs in runs.items():
        for stalls in {run["stalls"] for run in all_runs if "stalls" in run} - {captures.stalls}:
            bench.wrong.append(f"{variant}: {stalls} stalls, {captures.stalls} generated")
    return Measured(runs)


def scaled(bench: Bench, full: int) -> int:
    """A number of captures for the size of this benchmark."""
    return max(4, full * min(bench.packets, FULL_PACKETS) // FULL_PACKETS)


def fleets(bench: Bench) -> Iterator[Row]:
    """All of it. What is told of time is told of workers that run already."""
    has_packages = all(map(find_spec, ("distributed", "pyarrow")))
    if not has_packages or not installed("taskset") or len(os.sched_getaffinity(0)) < 2:
        note = "needs two CPUs, taskset and nagle-scan[fleet]"
        yield Row("two workers", "x one worker", 1.7, 1.5, None, True, note)
        return
    captures = per_host(scaled(bench, MANY), 1000, MANY_PACKETS)
    alone = measured(bench, captures, "scans", "loop", "fleet:1", cpus=1)
    both = measured(bench, captures, "fleet:1", "fleet:2")
    yield from many(captures, alone, both)
    few = per_host(scaled(bench, SMALL), 2, SMALL_PACKETS)
    small_ones = measured(bench, few, "loop", "fleet:1", "fleet:2")
    yield small(few, small_ones)
    yield from shared(bench)
    coordinator_s = small_ones.median("fleet:1", "coordinator_cpu_s")
    bench.fleet = Inputs(
        gb=captures.bytes / 1e9,
        captures=captures.count,
        worker_cpu_s=both.median("fleet:1", "worker_cpu_s"),
        coordinator_cpu_s=both.median("fleet:1", "coordinator_cpu_s"),
        table_bytes=alone.median("loop", "table_bytes"),
        dataset_bytes=both.median("fleet:1", "dataset_bytes"),
        worker_peak_bytes=both.most("worker_peak_bytes"),
        small_coordinator_ms=coordinator_s / few.count * 1e3,
    )


def many(captures: Captures, alone: Measured, both: Measured) -> Iterator[Row]:
    """Captures of 20 MB: what Dask costs, what a second worker brings, what a worker takes."""
    work = f"{captures.count:,} captures of {captures.bytes / captures.count / 1e6:.0f} MB"
    loop_s, fleet_s = alone.median("loop"), alone.median("fleet:1")
    note = f"{fleet_s:.2f} against {loop_s:.2f} s; {alone.median('scans'):.2f} s to read them only"
    yield Row(f"{work}, one CPU", "x without Dask", 1.1, 1.3, fleet_s / loop_s, note=note)
    one_s, two_s = both.median("fleet:1"), both.median("fleet:2")
    note = f"{two_s:.2f} against {one_s:.2f} s; to start them takes {both.most('start_s'):.1f} s"
    yield Row(f"{work}, two workers", "x one worker", 1.7, 1.5, one_s / two_s, True, note)
    most = both.most("worker_peak_bytes") / MIB
    note = f"coordinator and scheduler {both.most('coordinator_peak_bytes') / MIB:.0f} MiB"
    yield Row("each worker, beside the page cache", "MiB", 300, 400, most, note=note)


def small(captures: Captures, found: Measured) -> Row:
    """Captures so small that most of the time is that of the fleet."""
    work = f"{captures.count:,} captures of {captures.bytes / captures.count / 1e3:.0f} kB"
    loop_s, one_s, two_s = (found.median(name) for name in ("loop", "fleet:1", "fleet:2"))
    each_ms = (one_s - loop_s) / captures.count * 1e3
    note = f"{one_s:.1f} against {loop_s:.1f} s without Dask; two workers {two_s:.1f} s"
    return Row(f"{work}, one worker", "ms more each", 3, 5, each_ms, note=note)


def shared(bench: Bench) -> Iterator[Row]:
    """One capture of many files, shared among workers, against one worker that reads it through."""
    whole = generate("rpc", 10_000, bench.packets)
    files = rotated(whole.path)
    size = whole.path.stat().st_size
    captures = Captures(files[0].parent, len(files), whole.packets, whole.stalls, size)
    found = measured(bench, captures, "stream:2", "split:2")
    stream_s, split_s = found.median("stream:2"), found.median("split:2")
    work = f"one capture in {captures.count} files, shared by two workers"
    note = f"{split_s:.1f} against {stream_s:.1f} s; {captures.bytes / 1e9:.1f} GB"
    yield Row(work, "x one that reads it all", 2, 4, split_s / stream_s, note=note)
    each = found.median("split:2", "scratch_bytes") / whole.packets
    yield Row("segments of that on disk", "B/packet", 32, 40, each, note="the most at a time")
