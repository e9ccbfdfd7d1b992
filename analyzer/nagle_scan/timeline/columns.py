"""Many events in few columns, for strips where events are denser than pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.path import Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


def covered(begins: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """The share of each column that the intervals cover, 0 to 1; overlaps count once."""
    begins, ends = merged(begins, ends, 0.0)
    if not len(begins):
        return np.zeros(len(edges) - 1)
    lengths = np.concatenate([[0.0], np.cumsum(ends - begins)])
    started = np.searchsorted(begins, edges, side="right")
    # Intervals begun before an edge count in full, minus what the last one has left.
    last = np.maximum(started - 1, 0)
    ahead = np.where(started > 0, np.maximum(ends[last] - edges, 0.0), 0.0)
    return np.clip(np.diff(lengths[started] - ahead) / np.diff(edges), 0.0, 1.0)


def merged(begins: Numbers, ends: Numbers, gap: float) -> tuple[Numbers, Numbers]:
    """Intervals in order, those that touch or are less than `gap` apart made one."""
    order = np.argsort(begins, kind="stable")
    begins, reach = begins[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    apart = np.ones(len(begins), dtype=bool)
    apart[1:] = begins[1:] > reach[:-1] + gap
    last = np.append(apart[1:], True)[: len(begins)]
    return begins[apart], reach[last]


def envelope(x: Numbers, y: Numbers, edges: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The middle of each column that holds points, and their least and greatest `y`."""
    column = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    low = np.full(len(edges) - 1, np.inf)
    high = np.full(len(edges) - 1, -np.inf)
    np.minimum.at(low, column, y)
    np.maximum.at(high, column, y)
    some = high >= low
    return ((edges[:-1] + edges[1:]) / 2)[some], low[some], high[some]


def bars(x: Numbers, low: Numbers, high: Numbers) -> Path:
    """Vertical strokes as one path: a picture of a thousand stays small."""
    vertices = np.empty((2 * len(x), 2))
    vertices[::2, 0] = vertices[1::2, 0] = x
    vertices[::2, 1], vertices[1::2, 1] = low, high
    codes = np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=np.uint8), len(x))
    return Path(vertices, codes)


def boxes(begins: Numbers, ends: Numbers, low: float, high: float) -> Path:
    """Rectangles of the same height as one path."""
    vertices = np.zeros((len(begins), 5, 2))
    vertices[:, [0, 1, 4], 0] = begins[:, None]
    vertices[:, [2, 3], 0] = ends[:, None]
    vertices[:, [0, 3, 4], 1] = low
    vertices[:, [1, 2], 1] = high
    moves = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    codes = np.tile(np.array(moves, dtype=np.uint8), len(begins))
    return Path(vertices.reshape(-1, 2), codes)


def skyline(heights: Numbers, edges: Numbers, floor: float) -> Path:
    """Columns of different height, adjacent ones as one outline; none where the height is 0."""
    vertices: list[tuple[float, float]] = []
    codes: list[int] = []
    some = np.flatnonzero(heights > 0)
    for run in np.split(some, np.flatnonzero(np.diff(some) > 1) + 1) if len(some) else []:
        begin = len(vertices)
        vertices.append((float(edges[run[0]]), floor))
        for column in run:
            top = floor + float(heights[column])
            vertices += [(float(edges[column]), top), (float(edges[column + 1]), top)]
        vertices += [(float(edges[run[-1] + 1]), floor), (float(edges[run[0]]), floor)]
        lines = len(vertices) - begin - 2
        codes += [int(Path.MOVETO), *[int(Path.LINETO)] * lines, int(Path.CLOSEPOLY)]
    return Path(np.array(vertices).reshape(-1, 2), codes or None)
