"""Since when a service loses more than usual: a release is blamed for it, so it must be true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from nagle_scan.fleet import trends
from nagle_scan.fleet.services import Row
from nagle_scan.fleet.trends import UNDATED, trend
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


def onset(*each: tuple[int, int] | None) -> int | None:
    """The hour from `BEGIN` on."""
    found = trend(hours(*each)).onset
    return None if found is None else (found - BEGIN) // HOUR


def test_an_onset_is_the_first_hour_above_the_usual() -> None:
    assert onset(*[USUAL] * 5, *[ABOVE] * 4) == 5
    assert onset(*[(1000, 0)] * 5, *[ABOVE] * 4) == 5
    assert trend(hours(*[USUAL] * 5, ABOVE, ABOVE)).note == "80 us per exchange before"
    assert trend(hours(*[(9, 0)] * 3, ABOVE, ABOVE)).note == "usually nothing before"


def test_a_busier_hour_is_no_onset() -> None:
    assert onset(*[USUAL] * 5, *[(20_000, 40)] * 4) is None


def test_an_hour_with_a_stall_or_two_is_no_onset() -> None:
    """Where one is to be expected, two come by chance."""
    assert onset(*[(1000, 0)] * 5, (1000, 2), (1000, 1), (1000, 2)) is None


def test_a_peak_that_went_back_is_no_onset() -> None:
    told = trend(hours(*[USUAL] * 5, ABOVE, *[USUAL] * 3))
    assert told == (None, "in the first captured hour already")
    told = trend(hours(*[(1000, 0)] * 5, ABOVE, *[(1000, 0)] * 3))
    assert told == (None, "now and then; no lasting rise")


def test_the_last_hour_may_be_a_peak_and_says_so() -> None:
    told = trend(hours(*[(1000, 0)] * 5, ABOVE))
    assert told.onset == BEGIN + 5 * HOUR
    assert told.note == "usually nothing before; one hour so far"


def test_a_few_hours_are_not_usual_yet() -> None:
    assert trend(hours((9, 0), ABOVE, ABOVE, ABOVE)) == (
        None,
        "fewer than 3 captured hours before",
    )
    assert onset((9, 0), (9, 0), (9, 0), ABOVE) == 3
    assert trend(hours(*[ABOVE] * 9)) == (None, "in the first captured hour already")


def test_hours_without_captures_are_unknown_not_clean() -> None:
    assert onset(*[ABOVE] * 4, None, None, None, None, None, *[ABOVE] * 2) is None
    assert onset(USUAL, None, None, None, *[ABOVE] * 4) is None


def test_a_stream_has_no_exchanges_but_an_onset() -> None:
    assert onset(*[(0, 0)] * 3, *[(0, 30)] * 3) == 3


def test_captures_without_a_date_are_said_to_have_none() -> None:
    assert trend(hours()) == (None, UNDATED)


def bars(path: str) -> Sequence[tuple[int, float]]:
    """Place and height of each."""
    found = re.findall(r"M(\d+) [\d.]+h2v([\d.]+)h-2z", path)
    return [(int(x) // 3, float(height)) for x, height in found]


def test_a_picture_has_a_bar_for_each_hour_and_a_gap_for_what_is_unknown() -> None:
    of = hours((10, 0), (10, 10), None, (10, 20))
    axis = trends.axis([one["hour"] for one in of])
    chart = trends.chart(of, of[2]["hour"], axis)
    assert axis.told == "2026-11-20 00:00 to 2026-11-20 03:00 UTC; a bar is an hour"
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
