"""The pictures on matplotlib axes, for notebooks and files."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch, PathPatch
from matplotlib.path import Path as MplPath

from nagle_scan.timeline.fit import text_width_pt, wrapped
from nagle_scan.timeline.plots import histogram as histograms
from nagle_scan.timeline.plots import ladder as ladders
from nagle_scan.timeline.plots import overview as overviews
from nagle_scan.timeline.plots import sequence as sequences
from nagle_scan.timeline.shapes import POINTS_PER_INCH, TEXT_PT, Arrow, Path, Shape, Text
from nagle_scan.words import colours

if TYPE_CHECKING:
    from nagle_scan.result import Result
    from nagle_scan.timeline.graph import Axis, Graph

WIDTH_IN = 7.2
MARGIN_PT = 6.0
ANCHORS: dict[str, Literal["left", "center", "right"]] = {
    "start": "left",
    "middle": "center",
    "end": "right",
}

_SETTINGS = threading.Lock()


class Picture(Figure):
    """A figure that a notebook displays without pyplot."""

    def _repr_png_(self) -> bytes:
        target = io.BytesIO()
        self.savefig(target, format="png", dpi=120)
        return target.getvalue()


class PictureAxes(Axes):
    """Axes of a `Picture`: a notebook displays them as it does those of pyplot.

    The caller's own axes, on which a picture was drawn, are called so, too: they have a figure.
    """

    if TYPE_CHECKING:

        @property
        def figure(self) -> Figure:
            """Never a `SubFigure`, which cannot be saved."""

    def _repr_png_(self) -> bytes | None:
        figure = self.get_figure(root=True)
        return figure._repr_png_() if isinstance(figure, Picture) else None


def ladder(
    scan: Result,
    connection: int | None = None,
    stall: int = 0,
    ax: Axes | None = None,
    width_in: float = WIDTH_IN,
) -> PictureAxes:
    """Draws the `stall`-th clearest stall (from 0 on) of a connection and its neighbours.

    Without a connection, that of the clearest stall; without a stall, the longest other wait.
    Without `ax`, on a figure of its own, `width_in` wide and as high as needed. Raises `KeyError`
    for an unknown connection, `IndexError` for an unknown stall, `TypeError` for anything but a
    number.
    """
    if ax is None:
        width_pt = width_in * POINTS_PER_INCH - 2 * MARGIN_PT
        drawn = ladders.drawing(scan, connection, stall, width_pt=width_pt)
        ax = _just_large_enough(drawn.width_pt, drawn.height_pt)
    else:
        width_pt, height_pt = size_pt(_checked(ax))
        drawn = ladders.drawing(scan, connection, stall, width_pt=width_pt, height_pt=height_pt)
    ax.set_xlim(0, drawn.width_pt)
    ax.set_ylim(max(drawn.height_pt, size_pt(ax)[1]), 0)
    ax.set_axis_off()
    ax.set_label(f"{drawn.headline}\n{drawn.sentence}")
    _draw(ax, drawn.shapes)
    return cast("PictureAxes", ax)


def sequence(
    scan: Result,
    connection: int | None = None,
    ax: Axes | None = None,
    width_in: float = WIDTH_IN,
) -> PictureAxes:
    """Draws `Connection.sequence`. Choice of the connection and errors: as for `ladder`."""
    return draw(sequences.planned(scan, connection), ax, width_in)


def overview(
    scan: Result,
    connection: int | None = None,
    ax: Axes | None = None,
    width_in: float = WIDTH_IN,
) -> PictureAxes:
    """Draws `Connection.timeline`. Choice of the connection and errors: as for `ladder`."""
    return draw(overviews.planned(scan, connection), ax, width_in)


def histogram(
    scan: Result,
    connection: int | None = None,
    ax: Axes | None = None,
    width_in: float = WIDTH_IN,
) -> PictureAxes:
    """Draws the waits of a connection, or of the whole scan, stalls against other causes."""
    width_pt = width_in * POINTS_PER_INCH if ax is None else size_pt(_checked(ax))[0]
    return draw(histograms.planned(scan, connection, width_pt), ax, width_in)


def draw(graph: Graph, ax: Axes | None, width_in: float) -> PictureAxes:
    """A graph on the caller's axes, or on those of a new figure."""
    if ax is None:
        made = _figure(width_in * POINTS_PER_INCH, graph.height_pt, layout="constrained")
        ax = made.add_subplot(axes_class=PictureAxes)
    _checked(ax).set_label(f"{graph.headline}\n{graph.sentence}")
    for side in ("top", "right", *([] if graph.y.name else ["left"])):
        ax.spines[side].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(colours.FAINT)
    ax.tick_params(labelsize=TEXT_PT - 1, colors=colours.INK)
    _scale(ax, "x", graph.x)
    _scale(ax, "y", graph.y)
    if not graph.y.name:
        ax.tick_params(axis="y", length=0)
        ax.spines["bottom"].set_visible(bool(graph.x.ticks))
    _draw(ax, graph.shapes)
    rows = _legend(ax, graph.named)
    lines = wrapped(graph.title, size_pt(ax)[0], TEXT_PT + 1, bold=True)
    pad = 8 + rows * (TEXT_PT - 1) * 1.55 if rows else 6.0
    # With a given height matplotlib does not look for one that avoids ticks on top.
    title = ax.set_title("\n".join(lines), loc="left", pad=pad, y=1.0)
    title.set(fontsize=TEXT_PT + 1, fontweight="bold", color=colours.INK)
    return cast("PictureAxes", ax)


