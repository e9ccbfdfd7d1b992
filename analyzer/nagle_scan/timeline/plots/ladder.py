"""The ladder: two hosts, time downwards, each segment an arrow, the wait a shaded band."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import FancyArrowPatch

from nagle_scan.timeline import arrows as arrows_of
from nagle_scan.timeline import fit, style, words
from nagle_scan.timeline import wait as waits
from nagle_scan.timeline.arrows import Arrow, Omitted
from nagle_scan.timeline.plan import GAP_PT, LINE, Plan, plan
from nagle_scan.timeline.plots.bands import bands
from nagle_scan.timeline.subject import of
from nagle_scan.words import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nagle_scan.result import Result
    from nagle_scan.timeline.subject import Subject
    from nagle_scan.timeline.wait import Wait

WAIT_PT = 105.0
LEAST_WAIT_PT = 40.0
LEAST_TEXT_PT = 4.5
DEFAULT_WIDTH_IN = 7.2
MARGIN_PT = 6.0
ROLE_COLOURS = {"1": colours.DARK, "2": colours.ACK, "3": colours.HELD}


def ladder(
    scan: Result,
    connection: int | None = None,
    stall: int = 0,
    ax: Axes | None = None,
    width_in: float = DEFAULT_WIDTH_IN,
) -> Axes:
    """Draws the `stall`-th clearest stall (from 0 on) of a connection and its neighbours.

    Without a connection, that of the clearest stall; without a stall, the longest other wait.
    Without `ax`, on a figure of its own, `width_in` wide and as high as needed. Raises `KeyError`
    for an unknown connection, `IndexError` for an unknown stall, `TypeError` for what is no number.
    """
    subject = of(scan, connection)
    wait = waits.stall(subject, stall) or waits.longest_wait(subject)
    arrows, omitted = arrows_of.shown(subject, wait)
    if ax is None:
        width_pt = width_in * fit.POINTS_PER_INCH - 2 * MARGIN_PT
        drawn = plan(subject, wait, arrows, omitted, width_pt, style.TEXT_PT, WAIT_PT)
        ax = _own_axes(drawn)
    else:
        drawn = _fitted(subject, wait, arrows, omitted, *style.size_pt(style.checked(ax)))
    _draw(ax, drawn, subject, wait, arrows, omitted)
    return ax


def _own_axes(drawn: Plan) -> Axes:
    """A figure just large enough."""
    width_pt, height_pt = drawn.width_pt + 2 * MARGIN_PT, drawn.height_pt + 2 * MARGIN_PT
    x, y = MARGIN_PT / width_pt, MARGIN_PT / height_pt
    figure = style.figure(width_pt / fit.POINTS_PER_INCH, height_pt / fit.POINTS_PER_INCH)
    return figure.add_axes((x, y, 1 - 2 * x, 1 - 2 * y), axes_class=style.PictureAxes)


def _fitted(
    subject: Subject,
    wait: Wait | None,
    arrows: list[Arrow],
    omitted: list[Omitted],
    width_pt: float,
    height_pt: float,
) -> Plan:
    """Fits a ladder into given axes: first a lower wait, then smaller text."""
    size_pt = style.TEXT_PT
    while True:
        least = plan(subject, wait, arrows, omitted, width_pt, size_pt, LEAST_WAIT_PT)
        if least.height_pt <= height_pt or size_pt <= LEAST_TEXT_PT:
            break
        size_pt -= 0.5
    wait_pt = LEAST_WAIT_PT
    while wait_pt < 2 * WAIT_PT:
        higher = plan(subject, wait, arrows, omitted, width_pt, size_pt, wait_pt * 1.15)
        if higher.height_pt > height_pt:
            break
        least, wait_pt = higher, wait_pt * 1.15
    return least


def _draw(
    ax: Axes,
    drawn: Plan,
    subject: Subject,
    wait: Wait | None,
    arrows: list[Arrow],
    omitted: list[Omitted],
) -> None:
    ax.set_xlim(0, drawn.width_pt)
    ax.set_ylim(max(drawn.height_pt, style.size_pt(ax)[1]), 0)
    ax.set_axis_off()
    ax.set_label("\n".join(words.headline(subject, wait)))
    _texts(ax, drawn)
    if not arrows:
        return
    bands(ax, drawn, subject, wait, arrows)
    _hosts(ax, drawn, subject)
    others = subject.stalls_in([arrow.frame for arrow in arrows])
    acks, held = set(others["frame_ack"]), set(others["frame_held"])
    for arrow in arrows:
        _arrow(ax, drawn, arrow, arrow.frame in acks, arrow.frame in held)
    for one in omitted:
        text = f"⋮ {one.count:,} more segments"
        _label_text(ax, drawn, one.sender, drawn.y(one.at_ms), text, False, colours.FAINT)


def _texts(ax: Axes, drawn: Plan) -> None:
    """Headline, sentence, names of the hosts, foot."""
    size = drawn.size_pt
    y = 0.0
    for text in drawn.headline:
        y += (size + 2) * LINE
        style.text(ax, 0, y, text, size + 2, weight="bold")
    for text in drawn.sentence:
        y += size * LINE
        style.text(ax, 0, y, text, size)
    for x, top, align, lines in drawn.heads.values():
        for number, text in enumerate(lines, 1):
            weight = "bold" if number == 1 else "normal"
            style.text(ax, x, top + number * size * LINE, text, size, ha=align, weight=weight)
    for number, text in enumerate(drawn.foot, 1):
        y = drawn.bottom_pt + (number + 0.4) * size * LINE
        style.text(ax, 0, y, text, size - 1, color=colours.FAINT)


def _hosts(ax: Axes, drawn: Plan, subject: Subject) -> None:
    """Two lines, broken where idle time was cut, and the capture point between them."""
    top, bottom = drawn.top_pt - drawn.size_pt * 0.6, drawn.bottom_pt
    for x in (drawn.client_pt, drawn.server_pt):
        ax.plot([x, x], [top, bottom], color=colours.INK, linewidth=1.4, zorder=2)
        for before, after in drawn.scale.cuts:
            y = (drawn.y(before) + drawn.y(after)) / 2
            for step in (-2, 2):
                ends = [y + step + 2, y + step - 2]
                ax.plot([x - 5, x + 5], ends, color=colours.INK, linewidth=1, zorder=3)
    row = subject.row
    if row.capture_point == "between" and row.client_rtt_ms and row.server_rtt_ms:
        share = row.client_rtt_ms / (row.client_rtt_ms + row.server_rtt_ms)
        x = drawn.client_pt + share * (drawn.server_pt - drawn.client_pt)
        ax.plot([x, x], [top, bottom], color=colours.FAINT, linewidth=0.8, linestyle=":", zorder=1)
        y = bottom + drawn.size_pt * 0.8
        style.text(ax, x, y, "captured here", drawn.size_pt - 2, ha="center", color=colours.FAINT)


def _arrow(ax: Axes, drawn: Plan, arrow: Arrow, is_release: bool, is_held: bool) -> None:
    """The segment from host to host, and its text at the tail."""
    (tail, y), head = drawn.stroke(arrow)
    colour = colours.HELD if is_held else colours.ACK if is_release else colours.INK
    strong = is_held or is_release or bool(arrow.role)
    ax.add_artist(
        FancyArrowPatch(
            (tail, y),
            head,
            arrowstyle="-|>",
            mutation_scale=9,
            color=colour,
            linewidth=2.2 if is_held else 1.6 if strong else 1.0,
            linestyle="-" if arrow.length else (0, (4, 2)),
            shrinkA=0,
            shrinkB=1,
            zorder=3,
        )
    )
    if arrow.role:
        _number(ax, tail, y, arrow.role, drawn.size_pt)
    for number, line in enumerate(drawn.labels[arrow.frame]):
        place = y + number * drawn.size_pt * LINE
        _label_text(ax, drawn, arrow.sender, place, line.text, line.strong, colours.INK)


def _number(ax: Axes, x: float, y: float, role: str, size: float) -> None:
    ax.text(
        x,
        y,
        role,
        fontsize=size - 1,
        fontweight="bold",
        color="black" if role == arrows_of.HELD else "white",
        ha="center",
        va="center",
        bbox={"boxstyle": "circle,pad=0.18", "color": ROLE_COLOURS[role], "linewidth": 0},
        zorder=5,
    )


def _label_text(
    ax: Axes, drawn: Plan, side: str, y: float, text: str, strong: bool, colour: str
) -> None:
    """A line of text on the outer side of a host."""
    left = side == "client"
    x = drawn.x(side) + (-GAP_PT if left else GAP_PT)
    weight = "bold" if strong else "normal"
    align = "right" if left else "left"
    style.text(ax, x, y, text, drawn.size_pt, align, "center", colour, weight)
