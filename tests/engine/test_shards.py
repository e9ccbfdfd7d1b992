"""So many connections that each shard has blocks of them: a user would lose stalls, or find them on
the wrong connection or server, if what each of them saw were put together wrongly.

The packets are synthetic, of `bench/generate.c`.
"""

from __future__ import annotations

import json
from pathlib import Path

import nagle_scan
import pytest
from conftest import generated

CONNECTIONS, PACKETS = 20_000, 600_000
"""Two blocks of 1,024 connections for each of 16 shards, the last of them not full."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("shared"), "rpc", CONNECTIONS, PACKETS)


@pytest.fixture(scope="module")
def scan(capture: Path) -> nagle_scan.Scan:
    return nagle_scan.scan(capture)


def test_no_stall_is_lost(scan: nagle_scan.Scan, capture: Path) -> None:
    truth = json.loads((capture.parent / "truth.json").read_text())
    assert len(scan.stalls) == scan.core.summary().stalls == truth["stalls"] > CONNECTIONS / 10
    assert scan.connections.index.tolist() == list(range(CONNECTIONS))
    assert scan.connections["stalls"].sum() == truth["stalls"]


@pytest.mark.parametrize("connection", [0, 1023, 1024, CONNECTIONS - 1])
def test_each_connection_has_its_own_segments(scan: nagle_scan.Scan, connection: int) -> None:
    """The segments are read again, in one shard, and looked up by the number."""
    segments = scan.segments(connection)
    row = scan.connections.loc[connection]
    assert len(segments) == row["client_segments"] + row["server_segments"] > 0
    assert segments["time_ns"].iloc[0] == row["first_ns"]
    exchanges = scan.exchanges[scan.exchanges["connection"] == connection]
    assert len(exchanges) == row["exchanges"] > 0
    assert exchanges["frame_end"].isin(segments["frame"]).all()


def test_a_server_has_the_exchanges_of_all_its_connections(scan: nagle_scan.Scan) -> None:
    (_, server) = next(scan.servers.iterrows())
    exchanges = scan.exchanges
    assert exchanges["frame_end"].is_monotonic_increasing
    assert (len(scan.servers), server["connections"]) == (1, CONNECTIONS)
    assert server["exchanges"] == len(exchanges) == scan.connections["exchanges"].sum()
    assert server["stalled_exchanges"] == (exchanges["stalls"] > 0).sum() > 0
    for share in (50, 95, 99):
        measured = exchanges["latency_ms"].quantile(share / 100, interpolation="lower")
        assert server[f"latency_p{share}_ms"] == pytest.approx(measured, rel=0.01)
