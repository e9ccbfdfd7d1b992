"""The works whose memory is measured, and the tables that Python gets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from bench.goals import Row
from bench.measuring import BENCH, BenchError, Capture, Command, generate, generator_words
from bench.works import Bench

MIB = 1 << 20


def peak_bytes(bench: Bench, capture: Capture) -> float:
    """Largest resident set of one scan; its stalls are checked."""
    peak_kib = bench.scan(capture).run().peak_kib
    bench.check(capture)
    return peak_kib * 1024.0


def memory(bench: Bench) -> Iterator[Row]:
    """Python's own share is that of a scan of 100 packets."""
    python = peak_bytes(bench, generate("clean", 10, 100))
    many = generate("clean", 10_000, bench.packets)
    few = generate("clean", 10_000, bench.packets // 10)
    engine, engine_of_few = (peak_bytes(bench, capture) - python for capture in (many, few))
    note = (
        f"{engine_of_few / MIB:.1f} MiB at {few.packets:,} packets; Python {python / MIB:.0f} MiB"
    )
    work = f"engine, 10,000 connections, {many.packets:,} packets"
    yield Row(work, "MiB", 16, 32, engine / MIB, note=note)
    yield from per_connection(bench)
    yield from per_finding(bench)
    for mode, work in (("scan", "SYN scan of {:,} ports"), ("half", "{:,} half-open connections")):
        capture = generate(mode, bench.packets)
        peak = peak_bytes(bench, capture)
        note = f"{peak / MIB:.0f} MiB in all; the limit is 1.5 GB of 10 M"
        each = (peak - python) / capture.connections
        yield Row(work.format(capture.connections), "B each", 100, 150, each, note=note)


def slope(bench: Bench, less: Capture, more: Capture, units: int) -> float:
    """Bytes that each further unit takes."""
    return (peak_bytes(bench, more) - peak_bytes(bench, less)) / units


def per_connection(bench: Bench) -> Iterator[Row]:
    """What a live connection takes, from two numbers of them at as many packets."""
    less, more = (
        generate("clean", count, bench.packets) for count in (bench.crowd // 10, bench.crowd)
    )
    measured = slope(bench, less, more, more.connections - less.connections)
    note = f"{less.connections:,} to {more.connections:,} connections"
    yield Row("per live connection", "B", 256, 512, measured, note=note)


def per_finding(bench: Bench) -> Iterator[Row]:
    """What a stall takes, from two numbers of them on as many connections."""
    connections = max(bench.packets // 1000, 1)
    less, more = (
        generate("stalls", connections, packets) for packets in (bench.packets // 4, bench.packets)
    )
    measured = slope(bench, less, more, more.stalls - less.stalls)
    note = f"{less.stalls:,} to {more.stalls:,} stalls"
    yield Row("per finding", "B", 64, 128, measured, note=note)


def interface_memory(bench: Bench) -> Iterator[Row]:
    """Does the memory of `nagle_scan.scan()` grow with packets? Stalls have a row of their own."""
    peaks_mib = []
    for packets in (bench.packets, bench.packets * bench.growth):
        feeder = generator_words("clean", 10_000, packets)
        words = [sys.executable, "-c", "import nagle_scan; nagle_scan.scan('-')"]
        peaks_mib.append(Command("scan()", words, stdin_words=feeder).run().peak_kib / 1024)
    less, more = peaks_mib
    work = f"memory of nagle_scan.scan() at {bench.packets * bench.growth:,} packets"
    note = f"{more:.0f} against {less:.0f} MiB at {bench.packets:,}"
    yield Row(work, "x", 1.1, 1.3, more / less, note=note)


def python_tables(bench: Bench) -> Iterator[Row]:
    """DataFrames, and one connection read again."""
    many = generate("stalls", 10_000, bench.packets // 2)
    rpc = generate("rpc", 10_000, bench.packets)
    words = [sys.executable, str(BENCH / "python_side.py"), str(many.path), str(rpc.path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"python_side.py: {done.stderr.strip().splitlines()[-1]}")
    times = json.loads(done.stdout)
    for table, goal_ms, limit_ms in (("stalls", 60, 120), ("exchanges", 100, 200)):
        rows = times[f"{table}_rows"]
        note = f"pandas imported, beyond the scan; {rows:,} rows, the goal is for 1 M"
        per_million_ms = times[f"{table}_s"] * 1e3 * 1e6 / max(rows, 1)
        yield Row(f"1 M {table} as a DataFrame", "ms", goal_ms, limit_ms, per_million_ms, note=note)
    ratio = times["segments_s"] / times["scan_s"]
    size_mb = rpc.path.stat().st_size / 1e6
    note = f"{times['segments_s']:.2f} s; {size_mb:,.0f} MB"
    yield Row("scan.segments(id)", "x one scan", 1.0, 2.0, ratio, note=note)
