"""The time-sequence graph: what was sent, what was acknowledged, and where it stood still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.ticker import MaxNLocator

from nagle_scan.timeline import columns, style
from nagle_scan.timeline.stream import Stream, stream
from nagle_scan.timeline.subject import NOT_READ_AGAIN, Subject, of
from nagle_scan.words import colours
from nagle_scan.words.wording import count, duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nagle_scan.result import Result
    from nagle_scan.result.rows import Rows

    Numbers = NDArray[np.float64]

COLUMNS = 360
FEW = 500
"""Up to so many segments are drawn one by one; more, as their range in each column."""
WAITS_SHOWN = 12
"""If the stalls are too many to tell apart: an excerpt, so many times the clearest stall long."""
LEAST_HEIGHT = 0.025
"""As a share of the picture, so that a held segment of 6 bytes can be seen."""


def sequence(
    scan: Result,
    connection: int | None = None,
    ax: Axes | None = None,
    width_in: float = 7.2,
) -> Axes:
    """Draws the stream of the side that holds (else that sends more) against time, as tcptrace.

    Each segment is an upright stroke from its first byte to its last; the dashed line below is
    what the peer has acknowledged, the dotted one above what its window allows. Where the stalls
    are too many to be told apart, only the time around the clearest is shown. Which connection
    is drawn, where, and what is raised: as for `ladder`.
    """
    subject = of(scan, connection)
    ax = style.axes(ax, width_in, 3.4)
    segments = subject.segments
    if segments is None:
        return _nothing(ax, subject, NOT_READ_AGAIN)
    side = _side(subject, segments)
    begin_ms, end_ms = _excerpt(subject, segments)
    shown = stream(subject, segments, side, begin_ms, end_ms)
    if not len(shown.sent_ms):
        return _nothing(ax, subject, "No data was sent")
    per_ms = 1e-3 if end_ms >= 2000 else 1.0
    edges = np.linspace(begin_ms, end_ms, COLUMNS + 1) * per_ms
    low, high = _range(shown)
    _sent(ax, shown, edges, per_ms, LEAST_HEIGHT * (high - low))
    _staircases(ax, shown, edges, per_ms, high)
    _waits(ax, shown, per_ms)
    ax.set_ylim(low, high)
    _axes(ax, edges, "s" if per_ms < 1 else "ms", _title(subject, side, begin_ms, end_ms))
    ax.set_label("\n".join(_in_words(subject, side, begin_ms, end_ms)))
    return ax


def _nothing(ax: Axes, subject: Subject, why: str) -> Axes:
    style.plain(ax, f"Bytes against time (tcp.stream {subject.row.connection})")
    ax.set_label(f"No time-sequence graph\n{why}")
    style.say(ax, why)
    return ax


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
    middle = ((clearest.from_ns + clearest.to_ns) / 2 - subject.row.first_ns) / 1e6
    half = min(clearest.wait_ms * WAITS_SHOWN, span) / 2
    begin = min(max(0.0, middle - half), span - 2 * half)
    return begin, begin + 2 * half


def _range(shown: Stream) -> tuple[float, float]:
    """The bytes in the picture, with a margin."""
    low, high = float(shown.low.min()), float(shown.high.max())
    margin = max(1.0, (high - low) * 0.06)
    return low - margin, high + margin


def _sent(ax: Axes, shown: Stream, edges: Numbers, per_ms: float, least: float) -> None:
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
            short = np.maximum(least - (high - low), 0.0)
            high = high + short
        strokes = columns.bars(x, low, high)
        ax.add_artist(PathPatch(strokes, fill=False, edgecolor=colour, linewidth=width, zorder=3))
        # The legend would show a patch as a box.
        ax.plot([], [], color=colour, linewidth=width, label=name)


def _staircases(ax: Axes, shown: Stream, edges: Numbers, per_ms: float, top: float) -> None:
    """What the peer acknowledged and, where it comes into the picture, what its window allows."""
    if not len(shown.acked_ms):
        return
    looks: list[tuple[Numbers, str, str | tuple[int, tuple[float, ...]], str]] = [
        (shown.acked, colours.CLIENT, (0, (4, 1.5)), "acknowledged")
    ]
    if np.nanmin(np.append(shown.allowed, np.inf)) < top:
        looks.append((shown.allowed, colours.OTHER, ":", "window"))
    for places, colour, dashes, name in looks:
        x, y = shown.acked_ms * per_ms, places
        if len(x) > FEW:
            x, _, y = columns.envelope(x, y, edges)
        # The last step reaches to the edge of the picture.
        x, y = np.append(x, edges[-1]), np.append(y, y[-1])
        y = np.minimum(y, top * 2 + 1)
        ax.step(x, y, where="post", color=colour, lw=1.2, ls=dashes, label=name, zorder=2)


def _waits(ax: Axes, shown: Stream, per_ms: float) -> None:
    begins, ends = columns.merged(*shown.waits_ms, 0.0)
    if not len(begins):
        return
    typical = duration(float(np.median(shown.wait_lengths_ms)))
    name = f"waits, median {typical}" if len(shown.wait_lengths_ms) > 1 else f"wait, {typical}"
    shade = PathPatch(
        columns.boxes(begins * per_ms, ends * per_ms, 0.0, 1.0),
        color=colours.HELD,
        alpha=0.16,
        linewidth=0,
        transform=ax.get_xaxis_transform(),
        label=name,
        zorder=0,
    )
    ax.add_artist(shade)


def _axes(ax: Axes, edges: Numbers, unit: str, title: str) -> None:
    style.plain(ax, title)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel(f"time since the first segment in {unit}")
    ax.set_ylabel("bytes of the stream")
    ax.yaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    style.legend(ax)


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
