"""What all pictures share: figures without global state and text sizes."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nagle_scan.timeline.fit import POINTS_PER_INCH, text_width_pt, wrapped
from nagle_scan.words import colours

TEXT_PT = 9.0

_SETTINGS = threading.Lock()


class Picture(Figure):
    """A figure that a notebook displays without pyplot."""

    def _repr_png_(self) -> bytes:
        target = io.BytesIO()
        self.savefig(target, format="png", dpi=120)
        return target.getvalue()


class PictureAxes(Axes):
    """Axes of a `Picture`: a notebook displays them as it does those of pyplot."""

    def _repr_png_(self) -> bytes | None:
        figure = self.get_figure(root=True)
        return figure._repr_png_() if isinstance(figure, Picture) else None


@contextmanager
def settings() -> Iterator[None]:
    """Settings for files: matplotlib's own style, text stays text, and output is reproducible.

    `svg.fonttype`, `svg.hashsalt` and `pdf.fonttype` are nowhere but in `rcParams`, which belong to
    the process, not to a figure or a thread: one picture after the other.
    """
    with _SETTINGS, mpl.rc_context(_own_style()):
        yield


@cache
def _own_style() -> dict[Any, Any]:
    """matplotlib's defaults, whatever a notebook has set; the backend draws nothing."""
    defaults: dict[Any, Any] = {
        key: value for key, value in mpl.rcParamsDefault.items() if key != "backend"
    }
    return {**defaults, "svg.fonttype": "none", "svg.hashsalt": "nagle-scan", "pdf.fonttype": 42}


def axes(ax: Axes | None, width_in: float, height_in: float) -> Axes:
    """The caller's axes, or those of a new figure, which makes room for their labels."""
    if ax is not None:
        return checked(ax)
    made = figure(width_in, height_in, layout="constrained")
    return made.add_subplot(axes_class=PictureAxes)


def checked(ax: Axes) -> Axes:
    """The caller's axes; `TypeError` for anything else."""
    if not isinstance(ax, Axes):
        raise TypeError(f"ax is matplotlib Axes, not {type(ax).__name__}")
    return ax


def figure(
    width_in: float, height_in: float, layout: Literal["constrained"] | None = None
) -> Picture:
    """A new figure, which pyplot knows nothing of."""
    made = Picture(figsize=(width_in, height_in), layout=layout)
    FigureCanvasAgg(made)
    return made


def size_pt(ax: Axes) -> tuple[float, float]:
    """Width and height of axes, in points."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_window_extent()
    return box.width / figure.dpi * POINTS_PER_INCH, box.height / figure.dpi * POINTS_PER_INCH


def plain(ax: Axes, title: str) -> None:
    """The frame that all graphs have: two spines, small text, a title at the left."""
    _title(ax, title, 6.0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(colours.FAINT)
    ax.tick_params(labelsize=TEXT_PT - 1, colors=colours.INK)
    ax.xaxis.label.set(size=TEXT_PT, color=colours.INK)
    ax.yaxis.label.set(size=TEXT_PT, color=colours.INK)


def text(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    size: float,
    ha: str = "left",
    va: str = "baseline",
    color: str = colours.INK,
    weight: str = "normal",
) -> None:
    """A line of text in the coordinates of the axes."""
    look: dict[str, Any] = {"fontsize": size, "color": color, "fontweight": weight}
    # A `$` in a name does not start a formula.
    ax.text(x, y, text, ha=ha, va=va, zorder=4, parse_math=False, **look)


def say(ax: Axes, text: str) -> None:
    """A message in place of a picture that cannot be drawn."""
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", fontsize=TEXT_PT)


def legend(ax: Axes) -> None:
    """A legend below the title, in as many rows as it needs, so that it covers nothing."""
    handles, names = ax.get_legend_handles_labels()
    size = TEXT_PT - 1
    widest = max((text_width_pt(name, size) for name in names), default=0.0) + 4.5 * size
    columns = max(1, min(len(names), int(size_pt(ax)[0] // max(widest, 1.0))))
    rows = -(-len(names) // columns)
    ax.legend(
        handles,
        names,
        fontsize=size,
        frameon=False,
        labelcolor=colours.INK,
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.1,
        borderpad=0.2,
        handlelength=1.8,
        columnspacing=1.5,
    )
    _title(ax, ax.get_title(loc="left"), 8 + rows * size * 1.55)


def _title(ax: Axes, text: str, pad_pt: float) -> None:
    lines = wrapped(" ".join(text.split()), size_pt(ax)[0], TEXT_PT + 1, bold=True)
    # With a given height matplotlib does not look for one that avoids ticks on top.
    title = ax.set_title("\n".join(lines), loc="left", pad=pad_pt, y=1.0)
    title.set(fontsize=TEXT_PT + 1, fontweight="bold", color=colours.INK)
