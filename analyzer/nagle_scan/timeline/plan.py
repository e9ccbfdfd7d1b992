"""The layout of a ladder, in points from the upper left corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.timeline import fit, words
from nagle_scan.timeline.arrows import Arrow, Omitted
from nagle_scan.timeline.fit import text_width_pt
from nagle_scan.timeline.scale import Label, Scale, scale
from nagle_scan.timeline.shapes import LINE, Text
from nagle_scan.words import colours
from nagle_scan.words.wording import peer, printable

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.timeline.subject import Subject

GAP_PT = 9.0
"""From a host's line to the texts beside it."""


class Line(NamedTuple):
    """A line of text beside an arrow's tail."""

    text: str
    strong: bool


@dataclass(frozen=True)
class Plan:
    """A ladder laid out for one width and text size."""

    size_pt: float
    client_pt: float
    server_pt: float
    texts: list[Text]
    """Headline, sentence, names of the hosts, and the foot below them all."""
    top_pt: float
    bottom_pt: float
    """Where the hosts' lines end."""
    height_pt: float
    labels: dict[int, list[Line]]
    """Labels by frame."""
    scale: Scale

    def x(self, side: str) -> float:
        """Where the line of `client` or `server` stands."""
        return self.client_pt if side == "client" else self.server_pt

    def y(self, at_ms: float) -> float:
        """Where an instant is."""
        return self.top_pt + self.scale.places_pt[at_ms]

    def stroke(self, arrow: Arrow) -> tuple[tuple[float, float], tuple[float, float]]:
        """From where to where an arrow goes."""
        tail = (self.x(arrow.sender), self.y(arrow.sent_ms))
        return tail, (self.x(peer(arrow.sender)), self.y(arrow.received_ms))


def plan(
    subject: Subject,
    wait: _core.WaitRow | None,
    arrows: list[Arrow],
    omitted: list[Omitted],
    width_pt: float,
    size_pt: float,
    wait_pt: float,
) -> Plan:
    """Lays a ladder out; `wait_pt` is the height of the wait."""
    side_pt = width_pt * 0.325
    headline, sentence = words.headline(subject, wait)
    title = fit.wrapped(headline, width_pt, size_pt + 2, bold=True)
    below = fit.wrapped(sentence, width_pt, size_pt)
    texts: list[Text] = []
    y = 0.0
    for line in title:
        y += (size_pt + 2) * LINE
        texts.append(Text(0, y, line, size_pt + 2, is_bold=True))
    for line in below:
        y += size_pt * LINE
        texts.append(Text(0, y, line, size_pt))
    y = (len(title) * (size_pt + 2) + len(below) * size_pt) * LINE + size_pt
    heads, top_pt = _heads(subject, width_pt, side_pt, size_pt, y)
    labels = {
        arrow.frame: _label(arrow, wait, side_pt - GAP_PT - size_pt * 0.6, size_pt)
        for arrow in arrows
    }
    laid_out = _scale(wait, arrows, omitted, labels, size_pt, wait_pt)
    bottom_pt = top_pt + laid_out.height_pt + 2.2 * size_pt
    foot = [
        Text(
            0, bottom_pt + (number + 0.4) * size_pt * LINE, line, size_pt - 1, colour=colours.FAINT
        )
        for number, line in enumerate(fit.wrapped(_foot(arrows, wait), width_pt, size_pt - 1), 1)
    ]
    return Plan(
        size_pt,
        side_pt,
        width_pt - side_pt,
        [*texts, *heads, *foot],
        top_pt,
        bottom_pt,
        bottom_pt + (len(foot) + 1) * size_pt * LINE,
        labels,
        laid_out,
    )


