"""Captures are read again once for all who need it: large ones take seconds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES
from nagle_scan import _core, result, timeline

STALLS, CLEAN = CAPTURES / "epoll-fd0.pcap", CAPTURES / "epoll-fixed.pcap"


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The connections of each reading for segments."""
    seen: list[list[int]] = []
    read = _core.segments

    def counted(*given: Any) -> Any:
        seen.append(given[2])
        return read(*given)

    monkeypatch.setattr(_core, "segments", counted)
    return seen


def test_a_page_reads_the_capture_once_for_all_its_pictures(
    tmp_path: Path, readings: list[list[int]]
) -> None:
    nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").write(tmp_path / "report.html")
    assert len(readings) == 1
    assert len(set(readings[0])) == len(readings[0]) > 1


def test_an_excerpt_that_holds_everything_is_drawn_as_the_whole(
    tmp_path: Path, readings: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").write(tmp_path / "whole.html")
    monkeypatch.setattr(result, "MOST_KEPT", 0)
    nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").write(tmp_path / "excerpt.html")
    assert len(readings) == 2
    assert (tmp_path / "whole.html").read_bytes() == (tmp_path / "excerpt.html").read_bytes()


def test_pictures_of_one_connection_read_it_once(readings: list[list[int]]) -> None:
    scan = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")
    timeline.ladder(scan._result, 2)
    timeline.sequence(scan._result, 2)
    assert readings == [[2]]


def test_frames_of_another_capture_are_not_taken_for_those_of_the_scan(tmp_path: Path) -> None:
    """A rotation begins anew under the same name; a capture that still grows is the same."""
    capture = tmp_path / "a.pcap"
    shutil.copy(STALLS, capture)
    scan = nagle_scan.scan(capture)
    capture.write_bytes(CLEAN.read_bytes()[: STALLS.stat().st_size])
    assert not scan._result.can_be_read_again
    for ask in (lambda: scan.segments(1), lambda: scan.packets([1]), lambda: scan.render("zip")):
        with pytest.raises(nagle_scan.NagleScanError, match="no longer the capture that was scann"):
            ask()
    capture.write_bytes(STALLS.read_bytes() + b"more")
    assert scan.render("zip")
