"""Fleets of made-up rows: what a company has after weeks, which no capture that ships holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from nagle_scan.fleet import writer
from nagle_scan.fleet.fields import schema
from nagle_scan.fleet.lake import Scope

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
SCANNED = BEGIN + timedelta(days=60)
PLAIN = Scope(None, 10.0, None)
STALL = {"cause": "nagle_delack", "sender": "server", "confidence": "certain"}


def written(
    path: str | Path, rows: Mapping[str, Sequence[Mapping[str, Any]]], scope: Scope = PLAIN
) -> str:
    """A fleet with these rows in one batch; a set without a row in `captures` gets one."""
    known = {row["set"] for row in rows.get("captures", ())}
    sets = {row["set"] for name in rows for row in rows[name]} - known
    captures = [*rows.get("captures", ()), *map(capture, sorted(sets))]
    tables = {
        name: pa.Table.from_pylist(list(each), schema=schema(name))
        for name, each in {**rows, "captures": captures}.items()
    }
    with writer.writing(os.fspath(path), scope) as adding:
        adding.commit(tables)
        adding.end(None)
    return os.fspath(path)


def capture(set: str, **columns: Any) -> dict[str, Any]:
    """A file that is a capture of its own."""
    return {
        "set": set,
        "file": 0,
        "path": f"/captures/{set}.pcap",
        "host": "",
        "size": 1000,
        "packets": 100,
        "first": BEGIN,
        "last": BEGIN + timedelta(hours=1),
        "complete": True,
        "warnings": "",
        "verdict": "clean",
        "cannot_tell": "",
        "scanned": SCANNED,
        "attempts": 1,
        **columns,
    }


def failure(path: str, error: str, **columns: Any) -> dict[str, Any]:
    """A file that could not be read."""
    return {
        "set": "",
        "path": path,
        "host": "",
        "error": error,
        "attempts": 1,
        "scanned": SCANNED,
    } | columns


def server(service: str, **columns: Any) -> dict[str, Any]:
    addr, _, port = service.rpartition(":")
    return {
        "set": "a" * 32,
        "service": service,
        "owner": "",
        "pod": "",
        "server_addr": addr or "10.0.0.1",
        "server_port": int(port) if port.isdigit() else 80,
        **columns,
    }


def hour(
    number: int | None, service: str, exchanges: int, stalls: int = 0, **columns: Any
) -> list[dict[str, Any]]:
    """Rows of `sums`: stalls of 40 ms; exchanges of 1 ms, and of 41 ms for each stall."""
    at = None if number is None else BEGIN + timedelta(hours=number)
    day = at and at.date()
    own = server(service, hour=at, day=day, **columns)
    latencies = {80: exchanges - stalls, 122: stalls}
    latencies = {bucket: each for bucket, each in latencies.items() if each > 0}
    return [
        {
            **own,
            "exchanges": exchanges,
            "latency_bucket": list(latencies),
            "latency_count": list(latencies.values()),
        },
        *(
            [{**own, **STALL, **columns, "waits": stalls, "wait_ms": 40.0 * stalls}]
            if stalls
            else []
        ),
    ]


def connection(service: str, number: int, lost_ms: float, **columns: Any) -> dict[str, Any]:
    """One with certain stalls."""
    stalls = max(1, round(lost_ms / 40))
    return server(
        service,
        connection=number,
        client_addr="10.0.9.9",
        client_port=40_000 + number,
        stalls=stalls,
        stalled_ms=lost_ms,
        stalls_certain=stalls,
        lost_ms_certain=lost_ms,
        stalls_likely=0,
        lost_ms_likely=0.0,
        stalls_possible=0,
        lost_ms_possible=0.0,
        sentence=f"{service} held part of its replies {stalls} times for ~40.0 ms each.",
        change=f"The socket on {service}: set TCP_NODELAY.",
        fix=f"On {service}: set TCP_NODELAY.",
        day=BEGIN.date(),
        **columns,
    )
