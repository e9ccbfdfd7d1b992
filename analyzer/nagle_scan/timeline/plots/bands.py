"""The shaded bands of a ladder: the wait it shows, and the other stalls inside the picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nagle_scan.timeline import fit
from nagle_scan.timeline.arrows import Arrow, peer
from nagle_scan.timeline.fit import text_width_pt
from nagle_scan.timeline.plan import Plan
from nagle_scan.timeline.room import Stroke, freest
from nagle_scan.timeline.shapes import LINE, MIDDLE, Path, Point, Text
from nagle_scan.words import colours
from nagle_scan.words.wording import duration

if TYPE_CHECKING:
    from nagle_scan.timeline.subject import Subject
    from nagle_scan.timeline.wait import Wait


def bands(
    drawn: Plan, subject: Subject, wait: Wait | None, arrows: list[Arrow]
) -> Iterator[Path | Text]:
    """The wait, and other stalls inside the picture."""
    by_frame = {arrow.frame: arrow for arrow in arrows}
    lines = [drawn.stroke(arrow) for arrow in arrows]
    if wait is not None:
        ends = [by_frame.get(frame) for frame in (wait.frame_from, wait.frame_to)]
        ack = by_frame.get(wait.frame_ack or -1)
        if ends[0] is not None and ends[1] is not None:
            three = (ends[0], ack or ends[1], ends[1])
            yield from _band(drawn, lines, three, wait.wait_ms, wait)
    seen = subject.stalls_in(by_frame)
    columns = ("frame_unacked", "frame_ack", "frame_held", "wait_ms")
    for unacked, release, held, wait_ms in zip(*(seen[name] for name in columns), strict=True):
        if wait is not None and held == wait.frame_to:
            continue
        first, middle, last = (by_frame.get(int(frame)) for frame in (unacked, release, held))
        if first and middle and last:
            yield from _band(drawn, lines, (first, middle, last), float(wait_ms), None)


def _band(
    drawn: Plan,
    lines: list[Stroke],
    ends: tuple[Arrow, Arrow, Arrow],
    wait_ms: float,
    wait: Wait | None,
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
    held = wait is None or wait.frame_ack is not None
    yield Path([corners], colours.HELD if held else colours.OTHER, opacity=0.16)
    yield from _wait_text(drawn, lines, corners, wait_ms, wait)


def _wait_text(
    drawn: Plan, lines: list[Stroke], corners: list[Point], wait_ms: float, wait: Wait | None
) -> Iterator[Text]:
    """The length of the wait, written where no arrow crosses it."""
    size = drawn.size_pt
    big = size + 4 if wait is not None else size
    how_long = duration(wait_ms)
    room_pt = (drawn.server_pt - drawn.client_pt) * 0.76
    below = fit.wrapped(wait.words, room_pt, size) if wait is not None else []
    widths = [text_width_pt(how_long, big, bold=True), *(text_width_pt(one, size) for one in below)]
    height = (big + len(below) * size) * LINE
    x, y = freest(corners, lines, max(widths), height)
    top = y - height / 2 + big * LINE / 2
    yield Text(x, top + MIDDLE * big, how_long, big, "middle", is_bold=True)
    for number, line in enumerate(below):
        place = top + (big + size) / 2 * LINE + number * size * LINE
        yield Text(x, place + MIDDLE * size, line, size, "middle")
