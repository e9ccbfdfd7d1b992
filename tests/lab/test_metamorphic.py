"""Disturbed captures: what is drawn is always the same, faults are noticed, a sample has no new."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import disturb
import metamorphic
import pytest
import truths
from conftest import CAPTURES
from disturb import DISTURBANCES, MS, US
from metamorphic import LABELLED, Finding, Labelled
from truths import Place

SCRIPT = CAPTURES / "lab" / "metamorphic.py"
HELD: Place = (0, "client", 120)
PAUSED: Place = (0, "client", 999)


@pytest.fixture(scope="module")
def stalled() -> Labelled:
    """A capture in which the client's second piece is held in every request."""
    (truth,) = truths.of_case(LABELLED, "request-split-rtt26")
    return metamorphic.labelled(LABELLED, truth)


@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_disturbance_is_the_same_every_time(name: str, stalled: Labelled) -> None:
    frames = stalled.capture.frames
    first, second = (DISTURBANCES[name](frames, Random(name)) for _ in range(2))
    assert first == second
    assert {f.number for f in first} <= {f.number for f in frames}


def test_frames_are_written_as_they_were_read(tmp_path: Path, stalled: Labelled) -> None:
    path = tmp_path / "again.pcap"
    disturb.write(path, stalled.capture, stalled.capture.frames)
    again = disturb.read(path)
    assert [(f.time_ns, f.data) for f in again.frames] == [
        (f.time_ns, f.data) for f in stalled.capture.frames
    ]


def test_of_the_pure_acks_some_are_lost_and_nothing_else(stalled: Labelled) -> None:
    frames = stalled.capture.frames
    kept = DISTURBANCES["30 % of pure ACKs lost"](frames, Random(1))
    lost = {f.number for f in frames} - {f.number for f in kept}
    assert lost
    assert lost <= {f.number for f in frames if f.is_pure_ack}


def test_no_disturbance_makes_a_coarse_clock_look_fine(stalled: Labelled) -> None:
    """A clock of 10 ms stamps both copies of a frame alike, and does no better for 20 us."""
    frames = stalled.capture.frames
    coarse = [replace(f, time_ns=at * 10 * MS) for at, f in enumerate(frames)]
    for given, later_ns in ((frames, 2 * US), (coarse, 0)):
        both = DISTURBANCES["all frames doubled"](given, Random(1))
        assert len(both) == 2 * len(given)
        gaps = {copy.time_ns - f.time_ns for f in given for copy in both if copy.number == f.number}
        assert gaps == {0, later_ns}
    swapped = DISTURBANCES["swapped within 20 us"]
    assert swapped(coarse, Random(1)) == coarse
    assert swapped(frames, Random(1)) != frames


def test_a_hold_whose_ack_is_missing_is_not_left(stalled: Labelled) -> None:
    frames = stalled.capture.frames
    _, ack, held = stalled.needs[HELD]
    assert HELD in stalled.left(frames)
    for number in (ack, held):
        rest = [f for f in frames if f.number != number]
        assert HELD not in stalled.left(rest)


def faults(stalled: Labelled, now: Finding, was: Finding) -> dict[str, int]:
    counts = metamorphic.count(now, was, {HELD}, stalled)
    return {fault: counts[fault] for fault in metamorphic.FAULTS if counts[fault]}


def test_what_must_not_happen_is_counted_and_what_may_is_not(stalled: Labelled) -> None:
    likely, sure = Finding({HELD: "likely"}), Finding({HELD: "certain"})
    assert faults(stalled, likely, sure) == {}
    assert faults(stalled, Finding(), sure) == {}
    assert faults(stalled, sure, likely) == {"raised": 1}
    assert faults(stalled, Finding(verdict="clean"), sure) == {"clean": 1}
    assert faults(stalled, Finding({PAUSED: "likely"}), sure) == {"false": 1}
    assert faults(stalled, Finding({PAUSED: "certain"}), sure) == {"false": 1, "certain": 1}
    assert faults(stalled, Finding({PAUSED: "likely"}), Finding({PAUSED: "possible"})) == {}
    wrong = Finding(wrong_options={(frozenset({1, 2}), 1)})
    assert faults(stalled, wrong, sure) == {"nodelay": 1}
    assert faults(stalled, wrong, wrong) == {}


def test_a_wrong_answer_about_the_option_is_noticed(stalled: Labelled) -> None:
    lying = replace(stalled, options={socket: {"off"} for socket in stalled.options})
    frames = stalled.capture.frames
    assert not metamorphic.look(stalled, frames).wrong_options
    assert metamorphic.look(lying, frames).wrong_options


def test_more_faults_than_known_are_reported() -> None:
    known = metamorphic.table({"clock of 1 ms": Counter({"captures": 9, "found": 48, "false": 2})})
    assert metamorphic.read_table(known.to_string()).equals(known)
    more = metamorphic.table({"clock of 1 ms": Counter({"found": 40, "false": 3})})
    assert metamorphic.more_faults(more, known) == ["clock of 1 ms: 1 false more than known"]
    assert metamorphic.more_faults(known, known) == []


def test_a_sample_has_no_more_faults_than_all_are_known_to_have() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--sample", "30"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_labelled_capture_is_empty() -> None:
    captures = (truths.capture(LABELLED, truth) for truth in metamorphic.truths_of(LABELLED))
    assert [c for c in captures if not disturb.read(c).frames] == []
