"""Since when a service loses more than usual: a release is blamed for it, so it must be true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from nagle_scan.fleet import rises, trends
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
        {**NONE, "hour": BEGIN + number * step, "exchanges": hour[0]}
        | {"stalls_certain": hour[1], "lost_ms_certain": 40.0 * hour[1]}
        for number, hour in enumerate(each)
        if hour is not None
    ]


CLEAN, FIRST = (1000, 0), "since the first capture"
CASES: dict[str, tuple[Sequence[tuple[int, int] | None], int | None, str]] = {
    "the first hour above the usual": (
        [USUAL] * 5 + [ABOVE] * 4,
        5,
        "0.002 stalls per exchange before",
    ),
    "nothing was usual": ([CLEAN] * 5 + [ABOVE] * 4, 5, "usually nothing before"),
    "three hours are usual": ([(1000, 0)] * 3 + [ABOVE] * 2, 3, "usually nothing before"),
    "of many stalls": ([CLEAN] * 3 + [(1000, 200)] * 90, 3, "usually nothing before"),
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


def simulated(seed: int, step: int | None) -> list[Row]:
    """Three days, of which every fiftieth hour is noisy, and all from a step on lose time."""
    chance = Random(seed)
    each = []
    for number in range(72):
        exchanges = chance.randint(200, 2000)
        is_noisy, few = chance.random() < 0.02, chance.randint(3, 30)
        loses = step is not None and number >= step
        stalls = int(exchanges * chance.uniform(0.02, 0.06)) if loses else few * is_noisy
        each.append((exchanges, stalls))
    return hours(*each)


def test_a_noisy_hour_before_a_step_does_not_move_it() -> None:
    """A release of the day before would be blamed."""
    steps = {seed: 10 + 5 * seed % 55 for seed in range(20)}
    found = {seed: trend(simulated(seed, step)).onset for seed, step in steps.items()}
    off = [(found[seed] or BEGIN) - BEGIN - step * HOUR for seed, step in steps.items()]
    assert sum(abs(one) <= HOUR for one in off) >= 19
    false = [trend(simulated(seed, None)).onset for seed in range(100, 180)]
    assert sum(one is not None for one in false) <= 2


def test_the_hours_in_which_it_may_have_begun_are_reported() -> None:
    """Hours that were not captured are not known to be clean."""
    found = trend(hours(*[CLEAN] * 5, None, None, *[ABOVE] * 4))
    assert found.note == "usually nothing before; between 11-20 05:00 and 11-20 07:00"


def bars(path: str) -> Sequence[tuple[int, float]]:
    """Place and height of each."""
    found = re.findall(r"M(\d+) [\d.]+h2v([\d.]+)h-2z", path)
    return [(int(x) // 3, float(height)) for x, height in found]


def test_a_picture_has_a_bar_for_each_hour_and_a_gap_for_what_is_unknown() -> None:
    of = hours((10, 0), (10, 10), None, (10, 20))
    axis = trends.axis([one["hour"] for one in of])
    chart = trends.chart(of, of[2]["hour"], axis)
    assert axis.in_words == "2026-11-20 00:00 to 2026-11-20 03:00 UTC; a bar is an hour"
    ((word, path),) = chart.bars
    assert word == "certain"
    assert bars(path) == [(1, trends.HEIGHT / 2), (3, trends.HEIGHT)]
    assert [place for place, _ in bars(chart.captured)] == [0, 1, 3]
    assert chart.onset == 3 * 3
    assert chart.label.startswith("Time lost per hour, at most 800.0 ms, 2026-11-20 00:00 to")


@pytest.mark.parametrize(
    ("days", "step"), [(0, "an hour"), (3, "an hour"), (90, "a day"), (600, "a week")]
)
def test_any_span_of_time_fits(days: int, step: str) -> None:
    of = hours(*[ABOVE] * 5, step=timedelta(days=days) / 4)
    axis = trends.axis([one["hour"] for one in of])
    assert trends.STEPS[axis.step] == step
    path = trends.chart(of, None, axis).bars[0][1]
    assert bars(path)[-1][0] < axis.width // 3 <= trends.MOST_BARS


def test_a_broken_clock_does_not_squeeze_a_week_into_one_bar() -> None:
    of = hours(*[ABOVE] * 30)
    of[0]["hour"] = trends.EPOCH
    axis = trends.axis([one["hour"] for one in of])
    assert axis.step == HOUR
    chart = trends.chart(of, of[0]["hour"], axis)
    assert len(bars(chart.bars[0][1])) == 29
    assert chart.onset == -1


def test_a_service_without_days_has_no_rise() -> None:
    """Its captures are gone: a run that told nobody of others would be as bad."""
    assert rises.rise([]) is None
