"""Exchanges counted by server, hour and latency: what a fleet adds up over captures."""

from __future__ import annotations

import math
from collections import Counter

import nagle_scan
from conftest import CAPTURES
from nagle_scan import _core

CAPTURE = CAPTURES / "jdk-httpserver.pcap"
KEY = bytes(range(32))


def counted(scan: _core.Scan) -> Counter[tuple[str, int, int, int]]:
    columns = scan.columns("hours")
    keys = zip(*(columns[name] for name in ("addr", "port", "hour_ns", "bucket")), strict=True)
    return Counter(dict(zip(keys, columns["exchanges"].tolist(), strict=True)))


def scanned(*, hourly: bool) -> _core.Scan:
    return _core.scan_captures([str(CAPTURE)], None, 10.0, False, _core.Progress(), hourly=hourly)


def test_counts_are_those_of_the_exchanges() -> None:
    rows = nagle_scan.scan(CAPTURE, exchanges=True)
    servers = rows.connections
    expected: Counter[tuple[str, int, int, int]] = Counter()
    for row in rows.exchanges.to_dict("records"):
        server = servers.loc[row["connection"]]
        end_ns = row["begin"].value + round(row["latency_ms"] * 1e6)
        bucket = math.floor(8 * math.log2(max(row["latency_ms"] * 1e3, 1)))
        hour_ns = end_ns - end_ns % 3_600_000_000_000
        expected[server["server_addr"], server["server_port"], hour_ns, bucket] += 1
    scan = scanned(hourly=True)
    assert counted(scan) == expected
    assert len(expected) > 1
    hidden = counted(scan.anonymized(KEY))
    assert sorted(hidden.values()) == sorted(expected.values())
    assert not {key[0] for key in hidden} & {key[0] for key in expected}


def test_nothing_is_counted_unasked() -> None:
    assert not counted(scanned(hourly=False))
    assert counted(scanned(hourly=True))
