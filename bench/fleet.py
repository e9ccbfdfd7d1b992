"""Fleets: what new captures cost, what is kept of them, and what a run costs that finds few."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import nagle_scan

from bench.goals import FULL_PACKETS, Row
from bench.measuring import BUILD, Capture, Command, generate
from bench.works import Bench

if TYPE_CHECKING:
    import pyarrow as pa

ENOUGH_MB_S = 278
"""Of 1,000 hosts with 1 GB an hour each."""
LARGE, SMALL, KNOWN = 50, 5_000, 200_000
"""New captures of 20 MB and of 3 kB; small ones that a fleet knows."""
COMMITS = 20
"""Of the known ones, as so many batches or nights."""
FOLDER = 1000
"""Files in one."""
OUTPUT = BUILD / "fleet"
PCAP_HEAD, RECORD_HEAD = 24, 16


@dataclass(frozen=True)
class Captures:
    """A folder of captures, and what is in it."""

    folder: Path
    count: int
    stalls: int
    bytes: int

    @property
    def gb(self) -> float:
        """Of all."""
        return self.bytes / 1e9


def copies(name: str, one: Capture, full: int, bench: Bench) -> Captures:
    """A generated capture, each time a second later; fewer for a small benchmark."""
    folder = BUILD / f"fleet-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    count = max(4, full * min(bench.packets, FULL_PACKETS) // FULL_PACKETS)
    for number in range(count):
        later(one.path, folder, number)
    return Captures(folder, count, count * one.stalls, count * one.path.stat().st_size)


def later(path: Path, folder: Path, second: int) -> None:
    """A copy of a pcap file whose packets came so many seconds later."""
    content, at = bytearray(path.read_bytes()), PCAP_HEAD
    while at < len(content):
        time_s, _, length = struct.unpack_from("<III", content, at)
        struct.pack_into("<I", content, at, time_s + second)
        at += RECORD_HEAD + length
    copy = folder / str(second // FOLDER) / f"{second}.pcap"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(content)


def adding(bench: Bench, captures: Captures, *options: str) -> Command:
    """What is new among them goes into the fleet."""
    words = [bench.nagle_scan, "fleet", str(captures.folder), "-o", str(OUTPUT), *options]
    return Command("nagle-scan fleet", [*words, "--exit-zero"])


def scan(bench: Bench, captures: Captures, *options: str, runs: int) -> Command:
    """All of them into a new fleet, so many times; its stalls are checked."""
    command = adding(bench, captures, *options)
    for _ in range(runs):
        shutil.rmtree(OUTPUT, ignore_errors=True)
        command.samples.append(command.run())
    found = int(nagle_scan.Fleet(OUTPUT).query("SELECT sum(stalls) AS n FROM captures")["n"][0])
    if found != captures.stalls:
        told = f"{found} stalls, {captures.stalls} generated"
        bench.wrong.append(f"{captures.folder.name}: {told}")
    return command


def fleets(bench: Bench) -> Iterator[Row]:
    """All of it, on all CPUs."""
    if not all(map(find_spec, ("deltalake", "fsspec", "pyarrow"))):
        yield Row(
            "new captures",
            "MB/s",
            2 * ENOUGH_MB_S,
            ENOUGH_MB_S,
            None,
            True,
            "needs nagle-scan[fleet]",
        )
        return
    yield from new(bench)
    yield from known(bench)


def new(bench: Bench) -> Iterator[Row]:
    """Captures of 20 MB and of 3 kB, and the tables of the large ones."""
    captures = copies("large", generate("rpc", 1000, 130_000), LARGE, bench)
    work = f"{captures.count:,} new captures of 20 MB"
    command = scan(bench, captures, runs=bench.runs)
    cpu_s = command.median_cpu_s / captures.gb
    note = f"{cpu_s:.1f} CPU s per GB; largest process {command.peak_mib:.0f} MiB"
    yield Row(
        work, "MB/s", 2 * ENOUGH_MB_S, ENOUGH_MB_S, captures.gb * 1e3 / command.median_s, True, note
    )
    each = f"{captures.stalls / captures.gb:,.0f} stalls per GB"
    yield Row("tables of these", "MB per GB", 1, 2, table_mb() / captures.gb, note=each)
    scan(bench, captures, "--all", runs=1)
    yield Row("tables, with --all", "MB per GB", 35, 50, table_mb() / captures.gb, note=each)
    captures = copies("small", generate("stalls", 1, 20), SMALL, bench)
    work = f"{captures.count:,} new captures of 3 kB"
    command = scan(bench, captures, runs=1)
    note = f"one run; {command.median_cpu_s / captures.count * 1e3:.1f} CPU ms each"
    yield Row(work, "captures/s", 500, 100, captures.count / command.median_s, True, note)


def table_mb() -> float:
    """What all tables take."""
    files = (path for path in OUTPUT.glob("*/**/*") if path.is_file())
    return sum(path.stat().st_size for path in files) / 1e6


def remembered(captures: Captures) -> None:
    """Makes a fleet that knows all of them: one is scanned, its rows are copied for the others."""
    from nagle_scan.fleet import writer
    from nagle_scan.fleet.fields import tables

    shutil.rmtree(OUTPUT, ignore_errors=True)
    first, *others = sorted(captures.folder.rglob("*.pcap"))
    fleet = nagle_scan.scan_fleet(str(first), OUTPUT, workers=1)
    rows = {name: fleet.lake.query(f"SELECT * FROM {name}") for name in tables()}
    with writer.writing(str(OUTPUT), fleet.lake.scope) as batches:
        for begin in range(COMMITS):
            part = others[begin::COMMITS]
            batches.commit({name: copied(table, part) for name, table in rows.items()})
        batches.end(None)


def copied(table: pa.Table, paths: Sequence[Path]) -> pa.Table:
    """Its rows, once for each of these files."""
    rows = table.to_pylist()
    made = []
    for path in paths:
        new = dict.fromkeys(("set", "path", "content"), str(path))
        new["modified"] = str(path.stat().st_mtime_ns)
        made += [{name: new.get(name, row[name]) for name in row} for row in rows]
    return table.from_pylist(made, schema=table.schema)


def known(bench: Bench) -> Iterator[Row]:
    """What a run costs that finds one new capture, or none, among many known ones."""
    one = generate("stalls", 1, 20)
    captures = copies("known", one, KNOWN, bench)
    remembered(captures)
    one_new, nothing = adding(bench, captures), adding(bench, captures)
    for number in range(bench.runs):
        later(one.path, captures.folder, captures.count + number)
        one_new.samples.append(one_new.run())
        nothing.samples.append(nothing.run())
    work = f"one new capture beside {captures.count:,} known ones"
    yield Row(work, "CPU s", 3, 5, one_new.median_cpu_s)
    yield Row("the same, largest process", "MiB", 400, 500, one_new.peak_mib)
    yield Row("nothing new among them", "CPU s", 3, 5, nothing.median_cpu_s)
