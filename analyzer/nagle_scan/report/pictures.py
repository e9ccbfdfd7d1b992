"""The pictures of a page, as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from nagle_scan import _core

if TYPE_CHECKING:
    from nagle_scan.result import Result

ROOM_BYTES = 1_200_000
"""For all pictures of a page: pages must stay below 2 MB."""

PHONE_IN = 4.6
MAX_SEQUENCES = 3

LADDER = "The clearest stall. Time runs downwards; each arrow is a packet. Throughout the shaded \
band the sender sends no data."
LONGEST_WAIT = "The longest wait. Time runs downwards; each arrow is a packet."
ALL_WAITS = "All waits by length. Stalls caused by one timer form a narrow peak; a program's own \
pauses spread out."
WHOLE = "The whole connection: where the stalls fall, and what was sent."
SEQUENCE = "Bytes sent against time. Where the line is flat, the sender sent nothing new."


class Picture(NamedTuple):
    """A drawing and what it shows."""

    caption: str
    svg: Markup
    narrow: Markup | None = None
    """The same for a phone."""


class Pictures:
    """Draws pictures until the room is used up."""

    def __init__(self, result: Result, room_bytes: int = ROOM_BYTES) -> None:
        self._result = result
        self._room_bytes = room_bytes

    def overall(self, clearest: _core.WaitRow | None) -> list[Picture]:
        """The clearest stall (else the longest wait), and all waits by their length."""
        from nagle_scan import timeline

        pictures = []
        if clearest is not None:
            pictures += self._draw(LADDER, timeline.ladder, clearest.connection, phone=True)
        else:
            for wait in self._result.core.longest_waits(1):
                ladder, connection = timeline.ladder, wait.connection
                pictures += self._draw(LONGEST_WAIT, ladder, connection, phone=True)
        if pictures:
            pictures += self._draw(ALL_WAITS, timeline.histogram, phone=True)
        return pictures

    def of(
        self, connections: Sequence[int], clearest: _core.WaitRow | None
    ) -> dict[int, list[Picture]]:
        """Those of each connection; the first ones get more.

        All of one kind before the next kind, so that the last connection gets a picture too.
        """
        from nagle_scan import timeline

        pictures: dict[int, list[Picture]] = {connection: [] for connection in connections}
        for caption, draw, of in (
            (LADDER, timeline.ladder, connections),
            (WHOLE, timeline.overview, connections),
            (SEQUENCE, timeline.sequence, connections[:MAX_SEQUENCES]),
        ):
            for connection in of:
                drawn = clearest is not None and connection == clearest.connection
                if not (drawn and draw is timeline.ladder):
                    pictures[connection] += self._draw(caption, draw, connection)
        return pictures

    def _draw(
        self, caption: str, draw: Callable[..., Any], *connection: int, phone: bool = False
    ) -> list[Picture]:
        """The picture, with a narrow one for a `phone` if asked; none if no room is left."""
        from nagle_scan import timeline

        if self._room_bytes <= 0:
            return []
        svg = timeline.svg(draw, self._result, *connection)
        narrow = None
        if phone:
            narrow = timeline.svg(draw, self._result, *connection, width_in=PHONE_IN)
        size = len(svg) + len(narrow or "")
        if size > self._room_bytes:
            return []
        self._room_bytes -= size
        # The XML writer has escaped the texts in it.
        return [Picture(caption, Markup(svg), None if narrow is None else Markup(narrow))]
