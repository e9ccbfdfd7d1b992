"""When time is lost: a picture of bars, and the worst hours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from nagle_scan.fleet import sums
from nagle_scan.words import certainty
from nagle_scan.words.certainty import CONFIDENCES, Total
from nagle_scan.words.wording import duration

STEPS = {
    "1h": "1 hour",
    "6h": "6 hours",
    "1D": "1 day",
    "7D": "7 days",
    "30D": "30 days",
    "365D": "365 days",
    "3650D": "3,650 days",
}
"""What a bar may stand for, as pandas and as readers call it."""
MOST_BARS = 96
BAR, GAP, HEIGHT = 8, 2, 120
"""Of the picture, in its own units."""
MIN_WIDTH = 40 * BAR


class Bar(NamedTuple):
    """Time lost in a step: lengths by confidence, the surest lowest."""

    x: int
    parts: Sequence[tuple[str, float, float]]
    """Word, top and height."""
    label: str


class Hours:
    """`Fleet.hours` as the page shows them. Without an hour there is no picture."""

    height = HEIGHT
    bar_width = BAR

    def __init__(self, hours: pd.DataFrame) -> None:
        self._hours = hours

    @cached_property
    def _steps(self) -> tuple[str, pd.DataFrame]:
        """Time lost by step, and the shortest one with which the picture shows all."""
        for step in STEPS:
            begins = self._hours["hour"].dt.floor(step)
            lost = self._hours.assign(hour=begins).groupby("hour")[sums.SUMS].sum()
            if (lost.index.max() - lost.index.min()) / pd.Timedelta(step) < MOST_BARS:
                break
        return step, lost

    @property
    def step(self) -> str:
        """What a bar stands for."""
        return STEPS[self._steps[0]]

    @property
    def _most_ms(self) -> float:
        return float(self._steps[1][sums.LOSSES].sum(axis=1).max())

    @property
    def highest(self) -> str:
        """What the highest bar stands for."""
        return duration(self._most_ms)

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last step."""
        _, lost = self._steps
        return _at(lost.index.min()), _at(lost.index.max())

    @property
    def width(self) -> int:
        """Of the picture."""
        return max(self.bars[-1].x + BAR, MIN_WIDTH)

    @cached_property
    def bars(self) -> list[Bar]:
        """In their order; none where no stall tells its time."""
        if not len(self._hours):
            return []
        step, lost = self._steps
        begin = lost.index.min()
        made = []
        for row in lost.reset_index().to_dict("records"):
            top, parts = float(HEIGHT), []
            for word in CONFIDENCES:
                height = HEIGHT * float(row[f"lost_ms_{word}"]) / self._most_ms
                top -= height
                parts.append((word, round(top, 2), round(height, 2)))
            x = round((row["hour"] - begin) / pd.Timedelta(step)) * (BAR + GAP)
            told = certainty.told(sums.total_of(row))
            made.append(Bar(x, parts, f"{_at(row['hour'])}: {told}"))
        return made

    @property
    def worst(self) -> list[tuple[str, Total]]:
        """Those in which most was lost."""
        shown = sums.in_order(self._hours).head(sums.WORST)
        return [(_at(row["hour"]), sums.total_of(row)) for row in shown.to_dict("records")]

    @property
    def more(self) -> int:
        """Hours with stalls that are not in the table."""
        return max(0, len(self._hours) - sums.WORST)


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
