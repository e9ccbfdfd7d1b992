"""`--stream N`: one connection on the terminal; `--from`, `--to`: a part of the time."""

from __future__ import annotations

import json
import re
import time
from argparse import ArgumentTypeError
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, Run
from conversation import START_NS, stalled, write
from nagle_scan.command.values import seconds

STALLS, CLEAN = CAPTURES / "epoll-fd0.pcap", CAPTURES / "java-single-write.pcap"
MADE = stalled(rounds=6).frames
START = START_NS // 10**9


@pytest.mark.parametrize("number", range(5))
def test_a_connection_is_told_as_in_the_whole_scan(number: int, run: Run) -> None:
    connection = nagle_scan.scan(STALLS).connection(number)
    done = run(STALLS, "--stream", str(number))
    report = " ".join(done.stdout.decode().split())
    assert f"tcp.stream {number}, {connection.client} to {connection.server}" in report
    assert done.returncode == {"stalls": 1, "clean": 0, "inconclusive": 4}[connection.verdict]
    held = set(connection.stalls["frame_held"].astype(str))
    shown = set(re.findall(r"nagle_delack \d+, \d+, (\d+) ", report))
    assert shown <= held
    assert len(shown) == min(20, len(held))
    assert all(" ".join(reason.split()) in report for reason in connection.evidence())
    assert ("more: -o stalls.csv" in report) == (len(held) > 20)
    verdict = {"stalls": "STALLS", "clean": "CLEAN", "inconclusive": "INCONCLUSIVE"}
    assert f" {verdict[connection.verdict]} " in report
    assert ("INCONCLUSIVE No data was sent." in report) == (connection.verdict == "inconclusive")
    line = run(STALLS, "--stream", str(number), "-q").stdout.decode()
    assert line.startswith(repr(connection).partition("8888: ")[2].removesuffix(">"))
    assert line.count("\n") == 1


def test_its_other_waits_are_its_own(run: Run) -> None:
    capture = CAPTURES / "labelled/sleep40-nodelay/middle.pcap.gz"
    waits = nagle_scan.scan(capture).connection(0).waits
    report = run(capture, "--stream", "0").stdout.decode()
    longest = waits.nlargest(20, "wait_ms")
    assert len(longest) > 3
    assert all(f"{row.frame_from}-{row.frame_to}" in report for row in longest.itertuples())


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write(tmp_path / "whole.pcap", MADE)


def stalls_of(text: str) -> list[tuple[object, ...]]:
    rows = [line.split(",") for line in text.splitlines()]
    at = [rows[0].index(name) for name in ("cause", "len", "time_ns", "wait_ms", "confidence")]
    return [tuple(row[place] for place in at) for row in rows[1:]]


@pytest.mark.parametrize(("begin", "end"), [(0, 9), (3, None), (None, 20), (4, 26)])
def test_a_part_of_the_time_is_what_a_cut_file_is(
    begin: int | None, end: int | None, whole: Path, run: Run, tmp_path: Path
) -> None:
    """A cut by editcap: the end is excluded. Frames keep their numbers."""
    cut = write(tmp_path / "cut.pcap", MADE[begin:end])
    bounds = [("--from", begin), ("--to", end)]
    words = [
        word
        for option, at in bounds
        if at is not None
        for word in (option, f"{MADE[at].time_ns / 10**9:.9f}")
    ]
    # The times of MADE have microseconds, which a float holds.
    done = run(whole, *words, "--format", "csv", "--exit-zero")
    assert stalls_of(done.stdout.decode()) == stalls_of(nagle_scan.scan(cut).render("csv"))
    assert done.returncode == 0


def test_the_range_is_told_and_can_be_asked_for_in_python(whole: Path, run: Run) -> None:
    words = ["--from", str(START), "--to", f"{START + 1}.25", "-f", "tcp port 8000"]
    result = json.loads(run(whole, *words, "--format", "json", "--exit-zero").stdout)
    asked = f"time >= {START} and time < {START + 1}.25 and (tcp port 8000)"
    assert result["filter"] == asked
    assert nagle_scan.scan(whole, filter=asked).summary.stalls == result["summary"]["stalls"]
    empty = run(whole, "--to", str(START))
    assert (empty.returncode, b"no TCP packet matches" in empty.stdout.lower()) == (4, False)
    assert b"o TCP packet is within --from and --to" in empty.stdout


def test_a_baseline_is_of_another_time(whole: Path, run: Run) -> None:
    later = f"{MADE[-1].time_ns / 10**9 + 1:.0f}"
    done = run(whole, "--baseline", whole, "--from", later, "--format", "json")
    compared = json.loads(done.stdout)
    assert compared["baseline"]["summary"]["stalls"] > 0 == compared["summary"]["stalls"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1795247365.258445123", "1795247365.258445123"),
        ("2026-11-21 07:49:25.5Z", "1795247365.5"),
        ("2026-11-21T08:49:25.123456789+01:00", "1795247365.123456789"),
        ("2026-11-21 07:49:25", "1795247365"),
    ],
)
def test_times_are_written_as_for_editcap(
    value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert seconds(value) == expected


@pytest.mark.parametrize("value", ["", "x", "12:00", "2026-13-01 00:00:00", "-5", "1.0123456789"])
def test_what_is_no_time_is_refused(value: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected a date and time"):
        seconds(value)
