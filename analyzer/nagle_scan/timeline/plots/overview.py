"""The overview strip: a whole connection, and where in it the stalls fall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from nagle_scan.timeline import columns, graph
from nagle_scan.timeline.graph import Axis, Graph
from nagle_scan.timeline.shapes import Drawing, Path, Text
from nagle_scan.timeline.subject import NS_PER_MS, Subject, of
from nagle_scan.words import certainty, colours
from nagle_scan.words.wording import duration

if TYPE_CHECKING:
    from nagle_scan.result import Result
    from nagle_scan.result.rows import Rows

    Intervals = tuple[np.ndarray, np.ndarray]

HEIGHT_PT = 165.0
FEW = 120
"""At most this many waits are drawn one by one; more, as their share of each column."""


def drawing(scan: Result, connection: int | None, *, width_pt: float) -> Drawing:
    """The picture on paper. Raises `KeyError`, `TypeError`."""
    return graph.drawing(planned(scan, connection), width_pt)


def planned(scan: Result, connection: int | None) -> Graph:
    """Raises `KeyError`, `TypeError`."""
    subject = of(scan, connection)
    axis, per_ms = graph.time_axis(0.0, subject.span_ms)
    edges = np.linspace(0, axis.high, columns.COLUMNS + 1)
    names = [
        f"stalls ({certainty.counted_stalls(subject.row) if subject.row.stalls else 0:,})",
        f"other waits ({len(subject.waits):,})",
        *(_bytes_in_words(subject, side) for side in ("client", "server")),
    ]
    shapes = [
        *_lane(_intervals(subject, subject.stalls, per_ms), edges, 3.0, colours.HELD),
        *_lane(_intervals(subject, subject.waits, per_ms), edges, 2.0, colours.OTHER),
        *_bytes(subject, "client", edges, per_ms),
        *_bytes(subject, "server", edges, per_ms),
        *_clearest(subject, axis.high, per_ms),
    ]
    return Graph(
        f"The whole connection (tcp.stream {subject.row.connection})",
        *_in_words(subject),
        HEIGHT_PT,
        axis,
        Axis(-0.1, 4.35, [*zip((3.4, 2.4, 1.4, 0.4), names, strict=True)]),
        shapes,
    )


def _intervals(subject: Subject, table: Rows, per_ms: float) -> Intervals:
    ends = subject.since_begin_ms(table["time_ns"])
    waits = table["wait_ms"]
    return (ends - waits) * per_ms, ends * per_ms


def _floor(edges: np.ndarray, floor: float) -> Path:
    ends = [(float(edges[0]), floor), (float(edges[-1]), floor)]
    return Path([ends], stroke=colours.FAINT, width_pt=0.5)


def _lane(intervals: Intervals, edges: np.ndarray, floor: float, colour: str) -> Iterator[Path]:
    """One lane of waits: each as a box, or their share of the time where they are many."""
    begins, ends = intervals
    yield _floor(edges, floor)
    if len(begins) > FEW:
        share = columns.covered(begins, ends, edges)
        yield Path(columns.skyline(0.85 * share, edges, floor), colour)
    elif len(begins):
        wide = np.maximum(ends, begins + (edges[1] - edges[0]) / 2)
        yield Path(columns.boxes(begins, wide, floor, floor + 0.85), colour)


def _bytes_in_words(subject: Subject, side: str) -> str:
    if subject.segments is None:
        return f"{side}: not read"
    if subject.is_excerpt:
        return f"{side}: not drawn"
    return f"{side}: {subject.segments['len'][subject.segments['sender'] == side].sum():,} B"


def _bytes(subject: Subject, side: str, edges: np.ndarray, per_ms: float) -> Iterator[Path]:
    """Bytes of one side per column."""
    floor = 1.0 if side == "client" else 0.0
    yield _floor(edges, floor)
    if subject.segments is None or subject.is_excerpt:
        return
    sent = subject.segments[subject.segments["sender"] == side]
    at = subject.since_begin_ms(sent["time_ns"]) * per_ms
    sums = np.histogram(at, edges, weights=sent["len"].astype(float))[0]
    # The square root keeps a request of 100 bytes visible next to a reply of a megabyte.
    height = np.sqrt(sums / max(sums.max(), 1.0))
    colour = colours.CLIENT if side == "client" else colours.SERVER
    yield Path(columns.skyline(0.8 * height, edges, floor), colour)


def _clearest(subject: Subject, span: float, per_ms: float) -> Iterator[Path | Text]:
    """A mark above the clearest stall, and its name."""
    if subject.clearest is None:
        return
    middle_ns = (subject.clearest.from_ns + subject.clearest.to_ns) / 2
    at, step = (middle_ns - subject.row.first_ns) / NS_PER_MS * per_ms, span / 150
    yield Path([[(at - step, 4.3), (at + step, 4.3), (at, 3.95)]], colours.INK)
    is_left = at < span / 2
    x, anchor = (at + 2 * step, "start") if is_left else (at - 2 * step, "end")
    yield Text(x, 4.0, "the clearest", anchor=anchor)


def _in_words(subject: Subject) -> tuple[str, str]:
    row = subject.row
    stalls, lost = "no stalls", "nothing"
    if row.stalls:
        stalls, lost = certainty.numbered(row), duration(certainty.counted_ms(row))
    headline = f"Overview of tcp.stream {row.connection}: {stalls}"
    lost += f" of {duration(subject.span_ms)} lost to stalls{certainty.and_possible(row)}"
    left_out = f"; its {row.segments:,} segments are too many to draw" if subject.is_excerpt else ""
    return headline, f"{lost}; {len(subject.waits):,} other waits{left_out}"
