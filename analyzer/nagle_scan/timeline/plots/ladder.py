"""The ladder: two hosts, time downwards, each segment an arrow, the wait a shaded band."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.timeline import arrows as arrows_of
from nagle_scan.timeline import words
from nagle_scan.timeline.arrows import Arrow, Omitted
from nagle_scan.timeline.plan import GAP_PT, Plan, plan
from nagle_scan.timeline.plots.bands import bands
from nagle_scan.timeline.shapes import LINE, MIDDLE, TEXT_PT, Drawing, Path, Shape, Text
from nagle_scan.timeline.shapes import Arrow as DrawnArrow
from nagle_scan.timeline.subject import Subject, of
from nagle_scan.words import colours

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.result import Result

WAIT_PT = 105.0
"""Height of the wait, where the picture may be as high as it needs to be."""
LEAST_WAIT_PT = 40.0
"""Height to which the wait shrinks before the text does."""
LEAST_TEXT_PT = 4.5
"""Text does not shrink below this, even if the ladder is then too high for its axes."""
ROLE_COLOURS = {"1": colours.DARK, "2": colours.ACK, "3": colours.HELD}


class _Shown(NamedTuple):
    """The contents of the ladder."""

    subject: Subject
    wait: _core.WaitRow | None
    arrows: list[Arrow]
    omitted: list[Omitted]

    def plan(self, width_pt: float, size_pt: float, wait_pt: float) -> Plan:
        return plan(*self, width_pt, size_pt, wait_pt)


def drawing(
    scan: Result,
    connection: int | None,
    stall: int = 0,
    *,
    width_pt: float,
    height_pt: float | None = None,
) -> Drawing:
    """A ladder `width_pt` wide, as high as it needs to be but no higher than `height_pt`, if given.

    Raises `KeyError` for an unknown connection, `IndexError` for an unknown stall, `TypeError` for
    anything but a number.
    """
    subject = of(scan, connection)
    wait = subject.stall(stall) or subject.longest_wait
    shown = _Shown(subject, wait, *arrows_of.shown(subject, wait))
    if height_pt is None:
        drawn = shown.plan(width_pt, TEXT_PT, WAIT_PT)
    else:
        drawn = _fitted(shown, width_pt, height_pt)
    said = words.headline(subject, wait)
    return Drawing(width_pt, drawn.height_pt, *said, [*_shapes(drawn, shown)])


def _fitted(shown: _Shown, width_pt: float, height_pt: float) -> Plan:
    """First a lower wait, then smaller text."""
    size_pt = TEXT_PT
    while True:
        least = shown.plan(width_pt, size_pt, LEAST_WAIT_PT)
        if least.height_pt <= height_pt or size_pt <= LEAST_TEXT_PT:
            break
        size_pt -= 0.5
    wait_pt = LEAST_WAIT_PT
    while wait_pt < 2 * WAIT_PT:
        higher = shown.plan(width_pt, size_pt, wait_pt * 1.15)
        if higher.height_pt > height_pt:
            break
        least, wait_pt = higher, wait_pt * 1.15
    return least


def _shapes(drawn: Plan, shown: _Shown) -> Iterator[Shape]:
    yield from drawn.texts
    if not shown.arrows:
        return
    yield from bands(drawn, shown.subject, shown.wait, shown.arrows)
    yield from _hosts(drawn, shown.subject)
    others = shown.subject.stalls_in([arrow.frame for arrow in shown.arrows])
    acks, held = set(others["frame_ack"]), set(others["frame_held"])
    for arrow in shown.arrows:
        yield from _arrow(drawn, arrow, arrow.frame in acks, arrow.frame in held)
    for one in shown.omitted:
        text = f"⋮ {one.count:,} more segments"
        yield _label(drawn, one.sender, drawn.y(one.at_ms), text, False, colours.FAINT)


def _hosts(drawn: Plan, subject: Subject) -> Iterator[Path | Text]:
    """Two lines, broken where idle time was cut, and the capture point between them."""
    top, bottom = drawn.top_pt - drawn.size_pt * 0.6, drawn.bottom_pt
    xs = (drawn.client_pt, drawn.server_pt)
    yield Path([[(x, top), (x, bottom)] for x in xs], stroke=colours.INK, width_pt=1.4)
    middles = [(drawn.y(before) + drawn.y(after)) / 2 for before, after in drawn.scale.cuts]
    breaks = [
        [(x - 5, y + step + 2), (x + 5, y + step - 2)]
        for x in xs
        for y in middles
        for step in (-2, 2)
    ]
    if breaks:
        yield Path(breaks, stroke=colours.INK)
    row = subject.row
    if row.capture_point == "between" and row.client_rtt_ms and row.server_rtt_ms:
        share = row.client_rtt_ms / (row.client_rtt_ms + row.server_rtt_ms)
        x = drawn.client_pt + share * (drawn.server_pt - drawn.client_pt)
        yield Path([[(x, top), (x, bottom)]], "", colours.FAINT, 0.8, (1, 2))
        y, small = bottom + drawn.size_pt * 0.8, drawn.size_pt - 2
        yield Text(x, y, "captured here", small, "middle", colour=colours.FAINT)


def _arrow(drawn: Plan, arrow: Arrow, is_release: bool, is_held: bool) -> Iterator[Shape]:
    """The segment from host to host, and its text at the tail."""
    tail, head = drawn.stroke(arrow)
    colour = colours.HELD if is_held else colours.ACK if is_release else colours.INK
    is_strong = is_held or is_release or bool(arrow.role)
    width = 2.2 if is_held else 1.6 if is_strong else 1.0
    yield DrawnArrow(tail, head, colour, width, () if arrow.length else (4, 2))
    if arrow.role:
        size, disc = drawn.size_pt - 1, ROLE_COLOURS[arrow.role]
        on_disc = "black" if arrow.role == arrows_of.HELD else "white"
        y = tail[1] + MIDDLE * size
        yield Text(tail[0], y, arrow.role, size, "middle", True, on_disc, disc)
    for number, line in enumerate(drawn.labels[arrow.frame]):
        y = tail[1] + number * drawn.size_pt * LINE
        yield _label(drawn, arrow.sender, y, line.text, line.strong, colours.INK)


def _label(drawn: Plan, side: str, y: float, text: str, is_bold: bool, colour: str) -> Text:
    """A line of text on the outer side of a host, its middle at `y`."""
    gap, anchor = (-GAP_PT, "end") if side == "client" else (GAP_PT, "start")
    size = drawn.size_pt
    return Text(drawn.x(side) + gap, y + MIDDLE * size, text, size, anchor, is_bold, colour)
