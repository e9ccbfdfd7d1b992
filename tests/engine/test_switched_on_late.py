"""TCP_NODELAY set in the middle of a connection, as SSH does. All packets are synthetic."""

from __future__ import annotations

from pathlib import Path

from conftest import Run
from conversation import Conversation, numbered, write


def logged_in(release_ms: float, waits: int = 1) -> Conversation:
    """Waits before the login that end this long after an ACK, then pieces that do not wait."""
    made = Conversation()
    made.open()
    made.wait(5.0)
    made.data("client", 41)
    made.answer(41)
    for _ in range(waits):
        made.stall()
        made.frames[-2].time_ns += round((release_ms - 0.02) * 1e6)
    for _ in range(10):
        made.data("client", 60)
        made.wait(0.05)
        made.data("client", 40)
        made.answer()
        made.wait(20.0)
    return made


def test_the_report_says_that_the_option_came_late(run: Run, tmp_path: Path) -> None:
    made = logged_in(release_ms=0.02, waits=3)
    done = run(write(tmp_path / "late.pcap", made.frames))
    report = " ".join(done.stdout.decode().split())
    last = numbered(made.holds, made.frames)[-1][2]
    changed = f"frame {last} was still held, frame {len(made.frames) - 1} no longer"
    set_late = "TCP_NODELAY was set on 10.0.0.1's sockets to port 8000 only after the stalls"
    assert f"{set_late}: {changed}" in report
    assert f" changed client 10.0.0.1 to port 8000 1 frame {last} was held" in report
