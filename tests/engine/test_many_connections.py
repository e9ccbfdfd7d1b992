"""More connections than anyone reads one by one: a user would drown in those that show nothing, or
miss the one that stalls among them.

The packets that show nothing are synthetic, of `bench/generate.c`; what follows is a real capture.
"""

from __future__ import annotations

from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, generated, written

LISTED = 10_000
"""So many connections are listed."""

QUIET = LISTED + 1_000
STALLING = CAPTURES / "epoll-fd0.pcap"


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> nagle_scan.Scan:
    quiet = generated(tmp_path_factory.mktemp("many"), "clean", QUIET, 8 * QUIET)
    return nagle_scan.scan([quiet, STALLING])


@pytest.fixture(scope="module")
def result(scan: nagle_scan.Scan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return written(scan, tmp_path_factory.mktemp("result"))


def test_connections_with_something_to_tell_are_listed_then_the_first(
    result: dict[str, Any],
) -> None:
    alone = nagle_scan.scan(STALLING)
    told = {*alone.stalls["connection"], *alone.waits["connection"]}
    assert 0 < len(told) < len(alone.connections)
    listed = [connection["connection"] for connection in result["connections"]]
    assert listed == [*range(LISTED - len(told)), *sorted(QUIET + int(row) for row in told)]
    stalls = [stall for connection in result["connections"] for stall in connection["stalls"]]
    assert len(stalls) == result["summary"]["stalls"] == len(alone.stalls)


def test_those_that_are_not_listed_are_counted_and_in_the_totals(
    scan: nagle_scan.Scan, result: dict[str, Any]
) -> None:
    summary, connections = result["summary"], scan.connections
    assert summary["connections"] == len(connections) > QUIET
    assert summary["connections_not_listed"] == len(connections) - len(result["connections"])
    assert result["report"]["notices"][-1] == (
        f"counted but not listed in the JSON: {summary['connections_not_listed']:,} connections; "
        "nagle_scan.scan() has all in .connections"
    )
    for server in result["servers"]:
        own = connections[connections["server_addr"] == server["addr"]]
        own = own[own["exchanges"] > 0]
        assert server["connections"] == len(own)
        for side in ("client", "server"):
            assert server[f"{side}_nagle"] == {
                verdict: (own[f"{side}_nagle"] == verdict).sum()
                for verdict in ("on", "off", "unknown", "switched")
            }
