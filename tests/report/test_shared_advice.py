"""Servers with the same advice share one block of it: nobody reads it twenty times."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
from conversation import Conversation, interleaved, stalled, write
from nagle_scan.report.fixes import Fix
from nagle_scan.report.options import Options
from nagle_scan.report.page import LIMITS
from nagle_scan.report.view import View


def client_of(port: int, second: int = 7) -> Conversation:
    ends = (f"10.0.1.{port % 250}", 40000), ("10.0.0.2", port)
    return stalled(Conversation(*ends, now_ms=port % 7), rounds=4, second=second)


def advised(folder: Path, *made: Conversation) -> list[Fix]:
    scan = nagle_scan.scan(write(folder / "a.pcap", interleaved(*made)))
    return View(scan._result, LIMITS, Options()).fixes


def test_the_same_advice_is_given_once_to_all_that_need_it(tmp_path: Path) -> None:
    (fix,) = advised(tmp_path, *(client_of(8000 + number) for number in range(5)))
    assert len(fix.senders) == 5
    assert "10.0.1.0 (client of port 8000)" in fix.senders
    assert fix.sender.count("(client of port ") == 3
    assert fix.sender.endswith(" and 2 more")
    assert "typically 6 and 7 bytes" in fix.remedies[0].what


def test_what_was_seen_of_one_is_not_said_of_all(tmp_path: Path) -> None:
    """Lengths of one client's messages would be wrong for the other's."""
    (fix,) = advised(tmp_path, client_of(8000), client_of(8001, second=99))
    assert len(fix.senders) == 2
    assert fix.sender.count(" and ") == 1
    assert fix.remedies[0].what.startswith("send the whole message in one write")
    assert fix.receiver in ("10.0.0.2", "the servers")


def test_other_advice_stands_apart(tmp_path: Path) -> None:
    many = stalled(Conversation(("10.0.1.1", 40000), ("10.0.0.2", 8000)))
    other = Conversation(("10.0.1.2", 40000), ("10.0.0.2", 8001), now_ms=0.4)
    tail = stalled(other, first=1460, second=99)
    fixes = advised(tmp_path, many, tail)
    assert {tuple(fix.senders) for fix in fixes} == {
        ("10.0.1.1 (client of port 8000)",),
        ("10.0.1.2 (client of port 8001)",),
    }


def test_a_client_of_two_servers_is_not_told_to_change_one_of_them(tmp_path: Path) -> None:
    servers = ("10.0.0.2", "10.0.0.3")
    calls = [stalled(Conversation(("10.0.1.1", 40000), (server, 8000))) for server in servers]
    (fix,) = advised(tmp_path, *calls)
    assert fix.receiver == "the servers"
