"""The pictures of a page, as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from nagle_scan import _core, timeline

if TYPE_CHECKING:
    from nagle_scan.result import Result

ROOM_BYTES = 1_200_000
"""For all pictures of a page: pages must stay below 2 MB."""

PHONE_IN = 4.6
IN_FULL = 3
"""Connections with all pictures, opened on the page; the others get a ladder."""

LADDER = (
    "Time runs downwards; each arrow is a packet. Throughout the shaded band the sender sends no \
data."
)
LONGEST_WAIT = "The longest wait. Time runs downwards; each arrow is a packet."
ALL_WAITS = "All waits by length. Stalls caused by one timer form a narrow peak; a program's own \
pauses spread out."
WHOLE = "The whole connection: stalls and data sent."
SEQUENCE = "Bytes sent against time. Where the line is flat, the sender sent nothing new."


class Wanted(NamedTuple):
    """A picture to draw."""

    caption: str
    draw: Callable[..., Any]
    connection: int | None
    """None: all of them."""
    at_top: bool = False
    """For all readers, so drawn for phones, too."""


class Picture(NamedTuple):
    """A drawing and what it shows."""

    wanted: Wanted
    svg: Markup
    narrow: Markup | None = None
    """The same for a phone."""


def at_top(core: _core.Scan, clearest: _core.WaitRow | None) -> Iterator[Wanted]:
    """The clearest stall (else the longest wait), and all waits by their length."""
    caption = f"The clearest stall is {clearest.confidence}. {LADDER}" if clearest else LONGEST_WAIT
    for wait in [clearest] if clearest else core.longest_waits(1):
        yield Wanted(caption, timeline.ladder, wait.connection, at_top=True)
        yield Wanted(ALL_WAITS, timeline.histogram, None, at_top=True)


def in_detail(connections: Sequence[int], clearest: _core.WaitRow | None) -> Iterator[Wanted]:
    """Those of each connection, beside its frames.

    All of one kind before the next kind, so that the last connection gets a picture too.
    """
    for connection in connections:
        # The clearest of all is at the top.
        if clearest is None or connection != clearest.connection:
            yield Wanted(f"The clearest stall. {LADDER}", timeline.ladder, connection)
    for caption, draw in ((WHOLE, timeline.overview), (SEQUENCE, timeline.sequence)):
        for connection in connections[:IN_FULL]:
            yield Wanted(caption, draw, connection)


def drawn(
    result: Result, wanted: Sequence[Wanted], room_bytes: int = ROOM_BYTES
) -> Iterator[Picture]:
    """Draws one after the other until the room is used up."""
    for number, one in enumerate(wanted, 1):
        result.doing(f"drawing picture {number} of {len(wanted)}")
        picture = _drawn(result, one)
        room_bytes -= len(picture.svg) + len(picture.narrow or "")
        if room_bytes < 0:
            return
        yield picture


def _drawn(result: Result, wanted: Wanted) -> Picture:
    """The picture, and at the top a narrow one."""
    of = [] if wanted.connection is None else [wanted.connection]
    # The XML writer has escaped the texts in it.
    svg = Markup(timeline.svg(wanted.draw, result, *of))
    if not wanted.at_top:
        return Picture(wanted, svg)
    narrow = timeline.svg(wanted.draw, result, *of, width_in=PHONE_IN)
    return Picture(wanted, svg, Markup(narrow))
