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
        yield from scan.stalls_of(row.id, sys.maxsize)


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


@pytest.mark.parametrize(("lower", "higher"), [(1.0, 10.0), (10.0, 40.0), (1.0, 40.0)])
def test_a_longer_min_wait_only_filters(
    by_min_wait: dict[float, list[_core.Scan]], lower: float, higher: float
) -> None:
    def told(scan: _core.Scan) -> dict[tuple[int, str], tuple[str, str, list[str]]]:
        return {
            (row.frame_to, row.by): (row.cause, row.confidence, row.doubts)
            for row in stalls(scan)
            if row.wait_ms >= higher
        }

    def options(scan: _core.Scan) -> list[tuple[str, str, int, int, int]]:
        rows = scan.nagle(sys.maxsize)
        return sorted((row.side, row.addr, row.on, row.off, row.unknown) for row in rows)

    pairs = zip(LABELLED, by_min_wait[lower], by_min_wait[higher], strict=True)
    for path, more, fewer in pairs:
        assert told(more) == told(fewer), path
        assert options(more) == options(fewer), path


def test_what_is_no_stall_is_not_doubted(by_min_wait: dict[float, list[_core.Scan]]) -> None:
    waits = [row for scan in by_min_wait[10.0] for row in scan.longest_waits(sys.maxsize)]
    assert waits
    assert not any(row.doubts or row.evidence for row in waits)
