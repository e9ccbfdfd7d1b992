"""Calibration: what each confidence was worth, by stall and by connection."""

from __future__ import annotations

from collections.abc import Iterator

import calibration
import pytest
from calibration import Event, Line


def events(confidence: str, true: int, false: int, each: int = 1) -> Iterator[Event]:
    """So many connections that truly stall or do not, with `each` stalls reported."""
    for connection in range(true + false):
        for _ in range(each):
            yield Event("a", connection, confidence, connection < true)


def line(rows: Iterator[Event], by: str) -> Line:
    (found,) = [row for row in calibration.lines(rows) if row.by == by]
    return found


@pytest.mark.parametrize(
    ("confidence", "true", "false", "verdict"),
    [
        ("likely", 95, 5, "ok"),
        ("likely", 94, 6, "FAIL"),
        ("likely", 19, 0, "few"),
        ("certain", 100, 1, "ok"),
        ("certain", 98, 2, "FAIL"),
        ("certain", 99, 0, "few"),
        ("possible", 9, 16, "FAIL"),
        ("possible", 15, 10, "ok"),
        ("possible", 30, 0, "FAIL"),
        ("possible", 3, 0, "few"),
    ],
)
def test_a_connection_counts_by_its_surest_stall(
    confidence: str, true: int, false: int, verdict: str
) -> None:
    rows = list(events(confidence, true, false))
    assert line(iter(rows), "connection").verdict == verdict
    assert calibration.is_met(rows) == (verdict != "FAIL")


def test_stalls_of_few_connections_are_few_however_many_they_are() -> None:
    assert line(events("possible", 3, 0, each=100), "stall").verdict == "few"
    assert line(events("certain", 30, 0, each=100), "stall").verdict == "ok"


def test_what_is_less_sure_does_not_speak_for_a_connection() -> None:
    rows = [
        Event("a", 0, "certain", is_true=False),
        Event("a", 0, "possible", is_true=True),
        Event("a", 1, "certain", is_true=False),
        Event("a", 1, "certain", is_true=True),
    ]
    (found,) = [row for row in calibration.lines(rows) if row.by == "connection"]
    assert (found.confidence, found.true, found.events) == ("certain", 1, 2)


def test_the_tables_have_all_lines() -> None:
    rows = list(events("likely", 20, 0))
    assert "ok" in calibration.text(rows)
    said = "| 'likely' and true | 100.00 % of 20 stalls; 100.00 % of 20 connections | >= 95 % |"
    assert calibration.markdown(rows) == [said]
