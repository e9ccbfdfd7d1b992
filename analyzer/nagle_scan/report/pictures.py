"""The pictures of a page, as long as there is room for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from nagle_scan import _core

if TYPE_CHECKING:
    from nagle_scan.results import Scan

ROOM_BYTES = 1_200_000
"""For all pictures of a page; the page is to stay below 2 MB."""


class Picture(NamedTuple):
    """A drawing and what it shows."""

    caption: str
    svg: Markup


class Pictures:
    """Draws what fits."""

    def __init__(self, scan: Scan, room_bytes: int = ROOM_BYTES) -> None:
        self._scan = scan
        self._room_bytes = room_bytes

    def clearest(self, stall: _core.WaitRow | None) -> Picture | None:
        return None

    def of(
        self, connections: Sequence[int], clearest: _core.WaitRow | None
    ) -> dict[int, list[Picture]]:
        return {connection: [] for connection in connections}
