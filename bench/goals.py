"""The goals, each with what was measured beside it."""

from __future__ import annotations

from dataclasses import dataclass

FULL_PACKETS = 10_000_000
"""The size that the goals are stated for."""


@dataclass(frozen=True)
class Row:
    """One line of the table. `measured` is None where a tool was not there."""

    work: str
    unit: str
    goal: float
    limit: float
    measured: float | None
    more_is_better: bool = False
    note: str = ""

    @property
    def met(self) -> str:
        """How the measured value stands against the goal and the limit."""
        if self.measured is None:
            return "not measured"
        sign = -1 if self.more_is_better else 1
        if sign * self.measured <= sign * self.goal:
            return "goal met"
        return "within limit" if sign * self.measured <= sign * self.limit else "MISSED"

    def cells(self) -> list[str]:
        """The texts of its columns."""
        relation = ">=" if self.more_is_better else "<="
        return [
            self.work,
            f"{relation} {self.goal:.4g} {self.unit}",
            f"{self.limit:.4g}",
            "-" if self.measured is None else f"{self.measured:.4g}",
            self.met,
            self.note,
        ]


HEAD = ["work", "goal", "must not exceed", "measured", "result", "detail"]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, aligned so that it reads well as plain text too."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    padded = [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join(f"| {line} |" for line in padded)


def table(rows: list[Row]) -> str:
    """All goals."""
    return markdown(HEAD, [row.cells() for row in rows])
