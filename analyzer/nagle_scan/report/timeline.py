"""`-o timeline.png` or `.svg`: all four pictures of one connection on one sheet."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg

from nagle_scan import _core
from nagle_scan.report import formats
from nagle_scan.report.view import Limits, View
from nagle_scan.system import files
from nagle_scan.timeline import axes, fit
from nagle_scan.timeline.axes import Picture, histogram, ladder, overview, sequence
from nagle_scan.timeline.shapes import POINTS_PER_INCH
from nagle_scan.timeline.subject import worst
from nagle_scan.words import colours
from nagle_scan.words.wording import file_names

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

SIZE_IN = (15.0, 9.2)
DPI = 130


def write(result: Result, path: str, options: Options) -> None:
    """Draws the connection of the clearest stall, else of the longest wait."""
    kind = formats.suffix(path).lstrip(".")
    title = View(result, Limits(), options).in_one_line
    dated = {"Date": None} if kind == "svg" else None
    drawn = io.BytesIO()
    with axes.settings():
        sheet(result, title).savefig(drawn, format=kind, dpi=DPI, metadata=dated)
    files.replace(path, drawn.getvalue())


def sheet(result: Result, title: str) -> Picture:
    """The figure."""
    figure = Picture(figsize=SIZE_IN)
    FigureCanvasAgg(figure)
    _headline(figure, result, title)
    number = worst(result)
    if number is None:
        figure.text(0.5, 0.5, "No TCP connection in this capture.", ha="center")
        return figure
    left = figure.add_gridspec(1, 1, left=0.02, right=0.49, top=0.9, bottom=0.02)
    ladder(result, number, ax=figure.add_subplot(left[0]))
    right = figure.add_gridspec(
        3, 1, left=0.58, right=0.985, top=0.875, bottom=0.065, hspace=0.9, height_ratios=(5, 4, 3)
    )
    sequence(result, number, ax=figure.add_subplot(right[0]))
    histogram(result, number, ax=figure.add_subplot(right[1]))
    overview(result, number, ax=figure.add_subplot(right[2]))
    return figure


def _headline(figure: Picture, result: Result, title: str) -> None:
    """The verdict and the capture's name."""
    width_pt = SIZE_IN[0] * POINTS_PER_INCH * 0.96
    about = f"{file_names(result.captures)} (nagle-scan {_core.VERSION})"
    for text, y, size, colour, weight in (
        (title, 0.955, 15.0, colours.INK, "bold"),
        (about, 0.928, 9.0, colours.FAINT, "normal"),
    ):
        said = fit.shortened(text, width_pt, size)
        figure.text(0.02, y, said, fontsize=size, color=colour, fontweight=weight, parse_math=False)
