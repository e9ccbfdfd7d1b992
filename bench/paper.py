"""What a large fleet takes, reckoned from what was measured on a small one."""

from __future__ import annotations

from dataclasses import dataclass

from bench.goals import markdown

HOSTS = 1000
GB_AN_HOUR = 1.0
"""Of each host."""
HOUR_S, DAY_H, MONTH_D = 3600, 24, 30


@dataclass(frozen=True)
class Inputs:
    """What was measured on captures of 20 MB, by one worker."""

    gb: float
    captures: int
    worker_cpu_s: float
    coordinator_cpu_s: float  # the scheduler's, too: they are one process there
    table_bytes: float  # from workers to coordinator
    dataset_bytes: float
    worker_peak_bytes: float
    small_coordinator_ms: float  # of each small capture


def page(inputs: Inputs) -> str:
    """The arithmetic, line by line, and which part is at its end first."""
    rate = HOSTS * GB_AN_HOUR  # GB/h
    worker_s = inputs.worker_cpu_s / inputs.gb
    coordinator_s = inputs.coordinator_cpu_s / inputs.gb
    tables_mb = inputs.table_bytes / inputs.gb / 1e6
    dataset_mb = inputs.dataset_bytes / inputs.gb / 1e6
    cores = rate * worker_s / HOUR_S
    busy = rate * coordinator_s / HOUR_S
    workers = max(1, -(-cores // 0.7))
    memory_gb = workers * inputs.worker_peak_bytes / 1e9
    raw_mb_s = rate * 1e3 / HOUR_S
    tables_mb_s = rate * tables_mb / HOUR_S
    day_gb = rate * DAY_H * dataset_mb / 1e3
    small_an_hour = HOUR_S / inputs.small_coordinator_ms * 1e3
    rows = [
        [
            "captures",
            f"{HOSTS:,} hosts x {GB_AN_HOUR:g} GB/h",
            f"{rate:,.0f} GB/h, {raw_mb_s:,.0f} MB/s, {rate * DAY_H / 1e3:,.0f} TB a day",
        ],
        [
            "cores of workers",
            f"{worker_s:.2f} s/GB x {rate:,.0f} GB/h / {HOUR_S:,} s",
            f"{cores:.2f}; {workers:.0f} at 70 % load, "
            f"or {worker_s * GB_AN_HOUR:.1f} s an hour on each host",
        ],
        [
            "memory of workers",
            f"{workers:.0f} x {inputs.worker_peak_bytes / 1e6:.0f} MB",
            f"{memory_gb:.1f} GB, without the page cache",
        ],
        [
            "core of coordinator and scheduler",
            f"{coordinator_s:.2f} s/GB x {rate:,.0f} GB/h / {HOUR_S:,} s",
            f"{busy:.0%} of one",
        ],
        [
            "network, workers where the captures are",
            f"{tables_mb:.1f} MB of tables for each GB",
            f"{tables_mb_s:.1f} MB/s",
        ],
        [
            "network, workers elsewhere",
            "all captures, and the tables",
            f"{raw_mb_s + tables_mb_s:,.0f} MB/s, {(raw_mb_s + tables_mb_s) * 8 / 1e3:.1f} Gbit/s",
        ],
        [
            "disk of the coordinator",
            f"{dataset_mb:.1f} MB of Parquet for each GB",
            f"{day_gb:,.0f} GB a day, {day_gb * MONTH_D / 1e3:,.1f} TB a month",
        ],
        [
            "small captures instead",
            f"{inputs.small_coordinator_ms:.1f} ms of the coordinator each",
            f"about {small_an_hour / 1e6:.1f} million an hour saturate it",
        ],
    ]
    return (
        f"### {HOSTS:,} hosts, {GB_AN_HOUR:g} GB an hour each: on paper\n\n"
        f"Reckoned from the {inputs.captures:,} captures above ({inputs.gb:.1f} GB: in each 20 MB "
        "130,000 packets, 1,000 connections, 1,700 stalls); no such fleet was run. The scheduler "
        "ran in the process of the coordinator.\n\n"
        f"{markdown(['', 'from', 'comes to'], rows)}\n"
    )
