"""Claims a report must not make: rules of one stack for another, numbers that Wireshark lacks."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, Run, flat
from nagle_scan.report.fixes import Fix, each_once
from nagle_scan.system.terminal import is_number_column
from nagle_scan.words.wording import duration

SPLIT = CAPTURES / "java-split.pcap"
ONE_WAY = CAPTURES / "labelled" / "formats-rtt100" / "client-one-way.pcap.gz"


def test_a_wait_without_the_other_direction_has_no_known_cause() -> None:
    waits = nagle_scan.scan(ONE_WAY).waits
    assert len(waits) > 20
    assert set(waits["cause"].astype(str)) <= {"unknown"}


def test_what_may_have_been_held_is_told_from_what_was_not(run: Run) -> None:
    paced = flat(run(CAPTURES / "labelled" / "joined-beats50-rtt26" / "middle-late.pcap.gz").stdout)
    assert "The connection cannot be judged: could be Nagle or the program pausing" in paced
    assert "held by Nagle's algorithm, or the client paused" in paced
    lacking = CAPTURES / "labelled" / "hard-lossy-wire-work-nots" / "server-lacks15.pcap.gz"
    said = flat(run(lacking).stdout)
    assert " CLEAN " in said
    assert "unknown server 107-109 bytes are missing from the capture around it" in said


def test_numbers_that_differ_from_wiresharks_are_reported(run: Run, tmp_path: Path) -> None:
    done = run(SPLIT, "-f", "tcp", "-o", tmp_path / "page.html")
    assert "stream numbers count only connections with frames that were not left out" in flat(
        done.stdout
    )
    page = (tmp_path / "page.html").read_text()
    assert "tcp.stream == 0 " not in page
    assert "tcp.port == 8000" in page
    assert "smaller than in Wireshark" not in flat(run(SPLIT).stdout)


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0.0, "0.0 ms"),
        (0.0004, "0.4 us"),
        (0.07, "70 us"),
        (0.9996, "1.0 ms"),
        (2828.7, "2.8 s"),
        (1_530_000.0, "26 min"),
        (36_000_000.0, "10 h"),
    ],
)
def test_a_duration_is_never_rounded_to_nothing(ms: float, shown: str) -> None:
    assert duration(ms) == shown
    assert is_number_column([["longest"], [shown]], 0)


def test_where_to_look_first_is_said_once_below_the_answer() -> None:
    asked = Fix(["10.0.0.2:80"], "", [], "", frozenset(), proxies=("10.0.0.2",))
    assert [bool(fix.first) for fix in each_once([asked, asked])] == [True, False]


def test_settings_link_to_their_sources(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(CAPTURES / "jdk-httpserver.pcap", "-o", page)
    assert '<a href="https://docs.oracle.com/' in page.read_text()
