"""Shapes of pictures: on paper, in points from the upper left corner, or in the units of a graph's
axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan.words import colours

Point = tuple[float, float]

POINTS_PER_INCH = 72.0
TEXT_PT = 9.0
LINE = 1.32
"""Line height, as a multiple of the text size."""
MIDDLE = 0.36
"""From a text's baseline up to its middle, as a multiple of the text size."""


class Text(NamedTuple):
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    size_pt: float = TEXT_PT - 1
    anchor: str = "start"
    """`start`, `middle` or `end`, as in SVG."""
    is_bold: bool = False
    colour: str = colours.INK
    disc: str = ""
    """The colour of a disc behind it."""
    is_turned: bool = False
    """It reads from bottom to top."""


class Path(NamedTuple):
    """Lines, or areas if it is filled, in one look."""

    lines: Sequence[Sequence[Point]]
    fill: str = ""
    stroke: str = ""
    width_pt: float = 1.0
    dashes: tuple[float, ...] = ()
    """Lengths of dashes and gaps, in points."""
    opacity: float = 1.0
    hatch: str = ""
    """A pattern of matplotlib."""
    name: str = ""
    """Name in the legend of a graph."""


class Arrow(NamedTuple):
    """A line with a head."""

    tail: Point
    head: Point
    colour: str
    width_pt: float
    dashes: tuple[float, ...]


Shape = Text | Path | Arrow


class Drawing(NamedTuple):
    """A picture on paper; headline and sentence say in words what it shows."""

    width_pt: float
    height_pt: float
    headline: str
    sentence: str
    shapes: Sequence[Shape]
