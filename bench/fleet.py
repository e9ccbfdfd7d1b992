"""Fleets: what new captures cost, what is kept of them, and what a run costs that finds few."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nagle_scan

from bench.goals import FULL_PACKETS, Row
from bench.measuring import BUILD, Command, generate
from bench.works import Bench

if TYPE_CHECKING:
    import pyarrow as pa

ENOUGH_MB_S = 278
"""Of 1,000 hosts with 1 GB an hour each."""
LARGE, SMALL, KNOWN, NEW = 50, 5_000, 20_000, 10
"""New captures of 20 MB and of 11 kB; small ones that a fleet knows, and new ones beside them."""
SMALL_PACKETS = 75
OUTPUT = BUILD / "fleet"
PCAP_HEAD, RECORD_HEAD = 24, 16


@dataclass(frozen=True)
class Captures:
    """Captures, or a folder of them, and what is in them."""

    paths: list[Path]
    count: int
    stalls: int
    gb: float


def scaled(bench: Bench, full: int) -> int:
    """A number of captures for the size of this benchmark."""
    return max(4, full * min(bench.packets, FULL_PACKETS) // FULL_PACKETS)


def seeded(count: int) -> Captures:
    """Of 20 MB, each with contents of its own: copies would be packed into small tables."""
    every = [generate("rpc", 1000, 130_000, seed=number + 1) for number in range(count)]
    paths = [one.path for one in every]
    size = sum(path.stat().st_size for path in paths)
    return Captures(paths, count, sum(one.stalls for one in every), size / 1e9)


def copies(folder: Path, count: int) -> Captures:
    """Of 11 kB, the same each time a second later."""
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(count):
        size = later(folder, number)
    return Captures(
        [folder], count, count * generate("stalls", 1, SMALL_PACKETS).stalls, count * size / 1e9
    )


def later(folder: Path, second: int) -> int:
    """Writes a capture whose packets came so many seconds later; its bytes."""
    content, at = bytearray(generate("stalls", 1, SMALL_PACKETS).path.read_bytes()), PCAP_HEAD
    while at < len(content):
        time_s, _, length = struct.unpack_from("<III", content, at)
        struct.pack_into("<I", content, at, time_s + second)
        at += RECORD_HEAD + length
    copy = folder / str(second // 1000) / f"{second}.pcap"
    copy.parent.mkdir(parents=True, exist_ok=True)
    return copy.write_bytes(content)


def adding(bench: Bench, captures: Captures, *options: str) -> Command:
    """What is new among them goes into the fleet."""
    words = [bench.nagle_scan, "fleet", *map(str, captures.paths), "-o", str(OUTPUT)]
    return Command("nagle-scan fleet", [*words, "--exit-zero", *options])


def scan(bench: Bench, captures: Captures, *options: str, runs: int) -> Command:
    """All of them into a new fleet, so many times; its stalls are checked."""
    command = adding(bench, captures, *options)
    for _ in range(runs):
        shutil.rmtree(OUTPUT, ignore_errors=True)
        command.samples.append(command.run())
    found = int(nagle_scan.Fleet(OUTPUT).query("SELECT sum(stalls) AS n FROM captures")["n"][0])
    if found != captures.stalls:
        told = f"{found} stalls, {captures.stalls} generated"
        bench.wrong.append(f"fleet of {captures.count:,}: {told}")
    return command


def fleets(bench: Bench) -> Iterator[Row]:
    """All of it, on all CPUs."""
    if not all(map(find_spec, ("deltalake", "fsspec", "pyarrow"))):
        note = "needs nagle-scan[fleet]"
        yield Row("new captures", "MB/s", 2 * ENOUGH_MB_S, ENOUGH_MB_S, None, True, note)
        return
    yield from new(bench)
    yield from known(bench)


def new(bench: Bench) -> Iterator[Row]:
    """Captures of 20 MB and of 11 kB, and the table of the large ones."""
    captures = seeded(scaled(bench, LARGE))
    work, gb = f"{captures.count:,} new captures of 20 MB", captures.gb
    command = scan(bench, captures, runs=bench.runs)
    note = f"{command.median_cpu_s / gb:.1f} CPU s per GB; largest process "
    note += f"{command.peak_mib:.0f} MiB; 1,000 hosts with 1 GB an hour: {ENOUGH_MB_S} MB/s"
    measured = gb * 1e3 / command.median_s
    yield Row(work, "MB/s", 2 * ENOUGH_MB_S, ENOUGH_MB_S, measured, True, note)
    each = f"{captures.stalls / gb:,.0f} stalls per GB"
    yield Row("table of these", "MB per GB", 1, 1.2, table_mb() / gb, note=each)
    scan(bench, captures, "--all", runs=1)
    yield Row("table, with --all", "MB per GB", 35, 50, table_mb() / gb, note=each)
    captures = copies(BUILD / "small", scaled(bench, SMALL))
    work = f"{captures.count:,} new captures of 11 kB"
    command = scan(bench, captures, runs=1)
    each_ms = command.median_cpu_s / captures.count * 1e3
    note = f"one run, with its start; {captures.count / command.median_s:,.0f} captures/s"
    yield Row(work, "CPU ms each", 2, 2.5, each_ms, note=note)
    yield Row("the same, largest process", "MiB", 300, 400, command.peak_mib)


def table_mb() -> float:
    """What the table takes."""
    files = (path for path in OUTPUT.glob("*/**/*") if path.is_file())
    return sum(path.stat().st_size for path in files) / 1e6


def known(bench: Bench) -> Iterator[Row]:
    """What a run costs that finds some new captures, or none, among many known ones."""
    folder = BUILD / "known"
    captures = copies(folder, scaled(bench, KNOWN))
    remember(folder)
    some_new, nothing = adding(bench, captures), adding(bench, captures)
    for number in range(bench.runs):
        for place in range(NEW):
            later(folder, captures.count + NEW * number + place)
        some_new.samples.append(some_new.run())
        nothing.samples.append(nothing.run())
    work = f"{NEW} new captures beside {captures.count:,} known ones"
    yield Row(work, "CPU s", 1.5, 2, some_new.median_cpu_s)
    yield Row("the same, largest process", "MiB", 300, 400, some_new.peak_mib)
    yield Row("nothing new among them", "CPU s", 1, 1.5, nothing.median_cpu_s)


def remember(folder: Path) -> None:
    """Scans one of its captures, and gives all others copies of its rows, in 20 batches."""
    from nagle_scan.fleet import inputs, parquet, scanning
    from nagle_scan.fleet.work import File, Settings, made
    from nagle_scan.fleet.writer import Writer

    shutil.rmtree(OUTPUT, ignore_errors=True)
    first, *others = map(str, sorted(folder.rglob("*.pcap")))
    nagle_scan.scan_fleet(first, OUTPUT, workers=1)
    settings = Settings(nagle_scan.__version__, None, 10.0)
    files = [one for one in inputs.dated([inputs.of_path(first)]) if isinstance(one, File)]
    rows = scanning.scan([made(files, settings)], settings).rows
    table = Writer(str(OUTPUT))
    for begin in range(20):
        parts: dict[parquet.Part, pa.Table] = {}
        for kind, columns in rows.items():
            parts |= parquet.rows(kind, copied(columns, others[begin::20]))
        table.commit(parts)
    table.end()


def copied(columns: Mapping[str, list[Any]], paths: Sequence[str]) -> dict[str, list[Any]]:
    """Rows of one capture, once for each of these files."""
    number = len(columns["set"])
    modified = {path: str(os.stat(path).st_mtime_ns) for path in paths}
    each = [path for path in paths for _ in range(number)]
    own = {"set": each, "path": each, "modified": [modified[path] for path in each]}
    return {name: own.get(name, values * len(paths)) for name, values in columns.items()}
