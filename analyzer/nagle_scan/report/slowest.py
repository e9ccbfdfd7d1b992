"""The slowest exchanges, taken apart: what the time of the tail went into."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core
from nagle_scan.words import colours
from nagle_scan.words.wording import count, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEN_MS = 0.05
"""Shorter parts are shown as a dash."""
DOMINATES = 0.5
"""A part with more of the latency than this is worth a sentence."""


class Part(NamedTuple):
    """A part of a latency in words."""

    head: str
    waits: str
    """How exchanges that spend most of their time on it spend that."""
    colour: str


PARTS = {
    "sending": Part("sending", "for the rest of the request", colours.CLIENT),
    "on_the_way": Part("on the way", "for data and ACKs on the way", colours.PALE),
    "resent": Part("resent", "for data that had to be sent again", colours.HELD_ONE_ROUND_TRIP),
    "window": Part("window", "for room in the receiver's window", colours.HELD_UNTIL_DATA),
    "held": Part("held", "for segments that Nagle's algorithm held", colours.HELD),
    "server": Part("server", "for the server", colours.SERVER),
}
"""By the engine's names, in the order in which they are shown."""


class Row(NamedTuple):
    """An exchange; durations in ms."""

    name: str
    stream: int
    frame: int
    """Its first; where something is still owed, that since which it is."""
    latency_ms: float
    connecting_ms: float
    parts_ms: Sequence[float]
    """Times of the parts that any row has."""
    is_open: bool = False
    """Was something still owed when the connection or the capture ended?"""

    @property
    def latency(self) -> str:
        """Its cell."""
        return f"{'>= ' if self.is_open else ''}{milliseconds(self.latency_ms)}"


class Slowest(NamedTuple):
    """The contents of the table of slow exchanges."""

    heads: Sequence[str]
    """Heads of the parts that any row has."""
    colours: Sequence[str]
    has_connecting: bool
    rows: Sequence[Row]

    @property
    def heading(self) -> str:
        """Above the table: exchanges that never ended are in no count and no latency."""
        unfinished = [row.is_open for row in self.rows]
        if all(unfinished):
            return "Unfinished exchanges"
        return "Unfinished and slowest exchanges" if any(unfinished) else "The slowest exchanges"

    @property
    def longest_ms(self) -> float:
        """The longest of those that ended, to draw all by."""
        return max((row.latency_ms for row in self.rows if not row.is_open), default=1.0)


def of(
    core: _core.Scan, waits: Sequence[_core.WaitRow], limit: int, least_ms: float
) -> Slowest | None:
    """The slowest exchanges and the median one; `None` where none took `least_ms`.

    Those of `waits` that never ended, the longest first, come before: they are in no latency.
    """
    slow, median = core.slowest(limit), core.median()
    if not slow or slow[0].latency_ms < least_ms:
        slow, median = [], None
    unfinished = [wait for wait in waits if wait.is_open_exchange][:limit]
    if not slow and not unfinished:
        return None
    named = [("slowest" if place == 0 else "", row) for place, row in enumerate(slow)]
    if median is not None and median.frame_end not in {row.frame_end for row in slow}:
        named.append(("median", median))
    each = list(zip(*(row.parts_ms for _, row in named), strict=True))
    kept = [place for place, of_all in enumerate(each) if max(of_all) >= SEEN_MS]
    parts = [PARTS[_core.PARTS[place]] for place in kept]
    none = [0.0] * len(kept)
    rows = [
        Row("open", wait.connection, wait.frame_from, wait.wait_ms, 0.0, none, is_open=True)
        for wait in unfinished
    ]
    rows += [
        Row(
            name,
            row.connection,
            row.frame_begin,
            row.latency_ms,
            row.connecting_ms or 0.0,
            [row.parts_ms[place] for place in kept],
        )
        for name, row in named
    ]
    return Slowest(
        [part.head for part in parts],
        [part.colour for part in parts],
        any(row.connecting_ms >= least_ms for row in rows),
        rows,
    )


def milliseconds(value: float) -> str:
    """A cell; the unit stands above the table."""
    return f"{value:,.1f}" if value >= SEEN_MS else "-"


def dominating(tenth: _core.TenthRow, least_ms: float) -> str:
    """The part that the slowest tenth waits for most; empty where none dominates."""
    if not tenth.exchanges or tenth.latency_ms < least_ms * tenth.exchanges:
        return ""
    most_ms, name = max(zip(tenth.parts_ms, _core.PARTS, strict=True))
    return name if most_ms > DOMINATES * tenth.latency_ms else ""


def dominated(tenth: _core.TenthRow, least_ms: float) -> str:
    """The part that dominates the slowest tenth; empty where it is quick, or nothing dominates."""
    name = dominating(tenth, least_ms)
    if not name:
        return ""
    most_ms = tenth.parts_ms[_core.PARTS.index(name)]
    taken = _of(most_ms / tenth.exchanges, tenth.latency_ms / tenth.exchanges)
    for_what = PARTS[name].waits
    if name == "server" and not tenth.is_way_known:
        for_what = "for the server or the way to it, whose round trip is not known"
    if tenth.exchanges == 1:
        return f"The slowest exchange waits {taken} {for_what}."
    if tenth.is_whole:
        return f"On average, the slowest tenth of the exchanges waits {taken} {for_what}."
    which = count(tenth.exchanges, "slowest exchange")
    return f"On average, the {which} wait {taken} {for_what}."


def _of(part_ms: float, whole_ms: float) -> str:
    """'1.9 of 2.1 s'."""
    part, whole = duration(part_ms), duration(whole_ms)
    number, unit = part.split()
    return f"{number if whole.endswith(f' {unit}') else part} of {whole}"
