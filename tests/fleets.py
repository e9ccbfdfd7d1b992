"""Fleets as tests make them: captures that ship, scanned one after the other into a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.fleet import identity, tables, task
from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.work import Answer, Capture, Job, Settings

KEY = bytes(range(32))
SETTINGS = Settings(_core.VERSION, None, 10.0)
HIDDEN = SETTINGS._replace(key=KEY)
STALLED = ("java-split.pcap", "epoll-fd0.pcap")
ALL = (*STALLED, "java-split-nodelay.pcap", "epoll-fixed.pcap", "jdk-httpserver.pcap")
UNDATED = 2
"""Packets of `undated`."""


def captured(path: str | Path) -> Capture:
    """The file as the coordinator knows it."""
    known = identity.of(identity.Located(str(path)))
    assert isinstance(known, Capture)
    return known


def job(*paths: str | Path, replaces: str = "") -> Job:
    """One set of these files."""
    files = tuple(captured(path) for path in paths)
    told = blake2b("".join(file.content for file in files).encode(), digest_size=16).hexdigest()
    return Job(told, str(paths[0]), files, replaces)


def scanned(job: Job, settings: Settings = SETTINGS) -> _core.Scan:
    """The set as a worker scans it."""
    return _core.scan_captures(
        [file.url for file in job.captures],
        settings.filter,
        settings.min_wait_ms,
        exchanges=False,
        progress=_core.Progress(),
        threads=1,
    )


def answered(job: Job, settings: Settings = SETTINGS) -> Answer:
    """What a worker answers."""
    return task.answer(scanned(job, settings), job, settings)


@cache
def shipped(name: str, settings: Settings = SETTINGS) -> tuple[Job, Answer]:
    """A capture that ships, scanned once for all tests."""
    wanted = job(CAPTURES / name)
    return wanted, answered(wanted, settings)


def made(
    path: str | Path,
    runs: Iterable[Sequence[str | tuple[Job, Answer]]] = (ALL,),
    settings: Settings = SETTINGS,
) -> str:
    """A fleet folder; each run adds captures that ship, or what it is given."""
    for names in runs:
        dataset = Dataset(os.fspath(path), settings)
        for each in names:
            dataset.add(*(shipped(each, settings) if isinstance(each, str) else each))
        dataset.close()
    return os.fspath(path)


def seen(name: str, hour: int = 0, server_port: int = 8000, set_id: str = "") -> tuple[Job, Answer]:
    """A capture that ships, as if it ended at this hour and its server were 127.0.0.1 here."""
    wanted, answer = shipped(name)
    wanted = wanted._replace(id=set_id or wanted.id)
    last = datetime(2026, 11, 23, hour, tzinfo=UTC)
    of_connections = {"server_addr": "127.0.0.1", "server_port": server_port, "last": last}
    made = {}
    for table, stream in answer.tables.items():
        rows = tables.from_bytes(stream)
        columns = {"set": wanted.id, **(of_connections if table == "connections" else {})}
        for column, value in columns.items():
            at = rows.schema.get_field_index(column)
            kind = rows.schema.field(column).type
            rows = rows.set_column(at, column, pa.array([value] * len(rows)).cast(kind))
        made[table] = tables.to_bytes({table: rows})[table]
    return wanted, answer._replace(set=wanted.id, tables=made)


def undated(path: Path) -> tuple[Job, Answer]:
    """Text of tcpdump without -tttt, scanned."""
    path.write_text(
        "12:00:00.000000 IP 10.0.0.1.40000 > 10.0.0.2.80: Flags [S], seq 1, win 100, length 0\n"
        "12:00:00.001000 IP 10.0.0.2.80 > 10.0.0.1.40000: Flags [S.], seq 9, ack 2, win 100, "
        "length 0\n"
    )
    wanted = job(path)
    return wanted, answered(wanted)


def everything(path: str | Path) -> list[str]:
    """All files below a folder."""
    return sorted(os.path.relpath(p, path) for p in Path(path).rglob("*") if p.is_file())
