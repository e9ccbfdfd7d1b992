"""Many events in few columns, for strips where events are denser than pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan.timeline.shapes import Point

    Numbers = NDArray[np.float64]


COLUMNS = 360
"""Columns of a picture in which many events are drawn."""


def covered(begins: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """The share of each column that the intervals cover, 0 to 1; overlaps count once."""
    begins, ends = merged(begins, ends)
    if not len(begins):
        return np.zeros(len(edges) - 1)
    lengths = np.concatenate([[0.0], np.cumsum(ends - begins)])
    started = np.searchsorted(begins, edges, side="right")
    # Intervals begun before an edge count in full, minus what the last one has left.
    last = np.maximum(started - 1, 0)
    ahead = np.where(started > 0, np.maximum(ends[last] - edges, 0.0), 0.0)
    return np.clip(np.diff(lengths[started] - ahead) / np.diff(edges), 0.0, 1.0)


def merged(begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """Intervals in order, those that touch or overlap made one."""
    order = np.argsort(begins, kind="stable")
    begins, reach = begins[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    apart = np.ones(len(begins), dtype=bool)
    apart[1:] = begins[1:] > reach[:-1]
    last = np.append(apart[1:], True)[: len(begins)]
    return begins[apart], reach[last]


def envelope(x: Numbers, y: Numbers, edges: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The middle of each column that holds points, and their least and greatest `y`, NaN aside."""
    known = ~np.isnan(y)
    x, y = x[known], y[known]
    column = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    low = np.full(len(edges) - 1, np.inf)
    high = np.full(len(edges) - 1, -np.inf)
    np.minimum.at(low, column, y)
    np.maximum.at(high, column, y)
    some = high >= low
    return ((edges[:-1] + edges[1:]) / 2)[some], low[some], high[some]


def bars(x: Numbers, low: Numbers, high: Numbers) -> list[list[Point]]:
    """Vertical strokes."""
    places = zip(x.tolist(), low.tolist(), high.tolist(), strict=True)
    return [[(at, bottom), (at, top)] for at, bottom, top in places]


def boxes(begins: Numbers, ends: Numbers, low: float, high: float) -> list[list[Point]]:
    """Rectangles of the same height."""
    pairs = zip(begins.tolist(), ends.tolist(), strict=True)
    return [box(begin, end, low, high) for begin, end in pairs]


def box(begin: float, end: float, low: float, high: float) -> list[Point]:
    """A rectangle."""
    return [(begin, low), (begin, high), (end, high), (end, low)]


def skyline(heights: Numbers, edges: Numbers, floor: float) -> list[list[Point]]:
    """Columns of different height, adjacent ones as one outline; none where the height is 0."""
    some = np.flatnonzero(heights > 0)
    outlines = []
    for run in np.split(some, np.flatnonzero(np.diff(some) > 1) + 1) if len(some) else []:
        begin, end = int(run[0]), int(run[-1]) + 1
        sides = np.repeat(edges[begin : end + 1], 2)[1:-1].tolist()
        tops = (floor + np.repeat(heights[begin:end], 2)).tolist()
        outline = [(sides[0], floor), *zip(sides, tops, strict=True), (sides[-1], floor)]
        outlines.append(outline)
    return outlines
