"""More stalls than anyone reads one by one: without limits a result would be gigabytes of sentences
that say the same, and with the wrong ones it would lack a stall or its proof.

The packets of many are synthetic, of `bench/generate.c`; the few are a real capture.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, generated, written

EXPLAINED = 1 << 17
"""Up to so many stalls, each is explained."""
OF_EACH = 16
"""Of more, so many of each connection."""

STALLING = CAPTURES / "epoll-fd0.pcap"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("many")
    many = generated(folder, "stalls", 60, 5 * (EXPLAINED + 4_000))
    return written(nagle_scan.scan(many), folder)


def stalls(result: dict[str, Any]) -> list[Rows]:
    return [connection["stalls"] for connection in result["connections"]]


def test_every_stall_is_listed_with_its_frames_and_times(result: dict[str, Any]) -> None:
    rows = list(itertools.chain.from_iterable(stalls(result)))
    assert len(rows) == result["summary"]["stalls"] > EXPLAINED
    for row in rows:
        assert row["frame_unacked"] < row["frame_ack"] < row["frame_held"]
        assert row["wait_ms"] >= row["ack_delay_ms"] > 10
        assert row["confidence"] in {"certain", "likely", "possible"}


def test_the_first_stalls_of_each_connection_are_explained(result: dict[str, Any]) -> None:
    for rows in stalls(result):
        for at, row in enumerate(rows):
            if at < OF_EACH:
                assert f"frame {row['frame_held']}" in " ".join(row["evidence"])
            else:
                assert row["evidence"] == []
    unexplained = sum(max(0, len(rows) - OF_EACH) for rows in stalls(result))
    assert result["summary"]["evidence_not_listed"] == unexplained > EXPLAINED // 2
    told = f"{unexplained:,} stalls without sentences of evidence"
    assert any(notice.startswith(told) for notice in result["report"]["notices"])


def test_where_there_are_fewer_all_are_explained(tmp_path: Path) -> None:
    few = written(nagle_scan.scan(STALLING), tmp_path)
    assert max(map(len, stalls(few))) > OF_EACH
    assert all(row["evidence"] for rows in stalls(few) for row in rows)
    assert few["summary"]["evidence_not_listed"] == 0
