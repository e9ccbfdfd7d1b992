"""A picture as inline SVG for a page: self-contained, accessible, light or dark.

Text and axes take the colour of the text around them (`currentColor`), the rest stands out from
light and dark alike. The same picture gives the same text, byte for byte.
"""

from __future__ import annotations

import hashlib
import math
from importlib import import_module
from typing import TYPE_CHECKING

from nagle_scan.system.templates import ENVIRONMENT
from nagle_scan.timeline.shapes import POINTS_PER_INCH, Arrow, Drawing, Path, Point, Text
from nagle_scan.words import colours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nagle_scan.result import Result

WIDTH_IN = 7.2
PX_PER_POINT = 96 / POINTS_PER_INCH
MARGIN_PT = 6.0
HEAD_PT = (7.0, 2.6)
"""Length of an arrow's head, and half of its width."""
HATCHES = {
    "/": "M0 6 6 0",
    "\\": "M0 0 6 6",
    "x": "M0 6 6 0M0 0 6 6",
    "-": "M0 3H6",
    "|": "M3 0V6",
    "+": "M0 3H6M3 0V6",
    ".": "M2 3H4",
    "o": "M1 3A2 2 0 0 0 5 3A2 2 0 0 0 1 3",
}
"""Paths of a tile, by matplotlib's letters."""


def svg(kind: str, scan: Result, connection: int | None = None, width_in: float = WIDTH_IN) -> str:
    """The `ladder`, `sequence`, `overview` or `histogram` of a connection as an `<svg>` element.

    `<title>` and `<desc>` say the finding in words. Raises `KeyError`, `TypeError`.
    """
    plot = import_module(f"nagle_scan.timeline.plots.{kind}")
    width_pt = width_in * POINTS_PER_INCH - 2 * MARGIN_PT
    return rendered(plot.drawing(scan, connection, width_pt=width_pt))


def rendered(drawing: Drawing) -> str:
    """The drawing as an `<svg>` element."""
    paths = (shape for shape in drawing.shapes if isinstance(shape, Path) and shape.hatch)
    hatches = dict.fromkeys(path.hatch[0] for path in paths)
    return ENVIRONMENT.get_template("picture.svg").render(
        drawing=drawing,
        prefix="ns" + hashlib.sha256(repr(drawing).encode()).hexdigest()[:12],
        margin_pt=MARGIN_PT,
        px_per_pt=PX_PER_POINT,
        hatches={hatch: place for place, hatch in enumerate(hatches, 1)},
        tiles=HATCHES,
    )


def _paths(shape: Path | Arrow) -> Sequence[Path]:
    """An arrow is a line and its head."""
    if isinstance(shape, Path):
        return [shape]
    (x, y), (tip_x, tip_y) = shape.tail, shape.head
    whole = math.hypot(tip_x - x, tip_y - y) or 1.0
    along = (tip_x - x) / whole, (tip_y - y) / whole
    length, half = HEAD_PT
    back = tip_x - along[0] * length, tip_y - along[1] * length
    wings = [(back[0] - side * along[1], back[1] + side * along[0]) for side in (half, -half)]
    line = Path([[shape.tail, back]], "", shape.colour, shape.width_pt, shape.dashes)
    return [line, Path([[shape.head, *wings]], shape.colour)]


def _paint(colour: str, kind: str = "fill") -> str:
    """The look of a shape filled or stroked with a colour."""
    if colour == colours.FAINT:
        return f"{kind}: currentColor; {kind}-opacity: 0.72"
    return f"{kind}: {'currentColor' if colour == colours.INK else colour or 'none'}"


def _path(path: Path) -> str:
    """The attribute `d`."""
    end = "Z" if path.fill else ""
    return "".join(f"M{' '.join(map(_place, line))}{end}" for line in path.lines)


def _place(point: Point) -> str:
    return f"{point[0]:.2f} {point[1]:.2f}"


ENVIRONMENT.filters |= {"paths": _paths, "paint": _paint, "path": _path}
ENVIRONMENT.tests["text"] = lambda shape: isinstance(shape, Text)
