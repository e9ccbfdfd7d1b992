"""Since when a service loses more than usual: a release is blamed for it, so it must be true."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from nagle_scan.fleet.services import Row
from nagle_scan.fleet.trends import UNDATED, no_trend, trend
from nagle_scan.words.certainty import CONFIDENCES

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
USUAL, ABOVE = (1000, 2), (1000, 40)
"""Exchanges and stalls (40 ms each) of an hour."""
NONE = {f"{name}_{word}": 0 for name in ("stalls", "lost_ms") for word in CONFIDENCES}


def hours(*each: tuple[int, int] | None, step: timedelta = HOUR) -> list[Row]:
    """Hours from `BEGIN` on; `None` was not captured."""
    return [
        {**NONE, "hour": BEGIN + number * step, "exchanges": told[0]}
        | {"stalls_certain": told[1], "lost_ms_certain": 40.0 * told[1]}
        for number, told in enumerate(each)
        if told is not None
    ]


CLEAN, FIRST = (1000, 0), "since the first capture"
CASES: dict[str, tuple[Sequence[tuple[int, int] | None], int | None, str]] = {
    "the first hour above the usual": ([USUAL] * 5 + [ABOVE] * 4, 5, "80 us per exchange before"),
    "nothing was usual": ([CLEAN] * 5 + [ABOVE] * 4, 5, "usually nothing before"),
    "three hours are usual": ([(9, 0)] * 3 + [ABOVE] * 2, 3, "usually nothing before"),
    "a busier hour": ([USUAL] * 5 + [(20_000, 40)] * 4, None, FIRST),
    # Where one is to be expected, two come by chance.
    "an hour with a stall or two": (
        [CLEAN] * 5 + [(1000, 2), (1000, 1), (1000, 2)],
        None,
        "now and then; no lasting rise",
    ),
    "a peak that went back": ([USUAL] * 5 + [ABOVE] + [USUAL] * 3, None, FIRST),
    "a peak after nothing": (
        [CLEAN] * 5 + [ABOVE] + [CLEAN] * 3,
        None,
        "now and then; no lasting rise",
    ),
    "the last hour may be a peak": (
        [CLEAN] * 5 + [ABOVE],
        5,
        "usually nothing before; one hour so far",
    ),
    "too few hours before": ([(9, 0)] + [ABOVE] * 3, None, "fewer than 3 captured hours before"),
    "always": ([ABOVE] * 9, None, FIRST),
    "hours without captures are not clean": ([ABOVE] * 4 + [None] * 5 + [ABOVE] * 2, None, FIRST),
    "nor are they usual": ([USUAL] + [None] * 3 + [ABOVE] * 4, None, FIRST),
    "a stream has no exchanges": ([(0, 0)] * 3 + [(0, 30)] * 3, 3, "usually nothing before"),
}


@pytest.mark.parametrize(("each", "onset", "note"), CASES.values(), ids=CASES)
def test_an_onset_is_the_first_hour_of_a_lasting_rise(
    each: Sequence[tuple[int, int] | None], onset: int | None, note: str
) -> None:
    found = trend(hours(*each))
    assert found == (None if onset is None else BEGIN + onset * HOUR, note)
    assert no_trend(0) == (None, UNDATED)
