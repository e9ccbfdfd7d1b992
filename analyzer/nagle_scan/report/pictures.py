"""The pictures of a page, as many as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from nagle_scan import _core, timeline
from nagle_scan.words import causes

if TYPE_CHECKING:
    from nagle_scan.result import Result

ROOM_BYTES = 1_200_000
"""Bytes of all pictures of a page, which must stay below 2 MB."""

WIDTHS_IN = (7.2, 4.6)
"""Widths of a picture on a desk's screen and on a phone's."""
IN_FULL = 3
"""Connections with all pictures, opened on the page; the others get a ladder."""

LADDER = (
    "Time runs downwards; each arrow is a packet. Throughout the shaded band the sender sends no \
data."
)
LONGEST_WAIT = "The longest wait. Time runs downwards; each arrow is a packet."
ALL_WAITS = "The listed waits by length. Stalls caused by one timer form a narrow peak; a \
program's own pauses spread out."
WHOLE = "The whole connection: stalls and data sent."
SEQUENCE = "Bytes sent against time. Where the line is flat, the sender sent nothing new."


class Wanted(NamedTuple):
    """A picture to draw."""

    caption: str
    kind: str
    """The name of its kind, as `timeline.svg` takes it."""
    connection: int | None
    """None for all connections together."""
    at_top: bool = False
    """It stands above the details of connections, for all readers."""


class Picture(NamedTuple):
    """A drawing and what it shows."""

    wanted: Wanted
    svg: Markup
    narrow: Markup
    """The picture for a phone."""


def at_top(core: _core.Scan, clearest: _core.WaitRow | None) -> Iterator[Wanted]:
    """The clearest stall (else the longest wait, if anybody waited), and all waits by length."""
    caption = f"The clearest stall is {clearest.confidence}. {LADDER}" if clearest else LONGEST_WAIT
    for wait in [clearest] if clearest else core.longest_waits(1):
        if not causes.keeps_nobody_waiting(wait):
            yield Wanted(caption, "ladder", wait.connection, at_top=True)
        yield Wanted(ALL_WAITS, "histogram", None, at_top=True)


def in_detail(connections: Sequence[int], clearest: _core.WaitRow | None) -> Iterator[Wanted]:
    """Pictures of each connection, beside its frames.

    All of one kind before the next kind, so that the last connection gets a picture too.
    """
    for connection in connections:
        # The clearest of all is at the top.
        if clearest is None or connection != clearest.connection:
            yield Wanted(f"The clearest stall. {LADDER}", "ladder", connection)
    for caption, kind in ((WHOLE, "overview"), (SEQUENCE, "sequence")):
        for connection in connections[:IN_FULL]:
            yield Wanted(caption, kind, connection)


def drawn(
    result: Result, wanted: Sequence[Wanted], room_bytes: int = ROOM_BYTES
) -> Iterator[Picture]:
    """Draws one after the other until the room is used up."""
    for number, one in enumerate(wanted, 1):
        result.doing(f"drawing picture {number} of {len(wanted)}")
        picture = _drawn(result, one)
        room_bytes -= len(picture.svg) + len(picture.narrow)
        if room_bytes < 0:
            return
        yield picture


def _drawn(result: Result, wanted: Wanted) -> Picture:
    # The texts in it are escaped.
    svgs = (timeline.svg(wanted.kind, result, wanted.connection, width) for width in WIDTHS_IN)
    return Picture(wanted, *map(Markup, svgs))
