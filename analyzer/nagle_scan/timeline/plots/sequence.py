"""The time-sequence graph: what was sent, what was acknowledged, and where it stood still."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from nagle_scan.timeline import columns, graph
from nagle_scan.timeline.graph import Axis, Graph
from nagle_scan.timeline.shapes import Drawing, Path
from nagle_scan.timeline.stream import Stream, stream
from nagle_scan.timeline.subject import NOT_READ_AGAIN, NS_PER_MS, Subject, of
from nagle_scan.words import colours
from nagle_scan.words.wording import count, duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan.result import Result
    from nagle_scan.result.rows import Rows
    from nagle_scan.timeline.shapes import Point

    Numbers = NDArray[np.float64]

HEIGHT_PT = 245.0
FEW = 500
"""At most this many segments are drawn one by one; more, as their range in each column."""
WAITS_SHOWN = 12
"""Where the stalls are too many to tell apart, an excerpt is drawn: it lasts this many times as
long as the clearest stall."""
LEAST_HEIGHT = 0.025
"""The least share of the picture's height, so that a held segment of 6 bytes can be seen."""


def drawing(scan: Result, connection: int | None, *, width_pt: float) -> Drawing:
    """The picture on paper. Raises `KeyError`, `TypeError`."""
    return graph.drawing(planned(scan, connection), width_pt)


def planned(scan: Result, connection: int | None) -> Graph:
    """The stream of the side that holds (else that sends more) against time.

    Raises `KeyError`, `TypeError`.
    """
    subject = of(scan, connection)
    segments = subject.segments
    if segments is None:
        return _nothing(subject, NOT_READ_AGAIN)
    side = _side(subject, segments)
    begin_ms, end_ms = _excerpt(subject, segments)
    shown = stream(subject, segments, side, begin_ms, end_ms)
    if not len(shown.sent_ms):
        return _nothing(subject, "No data was sent")
    axis, per_ms = graph.time_axis(begin_ms, end_ms)
    edges = np.linspace(begin_ms, end_ms, columns.COLUMNS + 1) * per_ms
    low, high = _range(shown)
    shapes = [
        *_waits(shown, per_ms, low, high),
        *_staircases(shown, edges, per_ms, low, high),
        *_sent(shown, edges, per_ms, LEAST_HEIGHT * (high - low)),
    ]
    return Graph(
        _title(subject, side, begin_ms, end_ms),
        *_in_words(subject, side, begin_ms, end_ms),
        HEIGHT_PT,
        axis,
        Axis(low, high, graph.whole_ticks(low, high), "bytes of the stream"),
        shapes,
    )


def _nothing(subject: Subject, why: str) -> Graph:
    title = f"Bytes against time (tcp.stream {subject.row.connection})"
    return graph.nothing(title, "No time-sequence graph", why)


def _side(subject: Subject, segments: Rows) -> str:
    if subject.clearest is not None:
        return subject.clearest.sender
    by_client = segments["sender"] == "client"
    from_client, from_all = segments["len"][by_client].sum(), segments["len"].sum()
    return "client" if from_client * 2 > from_all else "server"


def _excerpt(subject: Subject, segments: Rows) -> tuple[float, float]:
    """The whole connection as far as it is known, or the surroundings of its clearest stall."""
    clearest, span = subject.clearest, subject.span_ms
    if clearest is None or np.median(subject.stalls["wait_ms"]) * 4 * WAITS_SHOWN >= span:
        if not subject.is_excerpt:
            return 0.0, span
        known_ms = subject.since_begin_ms(segments["time_ns"])
        return float(known_ms.min()), float(known_ms.max())
    middle = ((clearest.from_ns + clearest.to_ns) / 2 - subject.row.first_ns) / NS_PER_MS
    half = min(clearest.wait_ms * WAITS_SHOWN, span) / 2
    begin = min(max(0.0, middle - half), span - 2 * half)
    return begin, begin + 2 * half


def _range(shown: Stream) -> tuple[float, float]:
    """The bytes in the picture, with a margin."""
    low, high = float(shown.low.min()), float(shown.high.max())
    margin = max(1.0, (high - low) * 0.06)
    return low - margin, high + margin


def _sent(shown: Stream, edges: Numbers, per_ms: float, least: float) -> Iterator[Path]:
    """The segments; held ones are thick and always long enough to be seen."""
    for chosen, colour, width, name in (
        (~shown.held, colours.INK, 1.2, "sent"),
        (shown.held, colours.HELD, 3.0, "held, then sent"),
    ):
        if not chosen.any():
            continue
        x, low, high = shown.sent_ms[chosen] * per_ms, shown.low[chosen], shown.high[chosen]
        if len(x) > FEW:
            top = columns.envelope(x, high, edges)[2]
            x, low, _ = columns.envelope(x, low, edges)
            high = top
        if colour == colours.HELD:
            high = np.maximum(high, low + least)
        yield Path(columns.bars(x, low, high), stroke=colour, width_pt=width, name=name)


def _staircases(
    shown: Stream, edges: Numbers, per_ms: float, low: float, high: float
) -> Iterator[Path]:
    """The line of acknowledged bytes and, where it comes into the picture, that of the window."""
    if not len(shown.acked_ms):
        return
    for places, colour, dashes, name in (
        (shown.acked, colours.CLIENT, (4.8, 1.8), "acknowledged"),
        (shown.allowed, colours.OTHER, (1.2, 2.0), "window"),
    ):
        x, y = shown.acked_ms * per_ms, places
        if len(x) > FEW:
            x, _, y = columns.envelope(x, y, edges)
        lines = _steps([*x.tolist(), float(edges[-1])], y.tolist(), low, high)
        if lines:
            yield Path(lines, "", colour, 1.2, dashes, name=name)


def _steps(x: list[float], y: list[float], low: float, high: float) -> list[list[Point]]:
    """Each height from its place to the next; none of those above the picture."""
    treads = zip(pairwise(x), y, strict=True)
    return [
        [(at, max(height, low)) for ends, height in run for at in ends]
        for is_inside, run in groupby(treads, lambda tread: tread[1] < high)
        if is_inside
    ]


def _waits(shown: Stream, per_ms: float, low: float, high: float) -> Iterator[Path]:
    begins, ends = columns.merged(*shown.waits_ms)
    if not len(begins):
        return
    typical = duration(float(np.median(shown.wait_lengths_ms)))
    name = f"waits, median {typical}" if len(shown.wait_lengths_ms) > 1 else f"wait, {typical}"
    bands = columns.boxes(begins * per_ms, ends * per_ms, low, high)
    yield Path(bands, colours.HELD, opacity=0.16, name=name)


def _title(subject: Subject, side: str, begin_ms: float, end_ms: float) -> str:
    whole = end_ms - begin_ms >= subject.span_ms * 0.999
    place = "around the clearest stall" if subject.clearest else "an excerpt"
    part = "" if whole else f", {place}"
    return f"What the {side} sent (tcp.stream {subject.row.connection}{part})"


def _in_words(subject: Subject, side: str, begin_ms: float, end_ms: float) -> tuple[str, str]:
    headline = f"Time-sequence graph of what the {side} sent on tcp.stream {subject.row.connection}"
    held = subject.stalls[subject.stalls["sender"] == side]
    extent = f"from {duration(begin_ms)} to {duration(end_ms)} after the first segment"
    return headline, f"{extent}; {count(len(held), 'stall')} on the whole connection"
