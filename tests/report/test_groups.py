"""Pairs of hosts that are one group for the owner of a service."""

from __future__ import annotations

import html
from pathlib import Path

import nagle_scan
import pytest
from conftest import Report, Run, outputs, page_of, said
from conversation import Conversation, interleaved, stalled, write

SERVER = ("10.0.0.5", 8443)


def conversations(count: int) -> list[Conversation]:
    """Clients of one server that all hold part of their requests."""
    return [
        stalled(Conversation((f"10.1.0.{number}", 40000), SERVER)) for number in range(1, count + 1)
    ]


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    return write(tmp_path / "crowd.pcap", interleaved(*conversations(20)))


def test_each_report_says_so(crowd: Path, run: Run, tmp_path: Path) -> None:
    for whole in said(run, crowd, tmp_path):
        assert "20 clients of 10.0.0.5:8443 held data back 60 times" in whole
        assert "not in effect on the clients' sockets to 10.0.0.5:8443" in whole
        assert "more like these" not in whole


def test_of_very_many_sides_no_number_is_made_up(tmp_path: Path, run: Run) -> None:
    """Only the first have their messages read."""
    each = [
        stalled(Conversation((f"10.0.1.{number}", 40_000), (f"10.0.2.{number}", 8000)))
        for number in range(1, 31)
    ]
    report = said(run, write(tmp_path / "many.pcap", interleaved(*each)), tmp_path)[0]
    assert "on all 30 connections" in report
    assert " (client of port 8000) and others: set TCP_NODELAY." in report


def page_of_stalls(folder: Path, first: int, second: int) -> str:
    """The page of three stalls with pieces of these lengths."""
    frames = stalled(first=first, second=second).frames
    return html.unescape(page_of(frames, folder).read_text())


def test_the_tail_of_a_large_write_is_not_called_several_pieces(
    report: Report, tmp_path: Path
) -> None:
    page = page_of_stalls(tmp_path, 1460, 300)
    assert "is not a multiple of the MSS" in page
    assert "in several pieces" not in page
    assert "in several pieces" in report("java-split.pcap").read_text()


def test_keystrokes_are_not_called_pieces_of_a_request(tmp_path: Path) -> None:
    page = page_of_stalls(tmp_path, 1, 1)
    assert "sends small messages one after another" in page
    assert "in several pieces" not in page


def test_a_clean_page_speaks_of_waits_only_where_there_are_any(report: Report) -> None:
    names = "epoll-fixed.pcap", "labelled/rpc-threads-overloaded/loopback.pcap.gz"
    pages = [report(name).read_text() for name in names]
    assert ["<dt>Rest</dt>" in page for page in pages] == [False, True]
    assert not any("had nothing been held back" in page for page in pages)


def test_a_page_says_where_tables_end_and_how_they_are_sorted(
    crowd: Path, report: Report, tmp_path: Path
) -> None:
    nagle_scan.scan(crowd).write(tmp_path / "page.html")
    assert "of sockets: see" in (tmp_path / "page.html").read_text()
    idle = report("labelled/rpc-threads-overloaded/loopback.pcap.gz").read_text()
    assert "those of idle clients last" in idle
    busy = report("epoll-fd0.pcap").read_text()
    assert "of sockets: see" not in busy
    assert "come last" not in busy


def test_a_page_tells_once_why_the_first_exchange_was_fast(report: Report) -> None:
    text = report("labelled/both-split-ipv6/server.pcap.gz").read_text()
    assert text.count("The first exchange was fast") == 1
    assert "The first exchange of a connection is fast" not in text


def test_what_is_attached_names_files_without_their_folders(run: Run, tmp_path: Path) -> None:
    """Folders tell more about a machine than a ticket needs."""
    for name in ("before", "after"):
        write(tmp_path / f"{name}.pcap", stalled().frames)
    paths = [tmp_path / name for name in ("p.html", "t.md", "t.svg", "e.pcapng")]
    run(tmp_path / "after.pcap", "--baseline", tmp_path / "before.pcap", *outputs(*paths))
    for path in paths:
        assert b"after.pcap" in path.read_bytes()
        assert tmp_path.name.encode() not in path.read_bytes()


def test_a_server_with_both_is_counted(tmp_path: Path) -> None:
    others = [Conversation(("10.1.0.77", 40000 + number), SERVER) for number in range(3)]
    for made in others:
        made.open()
        for _ in range(3):
            # Two small pieces in flight: TCP_NODELAY is set.
            made.data("client", 60)
            made.wait(0.05)
            made.data("client", 40)
            made.answer()
            made.wait(20.0)
    path = write(tmp_path / "mixed.pcap", interleaved(*conversations(6), *others))
    (found,) = nagle_scan.scan(path)._result.core.groups()
    assert found.sockets == (6, 3, 0, 0)
