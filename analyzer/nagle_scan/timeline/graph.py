"""A graph: axes and shapes in their units; and its layout on paper, for pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nagle_scan.timeline.fit import text_width_pt, wrapped
from nagle_scan.timeline.shapes import LINE, MIDDLE, TEXT_PT, Drawing, Path, Point, Shape, Text
from nagle_scan.words import colours

SMALL_PT = TEXT_PT - 1
GAP_PT = 5.0
"""Between texts and what they stand beside."""
KEY_PT = 2.4 * SMALL_PT
"""Room for a line or box of the legend, and a gap."""


class Axis(NamedTuple):
    """A scale, from `low` to `high`."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    name: str = ""
    is_log: bool = False

    def share(self, value: float) -> float:
        """Where on the axis a value is, 0 at its begin, 1 at its end."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Graph(NamedTuple):
    """A graph; what it shows is said in `headline` and `sentence`, too."""

    title: str
    headline: str
    sentence: str
    height_pt: float
    x: Axis
    y: Axis
    """Without a name, the left has no line."""
    shapes: Sequence[Path | Text]

    @property
    def named(self) -> list[Path]:
        """The shapes in the legend."""
        return [shape for shape in self.shapes if isinstance(shape, Path) and shape.name]


def nothing(title: str, headline: str, why: str) -> Graph:
    """A sentence in place of a graph that cannot be drawn."""
    said = Text(0.5, 0.5, why, TEXT_PT, "middle")
    return Graph(title, headline, why, 100.0, Axis(0, 1, ()), Axis(0, 1, ()), [said])


def ticks(low: float, high: float, most: int = 7) -> list[tuple[float, str]]:
    """At most `most` round numbers between `low` and `high`, and how they are written."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(
        step for step in (power, 2 * power, 5 * power, 10 * power) if (high - low) / step < most
    )
    digits = max(0, -math.floor(math.log10(step)))
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [(place * step, f"{place * step:,.{digits}f}") for place in places]


def whole_ticks(low: float, high: float, most: int = 7) -> list[tuple[float, str]]:
    """Ticks at whole numbers only."""
    return [(at, label) for at, label in ticks(low, high, most) if at == round(at)]


def time_axis(begin_ms: float, end_ms: float) -> tuple[Axis, float]:
    """Time since the first segment, in ms or s, and one millisecond in that unit."""
    unit, per_ms = ("s", 1e-3) if end_ms >= 2000 else ("ms", 1.0)
    begin, end = begin_ms * per_ms, end_ms * per_ms
    name = f"time since the first segment in {unit}"
    return Axis(begin, end, ticks(begin, end), name), per_ms


def drawing(graph: Graph, width_pt: float) -> Drawing:
    """The graph on paper: title, legend, axes, shapes."""
    head = [*_title(graph, width_pt)]
    legend = [*_legend(graph.named, width_pt, head[-1].y + GAP_PT)]
    bottom_lines = graph.x.name.count("\n") + 1 + bool(graph.x.ticks)
    bottom = graph.height_pt - bottom_lines * SMALL_PT * LINE - GAP_PT
    widest = max((text_width_pt(label, SMALL_PT) for _, label in graph.y.ticks), default=0.0)
    left = widest + GAP_PT + (SMALL_PT * LINE + GAP_PT) * bool(graph.y.name)
    top = max(shape.y for shape in (*head, *legend) if isinstance(shape, Text)) + 2 * GAP_PT
    plot = _Plot(graph.x, graph.y, left, width_pt - 2 * GAP_PT, top, bottom)
    shapes = [*head, *legend, *map(plot.placed, graph.shapes), *plot.axes()]
    return Drawing(width_pt, graph.height_pt, graph.headline, graph.sentence, shapes)


class _Plot(NamedTuple):
    """Where on paper the axes are."""

    x: Axis
    y: Axis
    left: float
    right: float
    top: float
    bottom: float

    def at(self, point: Point) -> Point:
        x = self.left + self.x.share(point[0]) * (self.right - self.left)
        return x, self.bottom + self.y.share(point[1]) * (self.top - self.bottom)

    def placed(self, shape: Path | Text) -> Path | Text:
        if isinstance(shape, Path):
            return shape._replace(lines=[list(map(self.at, line)) for line in shape.lines])
        x, y = self.at((shape.x, shape.y))
        return shape._replace(x=x, y=y)

    def axes(self) -> Iterator[Shape]:
        """Lines, ticks and names."""
        if not self.x.ticks:
            return
        line_pt = SMALL_PT * LINE
        marks = [(self.at((at, self.y.low))[0], label) for at, label in self.x.ticks]
        lines = [[(self.left, self.bottom), (self.right, self.bottom)]]
        lines += [[(x, self.bottom), (x, self.bottom + 3)] for x, _ in marks]
        lines += [[(self.left, self.top), (self.left, self.bottom)]] if self.y.name else []
        yield Path(lines, stroke=colours.FAINT, width_pt=0.8)
        yield from (Text(x, self.bottom + line_pt, label, anchor="middle") for x, label in marks)
        for number, said in enumerate(self.x.name.split("\n"), 2):
            middle = (self.left + self.right) / 2
            yield Text(middle, self.bottom + number * line_pt, said, anchor="middle")
        for at, label in self.y.ticks:
            y = self.at((self.x.low, at))[1] + MIDDLE * SMALL_PT
            yield Text(self.left - GAP_PT, y, label, anchor="end")
        if self.y.name:
            middle = (self.top + self.bottom) / 2
            yield Text(SMALL_PT, middle, self.y.name, anchor="middle", is_turned=True)


def _title(graph: Graph, width_pt: float) -> Iterator[Text]:
    size = TEXT_PT + 1
    for number, line in enumerate(wrapped(graph.title, width_pt, size, bold=True), 1):
        yield Text(0, number * size * LINE, line, size, is_bold=True)


def _legend(named: Sequence[Path], width_pt: float, top: float) -> Iterator[Path | Text]:
    """The legend, in as many rows as it needs."""
    x, y = 0.0, top + SMALL_PT
    for shape in named:
        width = KEY_PT + text_width_pt(shape.name, SMALL_PT) + 2 * GAP_PT
        if x and x + width > width_pt:
            x, y = 0.0, y + SMALL_PT * LINE * 1.15
        right, middle = x + 1.8 * SMALL_PT, y - MIDDLE * SMALL_PT
        low, high = y, y - 0.72 * SMALL_PT
        box = [(x, low), (x, high), (right, high), (right, low)]
        yield shape._replace(lines=[box if shape.fill else [(x, middle), (right, middle)]])
        yield Text(x + KEY_PT, y, shape.name)
        x += width
