"""Texts in pictures: numbers with units and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import count, duration, peer

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.timeline.subject import Subject


def since(milliseconds: float) -> str:
    """An instant, to the microsecond: before or after the wait began."""
    sign = "+" if milliseconds > 0 else "\N{MINUS SIGN}" if milliseconds < 0 else ""
    if not milliseconds:
        return "0 ms"
    if abs(milliseconds) >= 1000:
        return f"{sign}{abs(milliseconds) / 1000:,.3f} s"
    return f"{sign}{abs(milliseconds):.3f} ms"


def headline(subject: Subject, wait: _core.WaitRow | None) -> tuple[str, str]:
    """The headline of a ladder and the sentence below it."""
    stream = f"tcp.stream {subject.row.connection}"
    if wait is None:
        return "No wait on this connection", f"{stream}: its first segments"
    frames = f"frames {wait.frame_from} to {wait.frame_to}"
    if not causes.of(wait.cause).is_stall:
        longest = f"he longest wait: {duration(wait.wait_ms)}, {causes.in_few_words(wait)}"
        # With one direction only, there may be stalls that do not show.
        first = f"No stall; t{longest}" if subject.row.conclusive else f"T{longest}"
        return first, f"{stream}, {frames}, {wait.cause}"
    acks = causes.acks_of(wait.cause, wait.is_measured)
    until = acks.until.format(other=peer(wait.sender))
    held = f"{certainty.HELD[wait.confidence]} {count(wait.len, 'byte')} back"
    first = f"The {wait.sender} {held} for {duration(wait.wait_ms)}"
    first = first.replace(" ms", "\xa0ms")
    return first, f"{until} ({wait.cause}; {stream}, {frames})"


def note(role: str, wait: _core.WaitRow) -> str:
    """The meaning of a numbered arrow."""
    if role == "1":
        return "no ACK yet"
    if role == "2":
        return causes.ack(wait)
    return f"{certainty.WAS_HELD[wait.confidence]}; leaves as the ACK arrives"
