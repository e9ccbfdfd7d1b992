"""TCP_NODELAY set in the middle of a connection, as SSH does. All packets are synthetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import nagle_scan
from conftest import Run, found
from conversation import Conversation, Frame, numbered, write

Scanned = Callable[[Sequence[Frame]], nagle_scan.Scan]


def logged_in(release_ms: float) -> Conversation:
    """One wait before the login that ends this long after an ACK, then pieces that do not wait."""
    made = Conversation()
    made.open()
    made.wait(5.0)
    made.data("client", 41)
    made.answer(41)
    made.stall()
    made.frames[-2].time_ns += round((release_ms - 0.02) * 1e6)
    for _ in range(10):
        made.data("client", 60)
        made.wait(0.05)
        made.data("client", 40)
        made.answer()
        made.wait(20.0)
    return made


def test_what_was_held_before_the_option_was_set_is_found(scan_frames: Scanned) -> None:
    made = logged_in(release_ms=0.02)
    scan = scan_frames(made.frames)
    assert found(scan) == numbered(made.holds, made.frames)
    assert scan.connections.at[0, "client_nagle"] == "off"


def test_the_report_says_that_the_option_came_late(run: Run, tmp_path: Path) -> None:
    done = run(write(tmp_path / "late.pcap", logged_in(release_ms=0.02).frames))
    report = " ".join(done.stdout.decode().split())
    assert "TCP_NODELAY was set on 10.0.0.1's sockets to port 8000 only after the stalls." in report


def test_one_coincidence_is_none_where_the_option_is_set(scan_frames: Scanned) -> None:
    assert found(scan_frames(logged_in(release_ms=0.45).frames)) == []