def _heads(
    subject: Subject, width_pt: float, side_pt: float, size_pt: float, y: float
) -> tuple[list[Text], float]:
    """The hosts' names above their lines, or one below the other if they are too long.

    Also where their lines begin.
    """
    names = {side: printable(subject.name(side)) for side in ("client", "server")}
    roles = {side: side for side in names}
    if subject.row.capture_point in roles:
        roles[subject.row.capture_point] += " (captured here)"
    line_pt = size_pt * LINE
    room_pt = min(2 * side_pt, width_pt - 2 * side_pt) - size_pt
    widest_pt = max(
        text_width_pt(text, size_pt, bold=True) for text in (*names.values(), *roles.values())
    )
    places = {"client": (side_pt, y, "middle"), "server": (width_pt - side_pt, y, "middle")}
    top_pt = y + 3.2 * line_pt
    if widest_pt > room_pt:
        names = {side: fit.shortened(name, width_pt, size_pt) for side, name in names.items()}
        places = {"client": (0.0, y, "start"), "server": (width_pt, y + 2 * line_pt, "end")}
        top_pt = y + 5.2 * line_pt
    heads = [
        Text(x, top + number * size_pt * LINE, text, size_pt, anchor, is_bold=number == 1)
        for side, (x, top, anchor) in places.items()
        for number, text in enumerate((roles[side], names[side]), 1)
    ]
    return heads, top_pt


def _label(arrow: Arrow, wait: _core.WaitRow | None, width_pt: float, size_pt: float) -> list[Line]:
    """Frame, content, time; and for the three that make a stall, what they mean."""
    what = f"frame {arrow.frame} · {arrow.kind}".replace(" B", "\xa0B")
    when = words.since(arrow.captured_ms)
    if arrow.role and wait is not None:
        head = fit.wrapped(what, width_pt, size_pt, bold=True)
        meant = f"{when} · {words.note(arrow.role, wait)}".replace(" ms", "\xa0ms")
        meaning = fit.wrapped(meant, width_pt, size_pt)
        return [*(Line(line, True) for line in head), *(Line(line, False) for line in meaning)]
    whole = f"{what} · {when}"
    lines = [whole] if text_width_pt(whole, size_pt) <= width_pt else [what, when]
    return [Line(fit.shortened(line, width_pt, size_pt), False) for line in lines]


def _scale(
    wait: _core.WaitRow | None,
    arrows: list[Arrow],
    omitted: list[Omitted],
    labels: dict[int, list[Line]],
    size_pt: float,
    wait_pt: float,
) -> Scale:
    """Places the ends of all arrows in time, with room for all labels."""
    line_pt = size_pt * LINE
    instants = [at for arrow in arrows for at in (arrow.sent_ms, arrow.received_ms)]
    instants += [one.at_ms for one in omitted]
    boxes = [
        Label(
            arrow.sent_ms,
            arrow.sender,
            line_pt / 2,
            line_pt * (len(labels[arrow.frame]) - 0.5) + size_pt * 0.35,
        )
        for arrow in arrows
    ]
    boxes += [Label(one.at_ms, one.sender, line_pt / 2, line_pt * 0.8) for one in omitted]
    return scale(instants, boxes, _extent(wait, arrows), wait_pt)


def _extent(wait: _core.WaitRow | None, arrows: list[Arrow]) -> tuple[float, float]:
    """The time that the height of the wait stands for: between the first frame and the last."""
    ends = [
        arrow.sent_ms
        for arrow in arrows
        if wait is not None and arrow.frame in (wait.frame_from, wait.frame_to)
    ]
    if not ends and arrows:
        ends = [arrows[0].sent_ms, max(arrow.received_ms for arrow in arrows)]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _foot(arrows: list[Arrow], wait: _core.WaitRow | None) -> str:
    if not arrows:
        return "The capture cannot be read a second time, so there is nothing to draw."
    begin = f"frame {wait.frame_from}" if wait is not None else "the first frame"
    return (
        f"Time runs down and is as captured, since {begin}; short gaps are stretched. "
        "Dashed: no payload."
    ) + (" Thick: held." if any(arrow.role for arrow in arrows) else "")
