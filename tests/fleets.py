"""Fleets as tests make them: of captures that ship, and of made-up rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.fleet import batch, fields, inputs, mend, parquet, scanning, sets, tidy
from nagle_scan.fleet.batch import Batch
from nagle_scan.fleet.folder import Folder
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.table import Scope, Table
from nagle_scan.fleet.work import File, Scanned, Settings
from nagle_scan.fleet.work import made as set_of
from nagle_scan.words.certainty import CONFIDENCES

KEY = bytes(range(32))
SETTINGS = Settings(_core.VERSION)
HIDDEN = SETTINGS._replace(key=KEY)
SPLIT, EPOLL, FIXED, OTHER = (
    f"{name}.pcap" for name in ("java-split", "epoll-fd0", "epoll-fixed", "jdk-httpserver")
)
ALL = (SPLIT, EPOLL, "java-split-nodelay.pcap", FIXED, OTHER)
PLAIN = Scope(None, 10.0, None)
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
SCANNED = BEGIN + timedelta(days=60)
STALL = {"cause": "nagle_delack", "sender": "server", "confidence": "certain"}


def scanned(*paths: str | Path, settings: Settings = SETTINGS, replaces: str = "") -> Scanned:
    """These files as one set, as a worker answers."""
    names = [str(path) if is_url(str(path)) else str(CAPTURES / path) for path in paths]
    files = inputs.dated(inputs.find(names).files.values())
    assert all(isinstance(one, File) for one in files)
    wanted = set_of([one for one in files if isinstance(one, File)], settings, replaces)
    return scanning.scan([wanted], settings)


def made(
    path: str | Path,
    runs: Iterable[Sequence[str | Scanned]] = (ALL,),
    settings: Settings = SETTINGS,
) -> str:
    """A fleet folder; each run adds captures that ship, or what it is given, one by one."""
    folder, scope = Folder(os.fspath(path)), Scope.of(settings)
    for names in runs:
        folder.check()
        table = mend.mend(folder, print)
        if not names:
            batch.write(folder, scope, {})
        for each in names:
            table = Table(folder)
            held = Batch(folder, settings, sets.Known(table, scope), table.next_batch)
            held.add(scanned(each, settings=settings) if isinstance(each, str) else each)
            held.write()
        tidy.tidy(Table(folder))
    return os.fspath(path)


def opened(path: str | Path) -> Table:
    return Table(Folder(os.fspath(path)))


def written(
    path: str | Path, given: Mapping[str, Sequence[Mapping[str, Any]]], scope: Scope = PLAIN
) -> str:
    """A fleet with these rows in one batch; a set without a row of `captures` gets one."""
    known = {row["set"] for row in given.get("captures", ())}
    others = {row["set"] for kind in given for row in given[kind]} - known
    captures = [*given.get("captures", ()), *map(capture, sorted(others))]
    folder = Folder(os.fspath(path))
    number = Table(folder).next_batch
    made = {
        kind: [rows(kind, each, number)] for kind, each in {**given, "captures": captures}.items()
    }
    batch.write(folder, scope, made)
    return os.fspath(path)


def rows(kind: str, each: Iterable[Mapping[str, Any]], number: int) -> pa.Table:
    """Rows of a kind, as they are written."""
    names = [field.name for field in fields.tables()[kind]]
    every = list(each)
    columns = {name: [_plain(row.get(name)) for row in every] for name in names}
    return parquet.rows(kind, columns, number)


def _plain(value: Any) -> Any:
    """Times in us, and days since the epoch."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1e6)
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def rows_of(path: str | Path, leave_out: Sequence[str] = ("scanned",)) -> dict[str, list[str]]:
    """All rows by kind, in an order of their own."""
    table = opened(path)
    return {
        kind: sorted(
            str({name: value for name, value in row.items() if name not in leave_out})
            for row in table.rows(f"SELECT * FROM {kind}")
        )
        for kind in fields.tables()
        if kind != fields.CHANGES
    }


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
        **columns,
    }


def failure(path: str, error: str, **columns: Any) -> dict[str, Any]:
    """A file that could not be read."""
    common = {"set": path, "path": path, "host": "", "error": error, "attempts": 1}
    return common | {"scanned": SCANNED} | columns


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
    number: int, service: str, exchanges: int, stalls: int = 0, **columns: Any
) -> list[dict[str, Any]]:
    """Rows of `sums`: stalls of 40 ms; exchanges of 1 ms, and of 41 ms for each stall."""
    at = BEGIN + timedelta(hours=number)
    own = server(service, hour=at, day=at.date(), **columns)
    latencies = {80: exchanges - stalls, 122: stalls} if stalls else {80: exchanges}
    counted = {"latency_bucket": [*latencies], "latency_count": [*latencies.values()]}
    held = {**own, **STALL, **columns, "waits": stalls, "wait_ms": 40.0 * stalls}
    return [{**own, "exchanges": exchanges, **counted}, *([held] if stalls else [])]


def connection(service: str, number: int, lost_ms: float, **columns: Any) -> dict[str, Any]:
    """One with certain stalls."""
    stalls = max(1, round(lost_ms / 40))
    none = {f"{name}_{word}": 0 for name in ("stalls", "lost_ms") for word in CONFIDENCES}
    return server(
        service,
        **none | {"stalls_certain": stalls, "lost_ms_certain": lost_ms},
        connection=number,
        client_addr="10.0.9.9",
        client_port=40_000 + number,
        stalls=stalls,
        stalled_ms=lost_ms,
        sentence=f"{service} held data back {stalls} times for ~40.0 ms each.",
        change=f"The socket on {service}: set TCP_NODELAY.",
        fix=f"On {service}: set TCP_NODELAY.",
        day=BEGIN.date(),
        **columns,
    )
