"""The shaded bands of a ladder: the wait it shows, and the other stalls inside the picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nagle_scan.timeline import fit
from nagle_scan.timeline.arrows import Arrow
from nagle_scan.timeline.fit import text_width_pt
from nagle_scan.timeline.plan import Plan
from nagle_scan.timeline.room import Stroke, freest
from nagle_scan.timeline.shapes import LINE, MIDDLE, Path, Point, Text
from nagle_scan.words import causes, colours
from nagle_scan.words.wording import duration, peer

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.timeline.subject import Subject


def bands(
    drawn: Plan, subject: Subject, wait: _core.WaitRow | None, arrows: list[Arrow]
) -> Iterator[Path | Text]:
    """The wait, and other stalls inside the picture."""
    by_frame = {arrow.frame: arrow for arrow in arrows}
    lines = [drawn.stroke(arrow) for arrow in arrows]
    shown: list[tuple[tuple[int, int, int], float, _core.WaitRow | None]] = []
    if wait is not None:
        is_released = causes.of(wait.cause).is_stall and wait.frame_ack in by_frame
        release = wait.frame_ack if is_released else wait.frame_to
        shown.append(((wait.frame_from, release, wait.frame_to), wait.wait_ms, wait))
    for stall in subject.stalls_in(by_frame):
        if wait is None or stall.frame_held != wait.frame_to:
            frames = (stall.frame_unacked, stall.frame_ack, stall.frame_held)
            shown.append((frames, float(stall.wait_ms), None))
    for (begin, release, end), wait_ms, shown_wait in shown:
        if begin in by_frame and release in by_frame and end in by_frame:
            ends = (by_frame[begin], by_frame[release], by_frame[end])
            yield from _band(drawn, lines, ends, wait_ms, shown_wait)


def _band(
    drawn: Plan,
    lines: list[Stroke],
    ends: tuple[Arrow, Arrow, Arrow],
    wait_ms: float,
    wait: _core.WaitRow | None,
) -> Iterator[Path | Text]:
    """A shaded band between two arrows."""
    first, ack, last = ends
    by = first.sender
    other = peer(by)
    corners = [
        (drawn.x(by), drawn.y(first.at(by))),
        (drawn.x(other), drawn.y(first.at(other))),
        (drawn.x(other), drawn.y(ack.at(other))),
        (drawn.x(by), drawn.y(last.at(by))),
    ]
    held = wait is None or causes.of(wait.cause).is_stall
    yield Path([corners], colours.HELD if held else colours.OTHER, opacity=0.16)
    yield from _wait_text(drawn, lines, corners, wait_ms, wait)


def _wait_text(
    drawn: Plan,
    lines: list[Stroke],
    corners: list[Point],
    wait_ms: float,
    wait: _core.WaitRow | None,
) -> Iterator[Text]:
    """The length of the wait, written where no arrow crosses it."""
    size = drawn.size_pt
    big = size + 4 if wait is not None else size
    how_long = duration(wait_ms)
    room_pt = (drawn.server_pt - drawn.client_pt) * 0.76
    below = fit.wrapped(causes.in_few_words(wait), room_pt, size) if wait is not None else []
    widths = [text_width_pt(how_long, big, bold=True), *(text_width_pt(one, size) for one in below)]
    height = (big + len(below) * size) * LINE
    x, y = freest(corners, lines, max(widths), height)
    top = y - height / 2 + big * LINE / 2
    yield Text(x, top + MIDDLE * big, how_long, big, "middle", is_bold=True)
    for number, line in enumerate(below):
        place = top + (big + size) / 2 * LINE + number * size * LINE
        yield Text(x, place + MIDDLE * size, line, size, "middle")
