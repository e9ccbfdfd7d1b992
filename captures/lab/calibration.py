"""Is what we call certain, likely and possible true as often as these words say?

By stall, and by connection: a connection counts once, by the surest stall that was reported of it,
and is right if a stall of that confidence is true. A reader acts on connections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pandas as pd

CONFIDENCES = ("certain", "likely", "possible")
FEW = 20
"""Connections from which a share means something: of 20, one is 5 %."""


class Event(NamedTuple):
    """A stall that was reported, and whether it is true."""

    capture: str
    connection: int
    confidence: str
    is_true: bool


# The shares of true ones that a confidence stands for, at least and at most: of stalls, and of
# connections.
REQUIRED: dict[str, dict[str, tuple[float, float]]] = {
    "certain": {"stall": (0.999, 1), "connection": (0.99, 1)},
    "likely": {"stall": (0.95, 1), "connection": (0.95, 1)},
    "possible": {"stall": (0.4, 0.95), "connection": (0.4, 0.95)},
}


class Line(NamedTuple):
    """How often a confidence was right."""

    confidence: str
    by: str
    true: int
    events: int
    connections: int
    """Connections with such stalls: the stalls of one are true or false together."""

    @property
    def verdict(self) -> str:
        """`ok`, `FAIL`, or `few` where no limit applies."""
        least, most = REQUIRED[self.confidence][self.by]
        # A single event more or less would break the limit of fewer.
        enough = round(1 / (1 - (least if most == 1 else most)))
        if self.events < enough or self.connections < FEW:
            return "few"
        return "ok" if least <= self.true / self.events <= most else "FAIL"

    @property
    def required(self) -> str:
        """The limit, in words."""
        least, most = REQUIRED[self.confidence][self.by]
        low = f"{least * 100:g}"
        return f">= {low} %" if most == 1 else f"{low} to {most * 100:g} %"

    @property
    def words(self) -> str:
        """The share, and of how many."""
        plural = "" if self.events == 1 else "s"
        return f"{self.true / self.events * 100:.2f} % of {self.events} {self.by}{plural}"


def lines(events: Iterable[Event]) -> Iterator[Line]:
    """The surest first; without those that were never reported."""
    stalls = pd.DataFrame(events, columns=list(Event._fields))
    stalls["rank"] = stalls["confidence"].map(CONFIDENCES.index)
    place = ["capture", "connection"]
    surest = stalls[stalls["rank"] == stalls.groupby(place)["rank"].transform("min")]
    connections = surest.groupby([*place, "confidence"])["is_true"].any().reset_index()
    for confidence in CONFIDENCES:
        for by, of in (("stall", stalls), ("connection", connections)):
            rows = of[of["confidence"] == confidence]
            if len(rows):
                sums = int(rows["is_true"].sum()), len(rows), len(rows[place].drop_duplicates())
                yield Line(confidence, by, *sums)


def text(events: Iterable[Event]) -> str:
    """The table for a terminal."""
    rows = (
        f"{line.verdict:4}  {line.confidence:8}  {line.words}, {line.true} true  "
        f"({line.required}; {line.connections} connections)"
        for line in lines(events)
    )
    return "\n".join(rows)


def markdown(events: Iterable[Event]) -> list[str]:
    """Lines for the table of README.md: one for each confidence."""
    rows: dict[str, list[Line]] = {}
    for line in lines(events):
        rows.setdefault(line.confidence, []).append(line)
    return [
        f"| '{confidence}' and true | {'; '.join(line.words for line in both)} | "
        f"{'; '.join(dict.fromkeys(line.required for line in both))}"
        f"{' (too few)' if any(line.verdict == 'few' for line in both) else ''} |"
        for confidence, both in rows.items()
    ]


def is_met(events: Iterable[Event]) -> bool:
    """Is every limit met that applies?"""
    return all(line.verdict != "FAIL" for line in lines(events))
