"""Texts in pictures: numbers with units, titles, and lines that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nagle_scan import causes
from nagle_scan.timeline.style import text_width_pt
from nagle_scan.wording import count, duration

if TYPE_CHECKING:
    from nagle_scan.timeline.subject import Subject
    from nagle_scan.timeline.wait import Wait

HINTED = 0.96
"""Hinting aligns letters to pixels, which makes a line a little longer."""


def wrapped(text: str, width_pt: float, size_pt: float, bold: bool = False) -> list[str]:
    """`text` in lines no wider than `width_pt`; words too long are cut."""
    width_pt *= HINTED
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if not line or text_width_pt(longer, size_pt, bold) <= width_pt:
            line = longer
        else:
            lines.append(line)
            line = word
    return [shortened(one, width_pt, size_pt, bold) for one in [*lines, line] if one]


def shortened(text: str, width_pt: float, size_pt: float, bold: bool = False) -> str:
    """`text` with its middle left out where it is too wide."""
    if text_width_pt(text, size_pt, bold) <= width_pt:
        return text
    keep = len(text) - 1
    while keep > 2:
        keep -= 1
        short = text[: (keep + 1) // 2] + "…" + text[len(text) - keep // 2 :]
        if text_width_pt(short, size_pt, bold) <= width_pt:
            return short
    return "…"


def since(milliseconds: float) -> str:
    """An instant, to the microsecond: before or after the wait began."""
    sign = "+" if milliseconds > 0 else "\N{MINUS SIGN}" if milliseconds < 0 else ""
    if not milliseconds:
        return "0 ms"
    if abs(milliseconds) >= 1000:
        return f"{sign}{abs(milliseconds) / 1000:,.3f} s"
    return f"{sign}{abs(milliseconds):.3f} ms"


def headline(subject: Subject, wait: Wait | None) -> tuple[str, str]:
    """The headline of a ladder and the sentence below it."""
    stream = f"tcp.stream {subject.row.id}"
    if wait is None:
        return "No wait on this connection", f"{stream}: its first segments"
    frames = f"frames {wait.frame_from} to {wait.frame_to}"
    cause = causes.of(wait.cause)
    if not cause.is_stall:
        longest = f"he longest wait: {duration(wait.wait_ms)}, {wait.words}"
        # With one direction only, there may be stalls that do not show.
        first = f"No stall; t{longest}" if subject.row.conclusive else f"T{longest}"
        return first, f"{stream}, {frames}, {wait.cause}"
    other = "client" if wait.by == "server" else "server"
    why = (
        f"until the {other}'s delayed ACK came"
        if cause.ack_was_delayed
        else f"for one round trip, until the {other}'s ACK came"
    )
    held = count(wait.len, "byte")
    first = f"The {wait.by} held {held} back for {duration(wait.wait_ms)}"
    first = first.replace(" ms", "\N{NO-BREAK SPACE}ms")
    return first, f"{why} ({wait.cause}; {stream}, {frames})"


def note(role: str, wait: Wait) -> str:
    """What a numbered arrow means."""
    if role == "1":
        return "no ACK yet"
    if role == "2" and not causes.of(wait.cause).ack_was_delayed:
        return "a round trip later"
    if role == "2":
        return f"{duration(wait.ack_delay_ms)} late"
    return "held; leaves as the ACK arrives"
