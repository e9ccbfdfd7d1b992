"""The slowest exchanges, taken apart: where the time of the tail went."""

from __future__ import annotations

from pathlib import Path

from conftest import CAPTURES, Run, flat

PAUSES = CAPTURES / "labelled/sleep40-nodelay/middle.pcap.gz"
"""A client that pauses for 40 ms within its requests."""


def test_a_clean_verdict_says_what_the_slowest_tenth_waits_for(run: Run) -> None:
    report = flat(run(PAUSES).stdout.decode())
    first = report.partition("Latency by server")[0]
    tenth = "the slowest tenth of the exchanges waits 42.5 of 43.6 ms for the rest of the request"
    assert tenth in first
    # A client may wait for a '100 Continue' which never comes: idle clients are not blamed.
    assert ": the client's program sent nothing" in first.partition("REST")[2]


def test_quick_exchanges_take_no_room(run: Run) -> None:
    report = run(CAPTURES / "java-split-nodelay.pcap").stdout.decode()
    assert "CLEAN" in report
    assert "slowest" not in report


def test_the_page_draws_each_latency_as_a_bar_of_its_parts(run: Run, tmp_path: Path) -> None:
    run(PAUSES, "-o", tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    section = page.partition('<section id="slowest"')[2].partition("</section>")[0]
    assert section.count('class="stack" aria-hidden="true"') == 11 - ("(median)" not in section)
    assert "width: 100.0%" in section
    # The numbers beside the bars say the same without a picture.
    assert "</span> sending</th>" in section
    assert "45.9" in section
