"""Times fleets, and the same work without Dask, in a process of its own; prints JSON.

fleet_side.py RUNS FOLDER VARIANT...

A variant is `scans` (the captures are read, one after the other), `loop` (and what is found goes
into a dataset) or `fleet:N`, `stream:N`, `split:N`: all of it by N workers, which run already;
`split` shares a set of several files among them. The variants take turns, round after round, after
one that is not counted. The processes stay on the CPUs that this one may use.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nagle_scan
import pyarrow.parquet as pq
from nagle_scan import _core
from nagle_scan.fleet import dataset, identity, scan_fleet, task
from nagle_scan.fleet.cluster import connected
from nagle_scan.fleet.identity import Located
from nagle_scan.fleet.work import Capture, Job, Settings
from nagle_scan.result import DEFAULT_MIN_WAIT_MS

SAMPLE_S = 0.05
TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
WHOLE = 1 << 62
"""No set has so many bytes: none is shared among workers."""

Cost = dict[str, float]


class Sampler(threading.Thread):
    """The most memory that each process took beside the page cache, and that a folder took."""

    def __init__(self, pids: dict[str, int], folder: Path) -> None:
        super().__init__(daemon=True)
        self._pids = pids
        self._folder = folder
        self._ended = threading.Event()
        self.peak_bytes: dict[str, int] = defaultdict(int)

    def run(self) -> None:
        """Looks until it is told to end."""
        while not self._ended.wait(SAMPLE_S):
            now = {name: beside_cache(pid) for name, pid in self._pids.items()}
            now["scratch"] = size_of(self._folder)
            for name, size in now.items():
                self.peak_bytes[name] = max(self.peak_bytes[name], size)

    def end(self) -> dict[str, int]:
        """The peaks, in bytes."""
        self._ended.set()
        self.join()
        return self.peak_bytes


def beside_cache(pid: int) -> int:
    """Resident bytes of a process that no file backs."""
    status = Path(f"/proc/{pid}/status").read_text()
    kib = {name: int(rest.split()[0]) for name, rest in lines(status) if name in COUNTED}
    return sum(kib.values()) << 10


COUNTED = ("RssAnon", "RssShmem")


def lines(status: str) -> Iterator[tuple[str, str]]:
    """Name and value of each line."""
    for line in status.splitlines():
        name, _, rest = line.partition(":")
        yield name, rest


def cpu_s(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICKS_S


def size_of(folder: Path) -> int:
    """Bytes of all files in it; some may go meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(path, name)).st_size
    return total


def captures(folder: Path) -> list[str]:
    """All captures in a folder."""
    return sorted(map(str, folder.rglob("*.pcap*")))


def scans(folder: Path, _output: Path) -> Cost:
    """The captures are read, and nothing else."""
    for path in captures(folder):
        nagle_scan.scan(path, threads=1)
    return {}


def loop(folder: Path, output: Path) -> Cost:
    """What a fleet does, in one process: without Dask, and without a message."""
    settings = Settings(_core.VERSION, None, DEFAULT_MIN_WAIT_MS)
    data = dataset.Dataset(str(output), settings)
    table_bytes = 0
    for path in captures(folder):
        capture = identity.of(Located(path))
        if not isinstance(capture, Capture):
            raise SystemExit(f"{path}: {capture.reason}")
        job = Job(capture.content, path, (capture,))
        answer = task.scan_set(job, settings).answer
        if answer is None:
            raise SystemExit(f"{path}: not scanned")
        table_bytes += answer.size
        data.add(job, answer)
    data.close()
    return {"table_bytes": table_bytes}


class Workers:
    """A cluster that runs already, of so many processes."""

    def __init__(self, count: int, opened: contextlib.ExitStack) -> None:
        start = time.perf_counter()
        self.client = opened.enter_context(connected(None, count)).client
        self.client.wait_for_workers(count)
        self.start_s = time.perf_counter() - start

    def fleet(self, folder: Path, output: Path, split_above: int) -> Cost:
        """The captures of a folder into a dataset."""
        pids = {str(address): pid for address, pid in self.client.run(os.getpid).items()}
        before_s = {address: cpu_s(pid) for address, pid in pids.items()}
        own_s = time.process_time()
        scratch = output.with_name("scratch")
        scratch.mkdir()
        sampler = Sampler({**pids, "coordinator": os.getpid()}, scratch)
        sampler.start()
        scan_fleet(
            str(folder),
            str(output),
            client=self.client,
            split_above=split_above,
            scratch=str(scratch),
        )
        peaks = sampler.end()
        return {
            "coordinator_cpu_s": time.process_time() - own_s,
            "worker_cpu_s": sum(cpu_s(pid) - before_s[address] for address, pid in pids.items()),
            "worker_peak_bytes": max(peaks[address] for address in pids),
            "coordinator_peak_bytes": peaks["coordinator"],
            "scratch_bytes": peaks["scratch"],
            "start_s": self.start_s,
        }


Variant = Callable[[Path, Path], Cost]


def variant(name: str, clusters: dict[int, Workers], opened: contextlib.ExitStack) -> Variant:
    """What a name stands for."""
    kind, _, count = name.partition(":")
    if kind in ("scans", "loop"):
        return {"scans": scans, "loop": loop}[kind]
    if int(count) not in clusters:
        clusters[int(count)] = Workers(int(count), opened)
    workers = clusters[int(count)]
    split_above = 0 if kind == "split" else WHOLE
    return lambda folder, output: workers.fleet(folder, output, split_above)


def once(work: Variant, folder: Path) -> dict[str, Any]:
    """One run into a new folder: wall time, costs, and how many stalls are in its dataset."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as home:
        output = Path(home) / "fleet"
        start = time.perf_counter()
        cost = work(folder, output)
        found: dict[str, Any] = {"wall_s": time.perf_counter() - start, **cost}
        if (output / "stalls").exists():
            found["stalls"] = pq.read_table(output / "stalls", columns=["set"]).num_rows
            found["sets"] = pq.read_table(output / "captures", columns=["set"]).num_rows
            found["dataset_bytes"] = size_of(output)
        return found


def main() -> None:
    """Prints, for each variant, what each run cost."""
    runs, folder, names = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    clusters: dict[int, Workers] = {}
    with contextlib.ExitStack() as opened:
        variants = {name: variant(name, clusters, opened) for name in names}
        for number in range(runs + 1):
            for name, work in variants.items():
                cost = once(work, folder)
                if number:
                    found[name].append(cost)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
