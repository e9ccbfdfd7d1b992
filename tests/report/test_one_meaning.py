"""Each number has one meaning, whoever says it: over all captures that the project ships."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
from conftest import CAPTURES, flat
from conversation import Conversation, interleaved, stalled, write
from nagle_scan import _core
from nagle_scan.report import header, sentences, text, verdicts
from nagle_scan.report.options import Options
from nagle_scan.report.view import View
from nagle_scan.system.terminal import PLAIN
from nagle_scan.timeline import subject
from nagle_scan.timeline.plots import overview
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import count, duration, times

SHIPPED = sorted(CAPTURES.rglob("*.pcap*"))
SURE = ("certain", "likely")


class Seen(NamedTuple):
    """A capture, and what the first screen and the whole report say of it."""

    path: Path
    scan: nagle_scan.Scan
    view: View
    first: dict[str, str]
    report: str


@cache
def seen() -> list[Seen]:
    return list(map(of, SHIPPED))


def of(path: Path) -> Seen:
    scan = nagle_scan.scan(path)
    view = View(scan._result, text.LIMITS, Options())
    first = {item.head: item.text for item in header.of(view)}
    return Seen(path, scan, view, first, flat(text.render(scan._result, PLAIN, Options())))


def counted(rows: Sequence[_core.WaitRow]) -> list[_core.WaitRow]:
    """Certain and likely ones; possible ones where there are no others."""
    return [row for row in rows if row.confidence in SURE] or list(rows)


def stalls(one: Seen) -> list[_core.WaitRow]:
    connections = one.scan._result.core.affected(sys.maxsize)
    rows = (one.scan._result.core.stalls_of(row.connection, sys.maxsize) for row in connections)
    return list(chain.from_iterable(rows))


def in_words(lost_ms: float) -> str:
    """A pattern of this duration, with parts that are rounded to 1 us."""
    return "|".join({re.escape(duration(lost_ms + off_ms)) for off_ms in (-0.005, 0.005)})


def stalling() -> Iterator[tuple[Seen, list[_core.WaitRow]]]:
    yield from ((one, stalls(one)) for one in seen() if one.view.summary.stalls)


def test_the_verdict_counts_certain_and_likely_stalls() -> None:
    for one, every in stalling():
        counts, line = counted(every), one.view.in_one_line
        lost = in_words(sum(row.hold_ms for row in counts))
        verdict = one.first[verdicts.heading(one.view.summary).lower()]
        named = (
            f"once, for (?:at most )?({lost})"
            if len(counts) == 1
            else f"{times(len(counts))} for .*, ({lost}) in all"
        )
        assert re.search(rf"held data back {named} \(", verdict), (one.path, verdict)
        assert re.search(rf": {len(counts):,} (\w+ )?stalls?\b.*?, ({lost}) lost", line), one.path
        more = len(every) - len(counts)
        for said in (verdict, line, repr(one.scan)):
            assert (f"; {more:,} more possible" in said) == (more > 0), (one.path, said)
        assert not more or count(more, "possible stall") in one.first["cost"], one.path


def test_a_picture_counts_the_same() -> None:
    for one, every in stalling():
        row = one.scan._result.core.affected(1)[0]
        counts = counted([stall for stall in every if stall.connection == row.connection])
        headline, below = overview._in_words(subject.of(one.scan._result, row.connection))
        assert re.search(rf": {len(counts):,} (\w+ )?stalls?\b", headline), one.path
        assert re.match(in_words(sum(stall.hold_ms for stall in counts)), below), one.path


def test_affected_are_the_connections_with_stalls_that_count() -> None:
    for one, every in stalling():
        summary, connections = one.view.summary, {row.connection for row in counted(every)}
        assert len(connections) == summary.affected_connections, one.path
        rows = one.scan._result.core.affected(sys.maxsize)
        assert {row.connection for row in rows[: len(connections)]} == connections, one.path
        assert len(rows) == len(connections) + summary.possible_connections, one.path
        for said in (one.first["cost"], one.view.in_one_line):
            affected = re.search(r"([\d,]+)(?: affected)? of ([\d,]+) connections", said)
            both = summary.affected_connections, summary.connections
            assert not affected or tuple(map(int, affected.groups())) == both, one.path


def test_cost_and_tables_subtract_the_same() -> None:
    for one in seen():
        summary, servers = one.view.summary, one.scan._result.core.servers(sys.maxsize)
        taken_ms = sum(server.latency_stalled_ms for server in servers)
        assert taken_ms == pytest.approx(summary.cost_stalled_ms, abs=0.01), one.path
        for server in servers:
            faster = list(server.predicted_ms) != list(server.latency_ms)
            assert faster <= (server.affected_connections > 0), one.path
            assert (server.stalled_exchanges > 0) <= (server.affected_connections > 0), one.path


def test_each_exchange_counts_once() -> None:
    for one in seen():
        exchanges = sum(server.exchanges for server in one.scan._result.core.servers(sys.maxsize))
        assert exchanges == one.view.summary.exchanges, one.path


@pytest.mark.parametrize("server", [("10.0.0.2", 8000), ("10.96.0.9", 80)])
def test_copies_neither_count_nor_hide_what_stalls_cost(
    server: tuple[str, int], tmp_path: Path
) -> None:
    """Behind NAT, with the same server or another one."""
    alone = stalled()
    copied = stalled(Conversation(("192.0.2.7", 61000), server, isn=alone.isn, now_ms=0.02))
    once = of(write(tmp_path / "once.pcap", alone.frames))
    twice = of(write(tmp_path / "twice.pcap", interleaved(alone, copied)))
    assert twice.view.summary.copied == 1
    assert twice.first == once.first
    rows = [one.scan._result.core.servers(9) for one in (once, twice)]
    assert [len(each) for each in rows] == [1, 1]
    (one,), (other,) = rows
    assert (one.exchanges, one.stalled_exchanges) == (other.exchanges, other.stalled_exchanges)
    assert list(other.predicted_ms) == pytest.approx(list(one.predicted_ms), abs=0.1)


def test_an_ack_is_as_late_as_its_sentence_says() -> None:
    for one, every in stalling():
        for row in every:
            said = "; ".join(row.evidence)
            assert "within the round trip" not in said or row.ack_delay_ms == 0, one.path
            late = re.search(
                r"ACK,.* ([\d.]+) ms after .*; .* is ([\d.]+) ms.* ([\d.]+) ms late", said
            )
            if late:
                took_ms, round_trip_ms, late_ms = map(float, late.groups())
                assert took_ms - round_trip_ms == pytest.approx(late_ms, abs=0.002), one.path


def test_no_ack_is_called_prompt_whose_round_trip_is_unknown() -> None:
    unknown = 0
    for one, every in stalling():
        for row in every:
            if row.is_measured or row.cause != "nagle_rtt":
                continue
            unknown += 1
            assert "not delayed" not in " ".join((*row.evidence, causes.ack(row))), one.path
        for group in one.view.groups:
            if group.worst.ack_after_max_ms and group.worst.cause == "nagle_rtt":
                said = one.view.sentence(group)
                assert "the round trip is not in this capture" in said, one.path
                assert "prompt" not in said, one.path
    assert unknown


def test_a_clean_report_denies_no_shorter_hold() -> None:
    short = [one for one in seen() if one.view.summary.verdict == "clean"]
    short = [one for one in short if one.view.summary.short_holds]
    assert short
    for one in short:
        assert "under 10 ms" in one.first["clean"], one.path
        assert "--min-wait 1 searches for them" in one.first["clean"], one.path
        found = nagle_scan.scan(one.path, min_wait_ms=1)
        assert found.verdict != "clean", one.path


def test_a_clean_title_says_why_it_does_not_speak_of_all_connections() -> None:
    for one in seen():
        summary, line = one.view.summary, one.view.in_one_line
        if summary.verdict != "clean":
            continue
        numbers = re.findall(r"([\d,]+) (?:of|cannot|carr)", line)
        clean, *others = (int(number.replace(",", "")) for number in numbers or ["0"])
        assert clean + sum(others) == (summary.connections if numbers else 0), line
        assert certainty.clean_of(summary) in line, one.path
        assert certainty.clean_of(summary) in repr(one.scan), one.path


def test_what_is_counted_once_is_no_other_wait() -> None:
    """A relay's replies are late by the same time, which the verdict has said."""
    counted_once = [
        one for one in seen() if "the same time, counted once" in one.first.get("stalls", "")
    ]
    assert len(counted_once) > 4
    assert not [
        one.path
        for one in counted_once
        if "arrived on another connection" in one.first.get("rest", "")
    ]


def test_a_segment_is_less_than_the_mss_or_ends_in_one_that_is() -> None:
    for one in seen():
        for shown, than, mss in re.findall(
            r"\(([\d,]+) bytes?, (less than|not a multiple of) the (?:estimated )?MSS of ([\d,]+)",
            one.report,
        ):
            length, least = (int(number.replace(",", "")) for number in (shown, mss))
            assert (length < least) == (than == "less than"), one.path


def test_what_the_clock_does_not_show_is_no_prediction() -> None:
    costs = [one.first["cost"] for one in seen() if "cost" in one.first]
    assert any("82.5 ms on average, hardly any time without the stalls." in cost for cost in costs)
    assert not any(re.search(r"about 0\.0 .s without", cost) for cost in costs)


def test_a_stream_is_promised_no_other_latency() -> None:
    """No table compares latencies that COST does not compare."""
    streams = [one for one in seen() if sentences.STREAM in one.first.get("cost", "")]
    alone = [one for one in streams if one.view.summary.connections == 1]
    assert alone
    for one in alone:
        assert not any(map(one.view.has_prediction, one.view.servers)), one.path
        rows = one.view.connections
        assert {sentences.predicted_ms(row) for row in rows if row.stalls} == {None}, one.path
