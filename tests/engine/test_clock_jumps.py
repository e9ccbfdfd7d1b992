"""Clocks that were set while a capture ran are told, with the frames; no short wait is listed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import nagle_scan
import pytest
from conftest import Run
from conversation import Frame, stalled, write
from nagle_scan import Scan

DAY_NS = 86_400_000_000_000


def jumping(after: int, by_ns: int) -> list[Frame]:
    """A capture with stalls whose clock jumps after so many frames."""
    frames = stalled().frames
    for frame in frames[after:]:
        frame.time_ns += by_ns
    return frames


@pytest.mark.parametrize(
    ("by_ns", "said"),
    [
        (3 * DAY_NS, "3.0 days forward from frame 5 to 6"),
        (-3 * DAY_NS, "3.0 days back from frame 5 to 6"),
        (20 * 365 * DAY_NS, "20.0 years forward from frame 5 to 6"),
    ],
)
def test_a_jump_of_the_clock_is_told_with_its_frames(
    by_ns: int, said: str, scan_frames: Callable[[Sequence[Frame]], Scan]
) -> None:
    [(_, warning)] = scan_frames(jumping(5, by_ns)).warnings
    assert said in warning
    assert "meaningless" in warning


def test_of_many_jumps_the_first_are_told_and_the_others_counted(
    scan_frames: Callable[[Sequence[Frame]], Scan],
) -> None:
    frames = stalled().frames
    for frame in frames[1::2]:
        frame.time_ns += 400 * DAY_NS
    [(_, warning)] = scan_frames(frames).warnings
    assert warning.count("from frame") == 3
    assert f"and {len(frames) - 1 - 3} more" in warning


def test_every_format_tells_it(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "jumping.pcap", jumping(5, 3 * DAY_NS))
    names = ["out.json", "out.html", "out.md"]
    outputs = [word for name in names for word in ("-o", tmp_path / name)]
    done = run(path, "--exit-zero", *outputs)
    texts = [(tmp_path / name).read_text() for name in names]
    assert all(
        "from frame 5 to 6" in " ".join(text.split()) for text in [*texts, done.stdout.decode()]
    )


def test_less_than_a_day_is_no_jump(scan_frames: Callable[[Sequence[Frame]], Scan]) -> None:
    assert scan_frames(jumping(5, DAY_NS // 2)).warnings == []


def test_files_that_lie_years_apart_are_no_jump_of_a_clock(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "old.pcap", stalled().frames),
        write(tmp_path / "new.pcap", jumping(0, 3 * 365 * DAY_NS)),
    ]
    assert nagle_scan.scan(paths).warnings == []


@pytest.mark.parametrize("by_ns", [-DAY_NS * 365 * 50, -2_000_000_000, 50_000_000, 2**62])
@pytest.mark.parametrize("after", [4, 5, 6])
def test_no_listed_wait_is_shorter_than_asked_for(
    by_ns: int, after: int, scan_frames: Callable[[Sequence[Frame]], Scan], tmp_path: Path
) -> None:
    frames = jumping(after, by_ns)
    for frame in frames:
        frame.time_ns = min(max(frame.time_ns, 0), 2**32 * 1_000_000_000 - 1)
    scan = scan_frames(frames)
    scan.write(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    listed = [
        row["wait_ms"] for one in document["connections"] for row in one["stalls"] + one["waits"]
    ]
    assert all(wait_ms >= 10 for wait_ms in listed)
