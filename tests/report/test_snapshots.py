"""A change of what any report says is seen in review, and none happens by accident."""

from __future__ import annotations

from pathlib import Path

import pytest
import snapshots
from nagle_scan.report.formats import SUFFIXES

UNREADABLE = {".png", ".svg", ".parquet", "waits.parquet", "exchanges.parquet"}
REPEATED = {".jsonl", ".lua", ".pcapng", "exchanges.csv", "waits.csv"}
"""The first holds what result.json does, the last ones what tables do; the others say what the
evidence says."""


@pytest.fixture(scope="module")
def fresh() -> dict[str, str]:
    return snapshots.fresh()


@pytest.mark.parametrize("name", [*snapshots.FORMATS, "tables.txt"])
def test_a_report_says_what_it_said(name: str, fresh: dict[str, str]) -> None:
    kept = snapshots.whole(snapshots.KEPT / name)
    assert fresh[name].splitlines() == kept.splitlines(), "if this is meant: make snapshots"
    assert fresh[name] == kept, "they differ in line ends"


def test_every_format_that_can_be_read_is_kept() -> None:
    made = {Path(output).suffix for output, _ in snapshots.FORMATS.values()}
    assert made - {".txt"} == set(SUFFIXES) - UNREADABLE - REPEATED


def test_no_machine_is_named(fresh: dict[str, str]) -> None:
    assert not any(str(snapshots.ROOT) in text for text in fresh.values())
