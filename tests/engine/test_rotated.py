"""Rotated sets (`tcpdump -C`, `-G`): many files, one logical capture."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, Run
from conversation import pcap, records, stalled

Record = tuple[int, bytes]
ROUNDS = 250


@cache
def made() -> Sequence[Record]:
    return records(stalled(rounds=ROUNDS).frames)


def zstd(content: bytes) -> bytes:
    """One frame of one stored block: no tool needed (RFC 8878, 3.1.1)."""
    block = struct.pack("<I", len(content) << 3 | 1)[:3]
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) + block + content


PACKINGS: Sequence[tuple[str, Callable[[bytes], bytes]]] = (
    ("", bytes),
    (".gz", gzip.compress),
    (".zst", zstd),
)


def described(run: Run, folder: Path, *paths: Path | str) -> dict[str, Any]:
    """The result of the command on these files, in this order."""
    done = run(*paths, "-o", folder / "result.json")
    assert (done.returncode, done.stderr) == (1, b"")
    content: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return content


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "whole.pcap"
    path.write_bytes(pcap(made()))
    return path


def rotated(folder: Path, parts: Sequence[Sequence[Record]]) -> list[Path]:
    """Files of these records, named as tcpdump does, in the order in which a shell lists them."""
    paths = [folder / f"traffic.pcap{number or ''}" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(pcap(part))
    return sorted(paths)


def test_a_thousand_files_of_one_frame_each(run: Run, tmp_path: Path, whole: Path) -> None:
    """Packed and not, in the order of their names: 1, 10, 100, 1000, 101, ..."""
    paths = []
    for number, record in enumerate(made()):
        suffix, packed = PACKINGS[number % len(PACKINGS)]
        paths.append(tmp_path / f"traffic.pcap{number}{suffix}")
        paths[-1].write_bytes(packed(pcap([record])))
    assert len(paths) > 1000
    assert sorted(paths) != paths
    expected = described(run, tmp_path, whole)
    found = described(run, tmp_path, *sorted(paths))
    assert found["connections"] == expected["connections"]
    assert len(found["connections"][0]["stalls"]) == ROUNDS
    assert [file["path"] for file in found["captures"]] == [str(path) for path in paths]
    assert {file["complete"] for file in found["captures"]} == {True}


def test_python_reads_the_set_as_one_capture(tmp_path: Path, whole: Path) -> None:
    scan = nagle_scan.scan(
        rotated(tmp_path, [made()[start : start + 70] for start in range(0, len(made()), 70)])
    )
    expected = nagle_scan.scan(whole)
    assert len(scan.connections) == 1
    assert scan.stalls.equals(expected.stalls)
    assert scan.exchanges.equals(expected.exchanges)
    assert scan.segments(0).equals(expected.segments(0))


@pytest.mark.parametrize("kept", [-5, 30, 3, 0], ids=["record", "record head", "header", "empty"])
def test_a_last_file_that_was_cut_off_keeps_the_rest(kept: int, run: Run, tmp_path: Path) -> None:
    """A killed tcpdump leaves a part of a file, empty until the first buffer is written."""
    paths = rotated(tmp_path, [made()[:100], made()[100:200], made()[200:203]])
    paths[-1].write_bytes(paths[-1].read_bytes()[:kept])
    found = described(run, tmp_path, *paths)
    captures = {file["path"]: file for file in found["captures"]}
    assert [file["complete"] for file in captures.values()] == [True, True, False]
    assert "cut off" in captures[str(paths[-1])]["warnings"][0]
    assert [connection["connection"] for connection in found["connections"]] == [0]
    assert found["summary"]["tcp_packets"] == (202 if kept < 0 else 200)
    scan = nagle_scan.scan(paths)
    assert nagle_scan.scan(scan.render("pcapng")).summary.packets == scan.summary.packets


@pytest.mark.parametrize("step", ["1ms", "10ms"])
def test_each_file_has_a_clock_of_its_own(step: str, run: Run, whole: Path) -> None:
    """One capture's coarse clock blurs a wait: a finer one makes it no pause."""
    coarse = CAPTURES / "labelled" / "formats-rtt26" / f"client-step{step}.pcap.gz"
    alone, fine = nagle_scan.scan(coarse), nagle_scan.scan(whole)
    together = nagle_scan.scan([coarse, whole])
    assert len(together.stalls) == len(alone.stalls) + len(fine.stalls)
    assert len(alone.stalls) == 30
    notice = (
        b"timestamps of some captures come in steps of 10 ms"
        in run(coarse, whole, "--merge").stdout
    )
    assert notice == (step == "10ms")


def test_frames_out_of_order_at_a_seam_do_not_part_a_connection(run: Run, tmp_path: Path) -> None:
    """Queues and interfaces are written in turn: a file may begin before the last one ended."""
    next_ns, _ = made()[100]
    late = (next_ns + 3_000_000, made()[99][1])
    found = described(run, tmp_path, *rotated(tmp_path, [[*made()[:99], late], made()[100:]]))
    assert len(found["connections"]) == 1
