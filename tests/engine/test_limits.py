"""More stalls, connections and servers than anyone reads one by one: without limits a result would
be gigabytes that say the same, and with the wrong ones it would lack the stall that proves it, or
the sums.

The packets of many are synthetic: stalls of `bench/generate.c`, and one request and its reply to
each of very many servers: each shard has blocks of them. A real capture with few stalls is among
them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, generated, written
from conversation import START_NS, Conversation, pcap, records

LISTED, SERVERS_LISTED = 10_000, 1 << 16
"""So many stalls are listed, as many other waits and connections; and so many servers."""
BUSY, SERVERS = 60, SERVERS_LISTED + 100
"""Connections with more stalls than a share of that, and servers that are asked once."""
STALLING = CAPTURES / "epoll-fd0.pcap"
Result = dict[str, Any]


def calls(count: int) -> Iterator[tuple[int, bytes]]:
    """A request to each of so many servers, and its reply."""
    made = Conversation(client=("10.9.9.9", 50000), server=("10.1.0.0", 80))
    made.data("client", 20)
    made.answer()
    request, reply = (frame for _, frame in records(made.frames))
    for number in range(count):
        address = number.to_bytes(3)
        time_ns = START_NS + 1_000_000_000 + number * 10_000
        # The last bytes of the server's address.
        yield time_ns, request[:31] + address + request[34:]
        yield time_ns + 5_000, reply[:27] + address + reply[30:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("many")


@pytest.fixture(scope="module")
def scan(folder: Path) -> nagle_scan.Scan:
    called = folder / "servers.pcap"
    called.write_bytes(pcap(calls(SERVERS)))
    return nagle_scan.scan([generated(folder, "stalls", BUSY, 5 * 15_000), called, STALLING])


@pytest.fixture(scope="module")
def result(scan: nagle_scan.Scan, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return written(scan, tmp_path_factory.mktemp("result"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The rows that are listed of the real capture, if it is the only one."""
    return written(nagle_scan.scan(STALLING), tmp_path_factory.mktemp("alone"))


def test_no_stall_is_lost(scan: nagle_scan.Scan, folder: Path, alone: Result) -> None:
    truth = json.loads((folder / "truth.json").read_text())
    assert len(scan.stalls) == truth["stalls"] + alone["summary"]["stalls"]
    assert len(scan.stalls) == scan.connections["stalls"].sum()


@pytest.mark.parametrize("number", [0, 20_000, SERVERS])
def test_each_connection_has_its_own_segments(number: int, scan: nagle_scan.Scan) -> None:
    """They are read again, in one shard, and looked up by the number."""
    segments, row = scan.segments(number), scan.connections.loc[number]
    assert len(segments) == row["client_segments"] + row["server_segments"] > 0
    assert segments["time_ns"].iloc[0] == row["first_ns"]
    exchanges = scan.exchanges[scan.exchanges["connection"] == number]
    assert len(exchanges) == row["exchanges"] > 0
    assert exchanges["frame_end"].isin(segments["frame"]).all()


def test_sums_are_whole_and_say_what_is_not_listed(scan: nagle_scan.Scan, result: Result) -> None:
    summary, connections = result["summary"], result["connections"]
    assert summary["stalls"] == len(scan.stalls) > LISTED + 4_000
    assert summary["stalled_ms"] == pytest.approx(scan.stalls["hold_ms"].sum())
    listed = sum(len(connection["stalls"]) for connection in connections)
    assert LISTED - BUSY < listed <= LISTED
    assert summary["stalls_not_listed"] == len(scan.stalls) - listed
    of_each = scan.connections["stalls"][[row["connection"] for row in connections]].tolist()
    assert of_each == [len(row["stalls"]) + row.get("stalls_not_listed", 0) for row in connections]
    assert summary["connections"] == len(scan.connections) > SERVERS
    assert summary["connections_not_listed"] == len(scan.connections) - LISTED
    assert summary["servers_not_listed"] == len(scan.servers) - SERVERS_LISTED
    assert summary["exchanges"] == scan.connections["exchanges"].sum()
    notice = result["report"]["notices"][-1]
    for name in ("stalls", "waits", "connections", "servers"):
        assert (
            f" {summary[f'{name}_not_listed']:,} {name.replace('waits', 'other waits')}" in notice
        )


def test_connections_with_something_to_tell_are_listed_and_the_first(
    scan: nagle_scan.Scan, result: Result
) -> None:
    with_rows = {*scan.stalls["connection"], *scan.waits["connection"]}
    listed = [connection["connection"] for connection in result["connections"]]
    others = [number for number in scan.connections.index if number not in with_rows]
    assert listed == sorted([*with_rows, *others[: LISTED - len(with_rows)]])
    assert BUSY < len(with_rows) < LISTED


def test_the_clearest_of_each_connection_are_listed_in_order(
    scan: nagle_scan.Scan, result: Result
) -> None:
    busy = [row for row in result["connections"] if "stalls_not_listed" in row]
    assert len(busy) == BUSY
    for connection in busy:
        clearest = scan._result.core.stalls_of(connection["connection"], len(connection["stalls"]))
        frames = [row["frame_held"] for row in connection["stalls"]]
        assert frames == sorted(row.frame_to for row in clearest)


def test_where_there_are_few_all_are_listed(result: Result, alone: Result) -> None:
    assert alone["summary"]["stalls_not_listed"] == 0
    among = [row for row in result["connections"] if row["server"]["addr"].startswith("127.")]
    with_rows = [row for row in alone["connections"] if row["stalls"] or row["waits"]]
    assert [len(row["stalls"]) for row in among] == [len(row["stalls"]) for row in with_rows]


def test_of_other_waits_the_longest_are_listed(scan: nagle_scan.Scan, result: Result) -> None:
    summary, waits = result["summary"], scan.waits
    rows = [row for connection in result["connections"] for row in connection["waits"]]
    assert LISTED - BUSY < len(rows) <= LISTED < len(waits)
    assert summary["waits_not_listed"] == len(waits) - len(rows)
    listed_ms = sum(row["wait_ms"] for row in rows)
    assert summary["waits_not_listed_ms"] == pytest.approx(waits["wait_ms"].sum() - listed_ms)
    first = next(row for row in result["connections"] if len(row["waits"]) > 100)
    own = waits[waits["connection"] == first["connection"]]
    longest = own.nlargest(len(first["waits"]), "wait_ms")
    assert [row["wait_ms"] for row in first["waits"]] == longest.sort_index()["wait_ms"].tolist()


def test_servers_that_lose_most_are_listed_with_all_their_connections(
    scan: nagle_scan.Scan, result: Result
) -> None:
    servers, connections = result["servers"], scan.connections
    assert len(servers) == SERVERS_LISTED
    assert [row["stalls"] > 0 for row in servers[:3]] == [True, True, False]
    for server in servers[:3]:
        own = connections[connections["server_addr"] == server["addr"]]
        own = own[own["exchanges"] > 0]
        assert server["connections"] == len(own)
        for side in ("client", "server"):
            assert server[f"{side}_nagle"] == {
                verdict: (own[f"{side}_nagle"] == verdict).sum()
                for verdict in ("on", "off", "unknown", "switched")
            }


def test_files_of_stalls_have_all(scan: nagle_scan.Scan, tmp_path: Path) -> None:
    rows = list(csv.DictReader(scan.render("csv").splitlines()))
    for name in ("connection", "frame_held", "wait_ms"):
        assert [float(row[name]) for row in rows] == scan.stalls[name].tolist()
    scan.write(tmp_path / "stalls.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "stalls.parquet"), scan.stalls)
