"""Captures that the lab joined midway: how their beginning goes, and which of them are shipped."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import cases
import derive
import disturb
import metamorphic
import pytest
import ship
from truth_files import KINDS

HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)


def frames(numbers: range) -> bytes:
    return b"".join(struct.pack("<4I", number, 0, 0, 0) for number in numbers)


def test_the_first_frames_are_missing(tmp_path: Path) -> None:
    source, target = tmp_path / "client.pcap", tmp_path / "client-joined15.pcap"
    source.write_bytes(HEADER + frames(range(100)))
    derive.make("joined:0.15", source, target)
    assert target.read_bytes() == HEADER + frames(range(15, 100))


def truths(folder: Path, case: str, names: list[str]) -> list[Path]:
    rows: dict[str, list[object]] = {kind: [] for kind in KINDS}
    files = [folder / f"{name}.truth.json" for name in names]
    for file in files:
        file.write_text(json.dumps({"case": case, **rows}))
    return files


def shipped(folder: Path, case: str, names: list[str]) -> list[str]:
    return [f.name.partition(".")[0] for f in ship.chosen(truths(folder, case, names))]


def test_of_a_run_joined_midway_a_late_capture_and_a_cut_one_are_shipped(tmp_path: Path) -> None:
    run = next(c for c in cases.all_cases() if c.id == "joined-split-rtt26")
    late, cut = shipped(tmp_path, run.id, [*run.net.points(), *(e.name for e in run.extras)])
    assert late.endswith("-late")
    assert cut.endswith(("-joined15", "-joined40"))


@pytest.mark.parametrize(("case", "captures"), [("hard-radio-tail-late-reply", 3), ("chained", 1)])
def test_what_jitter_blurs_is_shipped_from_every_point(
    tmp_path: Path, case: str, captures: int
) -> None:
    assert len(shipped(tmp_path, case, ["client", "middle", "server"])) == captures


def test_no_labelled_capture_is_empty() -> None:
    files = metamorphic.labelled_files(metamorphic.LABELLED)
    captures = (file.with_name(json.loads(file.read_text())["capture"]) for file in files)
    assert [c for c in captures if not disturb.read(c).frames] == []


def test_siblings_share_a_port_and_come_one_after_the_other() -> None:
    run = next(c for c in cases.all_cases() if c.id == "siblings-split-rtt2")
    assert run.one_port
    starts = [script.split()[0] for script, _ in run.more]
    assert len(set(starts)) == len(starts) == 59
    assert all(start.startswith("after:") for start in starts)
