"""Helpers of the tests of pictures: captures of every kind, and where texts are on paper."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from conversation import Conversation, connected, stalled, write
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

TOUCH_PX = 1.0
"""Boxes of text include the room for letters that are not there."""


def long_names() -> Conversation:
    """IPv6 addresses of full length."""
    client = ("2001:db8:1111:2222:3333:4444:5555:6666", 54321)
    server = ("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 65535)
    return stalled(Conversation(client, server, rtt_ms=26.0))


def crowded() -> Conversation:
    """A stall full of the other side's ACKs, and a pause of a minute behind it."""
    made = connected(rtt_ms=0.02)
    for _ in range(4):
        made.stall()
    made.data("client", 6)
    for _ in range(40):
        made.wait(1.0)
        made.again("client", 0)
    made.ack("server")
    made.wait(0.02)
    made.data("client", 7)
    made.answer()
    made.wait(60_000.0)
    made.stall()
    return made


def clean() -> Conversation:
    """Requests and replies, nothing held."""
    made = connected(rtt_ms=0.1)
    for _ in range(5):
        made.data("client", 50)
        made.answer()
        made.wait(30.0)
    return made


MADE = {
    "fast": lambda: stalled(Conversation(rtt_ms=0.02)),
    "slow": lambda: stalled(Conversation(rtt_ms=100.0)),
    "long": long_names,
    "crowded": crowded,
    "clean": clean,
}


def capture(name: str, folder: Path) -> Path:
    """One of `MADE`, as a file."""
    return write(folder / f"{name}.pcap", MADE[name]().frames)


def texts(ax: Axes) -> list[tuple[str, Bbox]]:
    """The texts of an axes, with their boxes in pixels."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    unseen = [*_beyond(ax.xaxis, ax.get_xlim()), *_beyond(ax.yaxis, ax.get_ylim())]
    shown = [
        text
        for text in ax.findobj(Text)
        if isinstance(text, Text)
        and text.get_visible()
        and text.get_text().strip()
        and text not in unseen
    ]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


def _beyond(axis: Axis, limits: tuple[float, float]) -> list[Text]:
    """Labels of ticks outside the axes: they exist but are not drawn."""
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    inside = [min(limits) <= tick.get_loc() <= max(limits) for tick in ticks]
    if not axis.get_visible() or not axis.axes.axison:
        inside = [False] * len(ticks)
    return [tick.label1 for tick, seen in zip(ticks, inside, strict=True) if not seen]


def overlaps(ax: Axes) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other."""
    return [
        (first, second)
        for (first, one), (second, other) in combinations(texts(ax), 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > TOUCH_PX
        and min(one.y1, other.y1) - max(one.y0, other.y0) > TOUCH_PX
    ]


def outside(ax: Axes) -> list[str]:
    """Texts that the edge of the figure cuts."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.bbox.width, figure.bbox.height
    return [
        text
        for text, box in texts(ax)
        if box.x0 < -TOUCH_PX
        or box.y0 < -TOUCH_PX
        or box.x1 > width + TOUCH_PX
        or box.y1 > height + TOUCH_PX
    ]
