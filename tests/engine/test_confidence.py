"""How sure a stall is follows from what is said against it, and not from what is listed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import CAPTURES
from nagle_scan import _core

LABELLED = sorted((CAPTURES / "labelled").glob("*/*.pcap*"))
FACTS = 3
"""Sentences that support each stall: the unacknowledged segment, its ACK, and the release."""
OPTIONAL_FACTS = ("waits in this direction", "was sent again before its ACK")
"""What is said beside them where it is so: how many waits were alike, and a needless resend."""


def scanned(path: Path, min_wait_ms: float) -> _core.Scan:
    return _core.scan_captures([str(path)], None, min_wait_ms, False, _core.Progress())


@pytest.fixture(scope="module")
def by_min_wait() -> dict[float, list[_core.Scan]]:
    return {ms: [scanned(path, ms) for path in LABELLED] for ms in (1.0, 10.0, 40.0)}


def stalls(scan: _core.Scan) -> Iterator[_core.WaitRow]:
    for row in scan.affected(sys.maxsize):
        yield from scan.stalls_of(row.connection, sys.maxsize)


def test_each_doubt_lowers_the_confidence_and_has_its_sentence(
    by_min_wait: dict[float, list[_core.Scan]],
) -> None:
    rows = [row for scan in by_min_wait[10.0] for row in stalls(scan)]
    assert {row.confidence for row in rows} == {"certain", "likely", "possible"}
    for row in rows:
        where = (row.frame_to, row.evidence)
        assert (row.confidence == "certain") == (not row.doubts), where
        optional = sum(any(words in line for words in OPTIONAL_FACTS) for line in row.evidence)
        assert len(row.evidence) == FACTS + optional + len(row.doubts), where


Told = dict[tuple[int, str], tuple[str, str, list[str]]]


def told(scan: _core.Scan, min_wait_ms: float) -> Told:
    return {
        (row.frame_to, row.sender): (row.cause, row.confidence, row.doubts)
        for row in stalls(scan)
        if row.wait_ms >= min_wait_ms
    }


def options(scan: _core.Scan) -> list[tuple[str, str, int, int, int]]:
    rows, _ = scan.nagle(sys.maxsize)
    return sorted((row.side, row.addr, row.on, row.off, row.unknown) for row in rows)


def test_a_longer_min_wait_only_filters(by_min_wait: dict[float, list[_core.Scan]]) -> None:
    pairs = zip(LABELLED, by_min_wait[10.0], by_min_wait[40.0], strict=True)
    for path, more, fewer in pairs:
        assert told(more, 40.0) == told(fewer, 40.0), path
        assert options(more) == options(fewer), path


def test_listing_shorter_waits_changes_no_longer_ones(
    by_min_wait: dict[float, list[_core.Scan]],
) -> None:
    """Where a wait begins may be seen only with shorter ones, so a few more may be found."""
    pairs = zip(LABELLED, by_min_wait[1.0], by_min_wait[10.0], strict=True)
    for path, more, fewer in pairs:
        seen = told(more, 10.0)
        assert all(seen.get(key) == row for key, row in told(fewer, 10.0).items()), path


def test_what_is_no_stall_is_not_doubted(by_min_wait: dict[float, list[_core.Scan]]) -> None:
    waits = [row for scan in by_min_wait[10.0] for row in scan.longest_waits(sys.maxsize)]
    assert waits
    assert not any(row.doubts or row.evidence for row in waits)