def _scale(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    places, labels = [at for at, _ in axis.ticks], [label for _, label in axis.ticks]
    getattr(ax, f"set_{which}scale")("log" if axis.is_log else "linear")
    getattr(ax, f"set_{which}ticks")(places, labels)
    getattr(ax, f"set_{which}lim")(axis.low, axis.high)
    getattr(ax, f"set_{which}label")(axis.name, size=TEXT_PT, color=colours.INK)
    ax.minorticks_off()


def _legend(ax: Axes, named: Sequence[Path]) -> int:
    """A legend below the title, in as many rows as it needs, so that it covers nothing."""
    if not named:
        return 0
    size = TEXT_PT - 1
    widest = max(text_width_pt(shape.name, size) for shape in named) + 4.5 * size
    columns = max(1, min(len(named), int(size_pt(ax)[0] // widest)))
    ax.legend(
        [*map(_key, named)],
        [shape.name for shape in named],
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
    return -(-len(named) // columns)


def _key(shape: Path) -> Patch | Line2D:
    look = _look(shape)
    if shape.fill:
        return Patch(**look)
    return Line2D([], [], color=shape.stroke, linewidth=look["linewidth"], ls=look["linestyle"])


def _draw(ax: Axes, shapes: Sequence[Shape]) -> None:
    """The later ones above the others."""
    for place, shape in enumerate(shapes):
        zorder = 1 + place / len(shapes)
        if isinstance(shape, Text):
            _text(ax, shape, zorder)
        elif isinstance(shape, Path):
            lines = [[*line, line[0]] if shape.fill else line for line in shape.lines]
            parts = [MplPath(line, closed=bool(shape.fill)) for line in lines]
            path = MplPath.make_compound_path(*parts)
            ax.add_artist(PathPatch(path, label=shape.name, zorder=zorder, **_look(shape)))
        else:
            ax.add_artist(_arrow(shape, zorder))


def _look(shape: Path) -> dict[str, Any]:
    return {
        "fill": bool(shape.fill),
        "facecolor": shape.fill or "none",
        "edgecolor": shape.stroke or "none",
        "linewidth": shape.width_pt if shape.stroke else 0,
        "linestyle": _line_style(shape),
        "alpha": shape.opacity,
        "hatch": shape.hatch,
    }


def _line_style(shape: Path | Arrow) -> str | tuple[float, tuple[float, ...]]:
    """matplotlib's dashes are multiples of the width."""
    return (0, tuple(one / shape.width_pt for one in shape.dashes)) if shape.dashes else "-"


def _arrow(shape: Arrow, zorder: float) -> FancyArrowPatch:
    return FancyArrowPatch(
        shape.tail,
        shape.head,
        arrowstyle="-|>",
        mutation_scale=9,
        color=shape.colour,
        linewidth=shape.width_pt,
        linestyle=_line_style(shape),
        shrinkA=0,
        shrinkB=1,
        zorder=zorder,
    )


def _text(ax: Axes, shape: Text, zorder: float) -> None:
    look: dict[str, Any] = {"fontsize": shape.size_pt, "color": shape.colour}
    if shape.disc:
        look["bbox"] = {"boxstyle": "circle,pad=0.18", "color": shape.disc, "linewidth": 0}
    ax.text(
        shape.x,
        shape.y,
        shape.text,
        ha=ANCHORS[shape.anchor],
        va="baseline",
        fontweight="bold" if shape.is_bold else "normal",
        rotation=90 if shape.is_turned else 0,
        zorder=zorder,
        # A `$` in a name does not start a formula.
        parse_math=False,
        **look,
    )


def _checked(ax: Axes) -> Axes:
    """The caller's axes; `TypeError` for anything else."""
    if not isinstance(ax, Axes):
        raise TypeError(f"ax is matplotlib Axes, not {type(ax).__name__}")
    return ax


def _figure(
    width_pt: float, height_pt: float, layout: Literal["constrained"] | None = None
) -> Picture:
    """A new figure, which pyplot knows nothing of."""
    made = Picture(figsize=(width_pt / POINTS_PER_INCH, height_pt / POINTS_PER_INCH), layout=layout)
    FigureCanvasAgg(made)
    return made


def _just_large_enough(width_pt: float, height_pt: float) -> Axes:
    """Axes of a size, on a figure of their own."""
    whole = width_pt + 2 * MARGIN_PT, height_pt + 2 * MARGIN_PT
    x, y = MARGIN_PT / whole[0], MARGIN_PT / whole[1]
    return _figure(*whole).add_axes((x, y, 1 - 2 * x, 1 - 2 * y), axes_class=PictureAxes)


def size_pt(ax: Axes) -> tuple[float, float]:
    """Width and height of axes, in points."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_window_extent()
    return box.width / figure.dpi * POINTS_PER_INCH, box.height / figure.dpi * POINTS_PER_INCH


@contextmanager
def settings() -> Iterator[None]:
    """Settings for files: matplotlib's own style, text stays text, and output is reproducible.

    `svg.fonttype` and `svg.hashsalt` are nowhere but in `rcParams`, which belong to the process,
    not to a figure or a thread: one picture after the other.
    """
    with _SETTINGS, mpl.rc_context(_own_style()):
        yield


@cache
def _own_style() -> dict[Any, Any]:
    """matplotlib's defaults, whatever a notebook has set; the backend draws nothing."""
    defaults: dict[Any, Any] = {
        key: value for key, value in mpl.rcParamsDefault.items() if key != "backend"
    }
    return {**defaults, "svg.fonttype": "none", "svg.hashsalt": "nagle-scan"}
