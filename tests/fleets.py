"""Fleets as tests make them: captures that ship, scanned one after the other into a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.fleet import identity, tables, task, writer
from nagle_scan.fleet.lake import Scope
from nagle_scan.fleet.work import Answer, Capture, Job, Located, Settings

KEY = bytes(range(32))
SETTINGS = Settings(_core.VERSION, None, 10.0)
HIDDEN = SETTINGS._replace(key=KEY)
STALLED = ("java-split.pcap", "epoll-fd0.pcap")
ALL = (*STALLED, "java-split-nodelay.pcap", "epoll-fixed.pcap", "jdk-httpserver.pcap")
_shipped: dict[tuple[object, ...], Answer] = {}
UNDATED = 2
"""Packets of `undated`."""


def captured(path: str | Path) -> Capture:
    """The file as the coordinator knows it."""
    known = identity.of(Located(str(path)))
    assert isinstance(known, Capture)
    return known


def job(*paths: str | Path, replaces: str = "") -> Job:
    """One set of these files."""
    files = tuple(captured(path) for path in paths)
    told = blake2b("".join(file.content for file in files).encode(), digest_size=16).hexdigest()
    return Job(told, files, replaces)


def scanned(job: Job, settings: Settings = SETTINGS) -> _core.Scan:
    """The set as a worker scans it."""
    return _core.scan_captures(
        [file.url for file in job.captures],
        settings.filter,
        settings.min_wait_ms,
        exchanges=False,
        progress=_core.Progress(),
        threads=1,
        hourly=True,
    )


def answered(job: Job, settings: Settings = SETTINGS) -> Answer:
    """What a worker answers."""
    answer = task.scan_set(job, settings).answer
    assert answer is not None
    return answer


def shipped(name: str, settings: Settings = SETTINGS) -> tuple[Job, Answer]:
    """A capture that ships, scanned once for all tests with the same settings."""
    wanted = job(CAPTURES / name)
    told = (name, settings.key, settings.filter, settings.min_wait_ms, settings.everything)
    if settings.labels:
        return wanted, answered(wanted, settings)
    if told not in _shipped:
        _shipped[told] = answered(wanted, settings)
    return wanted, _shipped[told]


def made(
    path: str | Path,
    runs: Iterable[Sequence[str | tuple[Job, Answer]]] = (ALL,),
    settings: Settings = SETTINGS,
) -> str:
    """A fleet folder; each run adds captures that ship, or what it is given."""
    for names in runs:
        with writer.writing(os.fspath(path), Scope.of(settings)) as adding:
            for each in names:
                wanted, answer = shipped(each, settings) if isinstance(each, str) else each
                rows = {name: tables.from_bytes(one) for name, one in answer.tables.items()}
                adding.commit(rows, [wanted.replaces] if wanted.replaces else [])
            adding.end(None)
    return os.fspath(path)


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
