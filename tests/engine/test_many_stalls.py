"""More stalls than anyone reads one by one: without limits a result would be gigabytes that say the
same, and with the wrong ones it would lack the stall that proves it, or the sums.

The packets of many are synthetic, of `bench/generate.c`; the few are a real capture.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, generated, written

LISTED = 10_000
"""So many stalls are listed, and so many other waits."""
BUSY = 60
"""Connections with more stalls than a share of that."""

STALLING = CAPTURES / "epoll-fd0.pcap"
Result = dict[str, Any]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("many"), "stalls", BUSY, 5 * 15_000)


@pytest.fixture(scope="module")
def scan(capture: Path) -> nagle_scan.Scan:
    """The real capture comes last, with few stalls on each connection."""
    return nagle_scan.scan([capture, STALLING])


@pytest.fixture(scope="module")
def result(scan: nagle_scan.Scan, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return written(scan, tmp_path_factory.mktemp("result"))


def frames(connection: Result) -> list[int]:
    return [row["frame_held"] for row in connection["stalls"]]


def test_sums_are_whole_and_say_what_is_not_listed(scan: nagle_scan.Scan, result: Result) -> None:
    summary, connections = result["summary"], result["connections"]
    assert summary["stalls"] == len(scan.stalls) > LISTED + 4_000
    assert summary["stalled_ms"] == pytest.approx(scan.stalls["hold_ms"].sum())
    listed = sum(len(connection["stalls"]) for connection in connections)
    assert LISTED - BUSY < listed <= LISTED
    assert summary["stalls_not_listed"] == len(scan.stalls) - listed
    of_each = scan.connections["stalls"].tolist()
    assert of_each == [len(row["stalls"]) + row.get("stalls_not_listed", 0) for row in connections]
    assert result["report"]["notices"][-1] == (
        f"counted but not listed in the JSON: {summary['stalls_not_listed']:,} stalls, "
        f"{summary['waits_not_listed']:,} other waits; nagle_scan.scan() has all in "
        ".stalls, .waits, and -o stalls.csv all stalls of one capture"
    )


def test_the_clearest_of_each_connection_are_listed_in_order(
    scan: nagle_scan.Scan, result: Result
) -> None:
    for connection in result["connections"][:BUSY]:
        clearest = scan.core.stalls_of(connection["connection"], len(connection["stalls"]))
        assert frames(connection) == sorted(row.frame_to for row in clearest)
        assert connection["stalls_not_listed"] > 0


def test_where_there_are_few_all_are_listed(result: Result, tmp_path: Path) -> None:
    alone = written(nagle_scan.scan(STALLING), tmp_path)
    assert alone["summary"]["stalls_not_listed"] == 0
    for few, among in zip(alone["connections"], result["connections"][BUSY:], strict=True):
        assert len(few["stalls"]) == len(among["stalls"])
        assert "stalls_not_listed" not in among


def test_every_listed_stall_has_its_evidence(result: Result) -> None:
    for connection in result["connections"]:
        for row in connection["stalls"]:
            assert f"frame {row['frame_held']}" in " ".join(row["evidence"])


def test_of_other_waits_the_longest_are_listed(scan: nagle_scan.Scan, result: Result) -> None:
    summary, waits = result["summary"], scan.waits
    rows = [row for connection in result["connections"] for row in connection["waits"]]
    assert LISTED - BUSY < len(rows) <= LISTED < len(waits)
    assert summary["waits_not_listed"] == len(waits) - len(rows)
    listed_ms = sum(row["wait_ms"] for row in rows)
    assert summary["waits_not_listed_ms"] == pytest.approx(waits["wait_ms"].sum() - listed_ms)
    first = result["connections"][0]
    longest = waits[waits["connection"] == 0].nlargest(len(first["waits"]), "wait_ms")
    assert [row["wait_ms"] for row in first["waits"]] == longest.sort_index()["wait_ms"].tolist()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_choice_does_not_depend_on_threads(
    threads: int, capture: Path, result: Result, tmp_path: Path
) -> None:
    other = written(nagle_scan.scan([capture, STALLING], threads=threads), tmp_path)
    assert other["connections"] == result["connections"]


def test_files_of_stalls_have_all(scan: nagle_scan.Scan, tmp_path: Path) -> None:
    rows = list(csv.DictReader(scan.render("csv").splitlines()))
    for name in ("connection", "frame_held", "wait_ms"):
        assert [float(row[name]) for row in rows] == scan.stalls[name].tolist()
    scan.write(tmp_path / "stalls.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "stalls.parquet"), scan.stalls)
