"""The works that more CPUs are to make faster: one large file, and a rotated set."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from bench.goals import Row
from bench.measuring import BUILD, generate, installed, is_newer, spread_of, time_rounds
from bench.works import Bench

FILES = 64
PCAP_HEAD, RECORD_HEAD = 24, 16
MOST_CPUS = 16
"""The goal is stated up to here."""
TWO_CPUS = 1.85


def scaling(bench: Bench) -> Iterator[Row]:
    """All CPUs against one, and whether both find the same."""
    capture = generate("rpc", 10_000, bench.packets)
    yield against_one_cpu(bench, "one large file", [capture.path])
    yield against_one_cpu(bench, f"{FILES} rotated files", rotated(capture.path))


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
    """A pcap file in so many files, as `tcpdump -C` names them."""
    folder = path.with_suffix(".parts")
    if not is_newer(folder, path):
        unfinished = path.with_suffix(".cutting")
        for old in (folder, unfinished):
            shutil.rmtree(old, ignore_errors=True)
        unfinished.mkdir()
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as all_:
            head, at, part_len = all_[:PCAP_HEAD], PCAP_HEAD, -(-len(all_) // FILES)
            for number in range(FILES):
                begin = at
                while at < min((number + 1) * part_len, len(all_)):
                    at += RECORD_HEAD + int.from_bytes(all_[at + 8 : at + 12], "little")
                part = unfinished / f"part.pcap{number or ''}"
                part.write_bytes(head + all_[begin:at])
        unfinished.rename(folder)
    return sorted(folder.iterdir())
