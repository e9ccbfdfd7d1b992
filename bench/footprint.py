"""The works whose memory is measured, and the tables that Python gets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from bench.goals import Row
from bench.measuring import BENCH, BenchError, Capture, generate
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
    scan = generate("scan", bench.packets)
    peak = peak_bytes(bench, scan)
    note = f"{peak / MIB:.0f} MiB in all; the goal is 1 GB at 10 M ports"
    per_port = (peak - python) / scan.connections
    yield Row(f"SYN scan of {scan.connections:,} ports", "B/port", 100, 200, per_port, note=note)


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


def python_tables(bench: Bench) -> Iterator[Row]:
    """DataFrames, and one connection read again."""
    many = generate("stalls", 10_000, bench.packets // 2)
    rpc = generate("rpc", 10_000, bench.packets)
    words = [sys.executable, str(BENCH / "python_side.py"), str(many.path), str(rpc.path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"python_side.py: {done.stderr.strip().splitlines()[-1]}")
    times = json.loads(done.stdout)
    note = "beyond the scan, pandas imported; the goal is for 1 M findings"
    work = f"{times['findings']:,} findings as a DataFrame"
    yield Row(work, "ms", 20, 40, times["tables_s"] * 1e3, note=note)
    ratio = times["segments_s"] / times["scan_s"]
    size_mb = rpc.path.stat().st_size / 1e6
    note = f"{times['segments_s']:.2f} s; {size_mb:,.0f} MB"
    yield Row("scan.segments(id)", "x one scan", 1.0, 2.0, ratio, note=note)
