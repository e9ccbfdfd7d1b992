"""The time-sequence graph: what was sent, what was acknowledged, and where it stood still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import PathPatch

from nagle_scan.timeline import columns, style, words
from nagle_scan.timeline.arrows import peer
from nagle_scan.timeline.subject import Subject, of, rel_acks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from nagle_scan.results import Scan

COLUMNS = 400
FEW = 500
"""So many segments are drawn one by one; of more, their range in each column."""
WAITS_SHOWN = 12
"""Where the stalls are too many to be told apart: an excerpt so many times the clearest long."""


def sequence(scan: Scan, connection: int, ax: Axes | None = None, width_in: float = 7.2) -> Axes:
    """Draws the stream of the side that holds (else that sends more) against time, as tcptrace.

    Each segment is an upright stroke from its first byte to its last; the line below is what the
    peer has acknowledged, the dotted one above what its window allows.
    """
    subject = of(scan, connection)
    ax = style.axes(ax, width_in, 3.4)
    segments = subject.segments
    if segments is None:
        style.plain(ax, f"Bytes against time (tcp.stream {subject.row.id})")
        ax.set_label(f"No time-sequence graph\n{style.NOT_READ_AGAIN}")
        style.say(ax, style.NOT_READ_AGAIN)
        return ax
    side = _side(subject, segments)
    begin_ms, end_ms = _excerpt(subject)
    per_ms, unit = (1e-3, "s") if end_ms >= 2000 else (1.0, "ms")
    part = _within(subject, segments, begin_ms, end_ms)
    edges = np.linspace(begin_ms, end_ms, COLUMNS + 1) * per_ms
    _sent(ax, subject, part[part["sender"] == side], edges, per_ms)
    _acknowledged(ax, subject, segments, side, edges, per_ms)
    _held(ax, subject, side, edges, per_ms)
    _axes(ax, subject, side, edges, unit)
    ax.set_label("\n".join(_in_words(subject, side, begin_ms, end_ms)))
    return ax


def _side(subject: Subject, segments: pd.DataFrame) -> str:
    row = subject.row
    if row.client_stalls != row.server_stalls:
        return "client" if row.client_stalls > row.server_stalls else "server"
    sent = segments.groupby("sender", observed=False)["len"].sum()
    return "client" if sent["client"] > sent["server"] else "server"


def _excerpt(subject: Subject) -> tuple[float, float]:
    """All of the connection, or what surrounds its clearest stall."""
    clearest, span = subject.clearest, subject.span_ms
    if clearest is None or clearest.wait_ms * 4 * WAITS_SHOWN >= span:
        return 0.0, span
    middle = ((clearest.from_ns + clearest.to_ns) / 2 - subject.row.first_ns) / 1e6
    half = clearest.wait_ms * WAITS_SHOWN / 2
    begin = min(max(0.0, middle - half), span - 2 * half)
    return begin, begin + 2 * half


def _within(
    subject: Subject, segments: pd.DataFrame, begin_ms: float, end_ms: float
) -> pd.DataFrame:
    at = subject.since_begin_ms(segments["time_ns"])
    return segments[(at >= begin_ms) & (at <= end_ms)]


def _sent(ax: Axes, subject: Subject, sent: pd.DataFrame, edges: np.ndarray, per_ms: float) -> None:
    """The segments, the held ones thick."""
    data = sent[sent["len"] > 0]
    x = subject.since_begin_ms(data["time_ns"]) * per_ms
    low = data["rel_seq"].to_numpy(dtype=float)
    high = low + data["len"].to_numpy(dtype=float)
    held = data["frame"].isin(subject.stalls["frame_held"]).to_numpy()
    for chosen, colour, width, name in (
        (~held, style.INK, 1.2, "sent"),
        (held, style.HELD, 2.6, "held, then sent"),
    ):
        if not chosen.any():
            continue
        at, bottom, top = x[chosen], low[chosen], high[chosen]
        if len(at) > FEW:
            at, bottom, _ = columns.envelope(x[chosen], low[chosen], edges)
            top = columns.envelope(x[chosen], high[chosen], edges)[2]
        strokes = columns.bars(at, bottom, top)
        ax.add_patch(PathPatch(strokes, fill=False, edgecolor=colour, linewidth=width, zorder=3))
        # A patch would stand in the legend as a box.
        ax.plot([], [], color=colour, linewidth=width, label=name)
    if len(high):
        ax.dataLim.update_from_data_y(np.array([low.min(), high.max()]))
        margin = max(1.0, (high.max() - low.min()) * 0.06)
        ax.set_ylim(low.min() - margin, high.max() + margin)


def _acknowledged(
    ax: Axes,
    subject: Subject,
    segments: pd.DataFrame,
    side: str,
    edges: np.ndarray,
    per_ms: float,
) -> None:
    """What the peer has acknowledged, as a staircase."""
    acks = rel_acks(segments, peer(side))
    by_peer = segments[segments["sender"] == peer(side)]
    x = subject.since_begin_ms(by_peer["time_ns"]) * per_ms
    known = acks >= 0
    x, y = x[known], np.maximum.accumulate(acks[known].astype(float))
    if not len(x):
        return
    inside = (x >= edges[0]) & (x <= edges[-1])
    before = y[x < edges[0]]
    start = before[-1] if len(before) else 0.0
    x, y = x[inside], y[inside]
    if len(x) > FEW:
        x, _, y = columns.envelope(x, y, edges)
    steps_x = np.concatenate([[edges[0]], x, [edges[-1]]])
    steps_y = np.concatenate([[start], y, [y[-1] if len(y) else start]])
    ax.plot(
        steps_x,
        steps_y,
        drawstyle="steps-post",
        color=style.CLIENT,
        linewidth=1.2,
        linestyle=(0, (4, 1.5)),
        label="acknowledged",
        zorder=2,
    )


def _held(ax: Axes, subject: Subject, side: str, edges: np.ndarray, per_ms: float) -> None:
    stalls = subject.stalls[subject.stalls["sender"] == side]
    ends = subject.since_begin_ms(stalls["time_ns"])
    begins = (ends - stalls["wait_ms"].to_numpy(dtype=float)) * per_ms
    ends = ends * per_ms
    inside = (ends > edges[0]) & (begins < edges[-1])
    begins, ends = columns.merged(begins[inside], ends[inside], 0.0)
    if not len(begins):
        return
    shade = columns.boxes(np.maximum(begins, edges[0]), np.minimum(ends, edges[-1]), 0.0, 1.0)
    ax.add_patch(
        PathPatch(
            shade,
            color=style.HELD,
            alpha=0.16,
            linewidth=0,
            transform=ax.get_xaxis_transform(),
            label="wait",
            zorder=0,
        )
    )


def _axes(ax: Axes, subject: Subject, side: str, edges: np.ndarray, unit: str) -> None:
    whole = edges[0] == 0 and edges[-1] * (1000 if unit == "s" else 1) >= subject.span_ms * 0.999
    part = "" if whole else ", around the clearest stall"
    style.plain(ax, f"What the {side} sent, against time (tcp.stream {subject.row.id}{part})")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel(f"time since the first segment in {unit}")
    ax.set_ylabel("bytes of the stream")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.legend(fontsize=style.TEXT_PT - 1, frameon=False, labelcolor=style.INK, loc="upper left")


def _in_words(subject: Subject, side: str, begin_ms: float, end_ms: float) -> tuple[str, str]:
    headline = f"Time-sequence graph of what the {side} sent on tcp.stream {subject.row.id}"
    held = subject.stalls[subject.stalls["sender"] == side]
    extent = f"from {words.ms(begin_ms)} to {words.ms(end_ms)} after the first segment"
    return headline, f"{extent}; {len(held):,} segments were held on the whole connection"
