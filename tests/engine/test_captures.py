"""The shipped captures: real programs, and what is known to be true of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, COMMAND, Run, program, stalls_in, write_evidence

NAMES = sorted(path.stem for path in CAPTURES.glob("*.pcap"))
KEYS = ("connection", "sender", "rel_seq", "len", "frame_unacked", "frame_ack", "frame_held")
ROUNDING_MS = 0.06
"""Expectations are rounded to 0.1 ms."""


@cache
def reported(name: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Exit status, `-o result.json`, and what is known."""
    done = program(COMMAND, CAPTURES / f"{name}.pcap", "--format", "json")
    assert done.stderr == ""
    known = json.loads((CAPTURES / f"{name}.json").read_text())
    return done.returncode, json.loads(done.stdout), known


def by_place(stalls: Iterable[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(stall[key] for key in KEYS): stall for stall in stalls}


@pytest.mark.parametrize("name", NAMES)
def test_every_stall_is_found_and_nothing_else(name: str) -> None:
    status, result, expected = reported(name)
    found, known = by_place(stalls_in(result)), by_place(expected["stalls"])
    allowed = by_place(expected.get("freed_by_fin", []))
    assert sorted(known.keys() - found.keys()) == [], "missed"
    assert sorted(found.keys() - known.keys() - allowed.keys()) == [], "false"
    for place, stall in known.items():
        assert found[place]["cause"] == stall["cause"]
        assert found[place]["wait_ms"] == pytest.approx(stall["wait_ms"], abs=ROUNDING_MS)
    assert len(result["connections"]) == expected["connections"]
    assert result["summary"]["verdict"] == expected["verdict"]
    assert status == (1 if expected["stalls"] else 0)


NODELAY = {"java-split-nodelay", "jdk-httpserver-nodelay", "epoll-fixed"}
"""Captures of programs that set the option."""


@pytest.mark.parametrize("name", NAMES)
def test_the_nagle_verdict_never_contradicts_the_programs(name: str) -> None:
    _, result, known = reported(name)
    claims = set()
    for connection in result["connections"]:
        for side in ("client", "server"):
            truth = known["nagle"][str(connection["connection"])][side]
            claim = connection[side]["nagle"]
            claims.add(claim)
            assert claim in (truth or "unknown", "unknown"), (connection["connection"], side)
            holds = any(stall["sender"] == side for stall in connection["stalls"])
            assert claim == "on" or not holds, "held segments prove that Nagle is on"
            assert len(connection[side].get("nagle_frames", [])) == (0 if claim == "unknown" else 2)
    assert "off" in claims or name not in NODELAY


KUBECTL = (
    "Defaulting debug container name to debugger-x2k4p.\r\n"
    "If you don't see a command prompt, try pressing enter.\n"
)


@pytest.mark.parametrize("kind", ["pcap", "pcapng", "pipe"])
def test_text_before_a_capture_is_skipped_and_reported(kind: str, run: Run, tmp_path: Path) -> None:
    """`kubectl debug ... -- tcpdump -w - > traffic.pcap`."""
    plain, said = CAPTURES / "java-split.pcap", tmp_path / "said.pcap"
    expected = nagle_scan.scan(plain)
    if kind == "pcapng":
        plain = tmp_path / "plain.pcapng"
        write_evidence(expected, plain, payload=True)
        expected = nagle_scan.scan(plain)
    said.write_bytes(KUBECTL.encode() + plain.read_bytes())
    if kind == "pipe":
        done = run("-", "--format", "json", stdin=said.read_bytes())
        document = json.loads(done.stdout)
        assert document["summary"]["stalls"] == len(expected.stalls)
        warnings = document["captures"][0]["warnings"]
    else:
        found = nagle_scan.scan(said)
        assert found.stalls.equals(expected.stalls)
        assert found.segments(0).equals(expected.segments(0))
        warnings = [text for _, text in found.warnings]
    assert warnings == ["2 lines of text before the capture were skipped"]


def test_binary_before_a_capture_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(b"a\0b\n" + (CAPTURES / "java-split.pcap").read_bytes())
    with pytest.raises(nagle_scan.CaptureError, match="not a capture file"):
        nagle_scan.scan(path)
