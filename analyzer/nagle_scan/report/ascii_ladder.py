"""One stall as an ASCII ladder: two hosts, three arrows, and the wait between them."""

from __future__ import annotations

from collections.abc import Iterator

from nagle_scan import _core
from nagle_scan.report.stall_frames import frames, waits_since
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import peer

WIDTH = 72
TIME_LEN = 12
BETWEEN = WIDTH - TIME_LEN - 4


def ladder(stall: _core.WaitRow) -> list[str]:
    """The lines, none wider than `WIDTH`: sender left, receiver right."""
    return list(_lines(stall))


def _lines(stall: _core.WaitRow) -> Iterator[str]:
    yield f"{stall.sender:<6} (left)   {stall.sender_end}"
    yield f"{peer(stall.sender):<6} (right)  {stall.receiver_end}"
    yield ""
    unacked, ack, held = (frame.after_ms for frame in frames(stall))
    are_held = certainty.IS_HELD[stall.confidence].replace("is", "are")
    yield _right(unacked, f"frame {stall.frame_from}: {stall.len_unacked:,} B, unacknowledged")
    yield _band("")
    yield _band(f":  {stall.wait_ms:.1f} ms: the next {stall.len:,} B {are_held} by Nagle")
    since = waits_since(stall)
    yield _band(f":  (at most, {since})" if since else "")
    yield _left(ack, f"frame {stall.frame_ack}: {causes.ack(stall)}")
    yield _right(held, f"frame {stall.frame_to}: {stall.len:,} B, released")


def _right(time_ms: float, label: str) -> str:
    return _row(time_ms, f"-- {label} ".ljust(BETWEEN - 1, "-") + ">")


def _left(time_ms: float, label: str) -> str:
    return _row(time_ms, "<" + f" {label} --".rjust(BETWEEN - 1, "-"))


def _row(time_ms: float, arrow: str) -> str:
    return f"{time_ms:.3f} ms".rjust(TIME_LEN) + f" |{arrow}|"


def _band(text: str) -> str:
    return " " * TIME_LEN + " |" + (text or ":").ljust(BETWEEN) + "|"
