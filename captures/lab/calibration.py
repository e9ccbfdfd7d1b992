"""Is what we call certain, likely and possible true as often as these words say?

By stall, and by connection: a connection counts once for each cause, by the surest stall that was
reported of it, and is right if a stall of that confidence is true. A reader acts on connections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

CONFIDENCES = ("certain", "likely", "possible")
ALL = "all"


class Event(NamedTuple):
    """A stall that was reported, and whether it is true."""

    capture: str
    connection: int
    cause: str
    confidence: str
    is_true: bool


FEW = 20
"""Connections from which a share means something: of 20, one is 5 %."""


class Required(NamedTuple):
    """The share of true ones that a confidence stands for."""

    at_least: float
    at_most: float = 1.0

    @property
    def enough(self) -> int:
        """Events from which it is a limit: of fewer, a single one more or less would break it."""
        bound = self.at_least if self.at_most == 1 else self.at_most
        return round(1 / (1 - bound))

    @property
    def words(self) -> str:
        """As the table says it."""
        low = f"{self.at_least * 100:g}"
        return f">= {low} %" if self.at_most == 1 else f"{low} to {self.at_most * 100:g} %"


BY_STALL = {"certain": Required(0.999), "likely": Required(0.95), "possible": Required(0.4, 0.95)}
BY_CONNECTION = {**BY_STALL, "certain": Required(0.99)}


class Line(NamedTuple):
    """How often a cause of a confidence was true."""

    cause: str
    confidence: str
    by: str
    true: int
    events: int
    connections: int
    """That have such stalls: those of one connection are true or false together."""
    required: Required

    @property
    def share(self) -> float:
        """Of those reported, the true ones."""
        return self.true / self.events

    @property
    def verdict(self) -> str:
        """`ok`, `FAIL`, or `few` where no limit applies."""
        if self.cause != ALL:
            # Only the sum has to meet the limit: a cause may have one bad capture.
            return ""
        if self.events < self.required.enough or self.connections < FEW:
            return "few"
        within = self.required.at_least <= self.share <= self.required.at_most
        return "ok" if within else "FAIL"

    @property
    def words(self) -> str:
        """The share, and of how many."""
        return (
            f"{self.share * 100:.2f} % of {self.events} {self.by}{'' if self.events == 1 else 's'}"
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """For a table."""
        share = f"{self.share * 100:.2f} %"
        of = f"{self.true} of {self.events}"
        required = self.required.words if self.cause == ALL else ""
        few = f" (too few: {count(self.connections)})" * (self.verdict == "few")
        return (self.confidence, self.cause, self.by, of, share, required + few)


HEAD = ("confidence", "cause", "by", "true", "share", "required")


def lines(events: Iterable[Event]) -> Iterator[Line]:
    """All causes and each one, the surest first; without those that were never reported."""
    every = list(events)
    names = [ALL, *sorted({event.cause for event in every})]
    for confidence in CONFIDENCES:
        for cause in names:
            chosen = [event for event in every if cause in (ALL, event.cause)]
            stalls = [event.is_true for event in chosen if event.confidence == confidence]
            connections = of_connections(chosen).get(confidence, [])
            places = {(e.capture, e.connection) for e in chosen if e.confidence == confidence}
            for by, rows, of, limits in (
                ("stall", stalls, len(places), BY_STALL),
                ("connection", connections, len(connections), BY_CONNECTION),
            ):
                if rows:
                    sums = (sum(rows), len(rows), of)
                    yield Line(cause, confidence, by, *sums, limits[confidence])


def count(connections: int) -> str:
    """In words."""
    return f"{connections} connection{'' if connections == 1 else 's'}"


def of_connections(events: Iterable[Event]) -> dict[str, list[bool]]:
    """For each confidence, whether the connections whose surest stall has it do stall."""
    surest: dict[tuple[str, int], tuple[int, bool]] = {}
    for event in events:
        place = event.capture, event.connection
        rank = CONFIDENCES.index(event.confidence)
        best, is_true = surest.get(place, (len(CONFIDENCES), False))
        if rank < best:
            surest[place] = rank, event.is_true
        elif rank == best:
            surest[place] = rank, is_true or event.is_true
    found: dict[str, list[bool]] = {}
    for rank, is_true in surest.values():
        found.setdefault(CONFIDENCES[rank], []).append(is_true)
    return found


def text(events: Iterable[Event]) -> str:
    """The table for a terminal."""
    rows = [("", *HEAD), *((line.verdict, *line.cells) for line in lines(events))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def markdown(events: Iterable[Event]) -> list[str]:
    """Lines for the table of README.md: one for each confidence, of all causes."""
    rows: dict[str, list[Line]] = {}
    for line in lines(events):
        if line.cause == ALL:
            rows.setdefault(line.confidence, []).append(line)
    return [
        f"| '{confidence}' and true | {'; '.join(line.words for line in both)} | "
        f"{'; '.join(dict.fromkeys(line.required.words for line in both))}"
        f"{' (too few)' if any(line.verdict == 'few' for line in both) else ''} |"
        for confidence, both in rows.items()
    ]


def is_met(events: Iterable[Event]) -> bool:
    """Is every limit met that applies?"""
    return all(line.verdict != "FAIL" for line in lines(events))
