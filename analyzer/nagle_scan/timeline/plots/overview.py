"""The overview strip: a whole connection, and where in it the stalls fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import PathPatch

from nagle_scan.timeline import columns, style
from nagle_scan.timeline.subject import Subject, of
from nagle_scan.words import certainty, colours
from nagle_scan.words.wording import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

    from nagle_scan.result import Result
    from nagle_scan.result.rows import Rows

COLUMNS = 360
FEW = 120
"""Up to so many stalls are drawn one by one; more, as their share of each column."""


def overview(
    scan: Result,
    connection: int | None = None,
    ax: Axes | None = None,
    width_in: float = 7.2,
) -> Axes:
    """Draws a connection from its first segment to its last: stalls, other waits, bytes.

    Which connection is drawn, where, and what is raised: as for `ladder`.
    """
    subject = of(scan, connection)
    ax = style.axes(ax, width_in, 2.3)
    unit, per_ms = ("s", 1e-3) if subject.span_ms >= 2000 else ("ms", 1.0)
    span = subject.span_ms * per_ms
    style.plain(ax, f"The whole connection (tcp.stream {subject.row.connection})")
    edges = np.linspace(0, span, COLUMNS + 1)
    _lane(ax, _intervals(subject, subject.stalls, per_ms), edges, 3.0, colours.HELD)
    _lane(ax, _intervals(subject, subject.waits, per_ms), edges, 2.0, colours.OTHER)
    names = [
        f"stalls ({len(subject.stalls):,})",
        f"other waits ({len(subject.waits):,})",
        *(_bytes(ax, subject, side, edges, per_ms) for side in ("client", "server")),
    ]
    ax.set_yticks([3.4, 2.4, 1.4, 0.4], names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(-0.1, 4.35)
    ax.set_xlim(-span * 0.005, span * 1.005)
    ax.set_xlabel(f"time since the first segment in {unit}")
    _mark_clearest(ax, subject, per_ms)
    ax.set_label("\n".join(_in_words(subject)))
    return ax


def _intervals(subject: Subject, table: Rows, per_ms: float) -> tuple[np.ndarray, np.ndarray]:
    ends = subject.since_begin_ms(table["time_ns"])
    waits = table["wait_ms"]
    return (ends - waits) * per_ms, ends * per_ms


def _lane(
    ax: Axes,
    intervals: tuple[np.ndarray, np.ndarray],
    edges: np.ndarray,
    floor: float,
    colour: str,
) -> None:
    """One lane of waits: each as a box, or their share of the time where they are many."""
    begins, ends = intervals
    ax.axhline(floor, color=colours.FAINT, linewidth=0.5, zorder=1)
    if len(begins) > FEW:
        share = columns.covered(begins, ends, edges)
        _fill(ax, columns.skyline(0.85 * share, edges, floor), colour)
        return
    pixel = edges[1] - edges[0]
    wide = np.maximum(ends, begins + pixel / 2)
    _fill(ax, columns.boxes(begins, wide, floor, floor + 0.85), colour)


def _fill(ax: Axes, shape: Path, colour: str) -> None:
    if len(np.asarray(shape.vertices)):
        ax.add_artist(PathPatch(shape, color=colour, linewidth=0, zorder=2))


def _bytes(ax: Axes, subject: Subject, side: str, edges: np.ndarray, per_ms: float) -> str:
    """Bytes of one side per column, and the lane's name."""
    floor = 1.0 if side == "client" else 0.0
    ax.axhline(floor, color=colours.FAINT, linewidth=0.5, zorder=1)
    if subject.segments is None:
        return f"{side}: not read"
    if subject.is_excerpt:
        return f"{side}: not drawn"
    sent = subject.segments[subject.segments["sender"] == side]
    at = subject.since_begin_ms(sent["time_ns"]) * per_ms
    sums = np.histogram(at, edges, weights=sent["len"].astype(float))[0]
    # The square root keeps a request of 100 bytes visible next to a reply of a megabyte.
    height = np.sqrt(sums / max(sums.max(), 1.0))
    colour = colours.CLIENT if side == "client" else colours.SERVER
    _fill(ax, columns.skyline(0.8 * height, edges, floor), colour)
    return f"{side}: {sent['len'].sum():,} B"


def _mark_clearest(ax: Axes, subject: Subject, per_ms: float) -> None:
    clearest = subject.clearest
    if clearest is None:
        return
    middle_ns = (clearest.from_ns + clearest.to_ns) / 2
    at = (middle_ns - subject.row.first_ns) / 1e6 * per_ms
    ax.plot([at], [4.1], marker="v", color=colours.INK, markersize=5, zorder=3)
    left = at < ax.get_xlim()[1] / 2
    ax.annotate(
        "the clearest",
        (at, 4.1),
        xytext=(6 if left else -6, 0),
        textcoords="offset points",
        ha="left" if left else "right",
        va="center",
        fontsize=style.TEXT_PT - 1,
        color=colours.INK,
    )


def _in_words(subject: Subject) -> tuple[str, str]:
    row = subject.row
    headline = f"Overview of tcp.stream {row.connection}: {certainty.counts(row) or 'no'} stalls"
    lost = f"{certainty.lost(row) or 'nothing'} of {duration(subject.span_ms)} lost to stalls"
    left_out = f"; its {row.segments:,} segments are too many to draw" if subject.is_excerpt else ""
    return headline, f"{lost}; {len(subject.waits):,} other waits{left_out}"
