"""Clocks that were set during a capture are reported, with the frames; no short wait is listed."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import Run, ScanFrames, said
from conversation import Frame, stalled, write

DAY_NS = 86_400_000_000_000


def jumping(after: int, by_ns: int) -> list[Frame]:
    """A capture with stalls, in which the clock jumps after so many frames."""
    frames = stalled().frames
    for frame in frames[after:]:
        frame.time_ns += by_ns
    return frames


@pytest.mark.parametrize(
    ("by_ns", "noticed"),
    [
        (3 * DAY_NS, "3.0 days forward from frame 5 to 6"),
        (-3 * DAY_NS, "3.0 days back from frame 5 to 6"),
        (20 * 365 * DAY_NS, "20.0 years forward from frame 5 to 6"),
    ],
)
def test_a_jump_of_the_clock_is_told_with_its_frames(
    by_ns: int, noticed: str, scan_frames: ScanFrames
) -> None:
    [(_, warning)] = scan_frames(jumping(5, by_ns)).warnings
    assert noticed in warning
    assert "meaningless" in warning


def test_of_many_jumps_the_first_are_told_and_the_others_counted(scan_frames: ScanFrames) -> None:
    frames = stalled().frames
    for frame in frames[1::2]:
        frame.time_ns += 400 * DAY_NS
    [(_, warning)] = scan_frames(frames).warnings
    assert warning.count("from frame") == 3
    assert f"and {len(frames) - 1 - 3} more" in warning


def test_every_format_tells_it(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "jumping.pcap", jumping(5, 3 * DAY_NS))
    assert all("from frame 5 to 6" in text for text in said(run, path, tmp_path))


def test_files_that_lie_years_apart_are_no_jump_of_a_clock(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "old.pcap", stalled().frames),
        write(tmp_path / "new.pcap", jumping(0, 3 * 365 * DAY_NS)),
    ]
    assert nagle_scan.scan(paths).warnings == []
