"""Whatever was late is reported though nothing was held: ACKs, and connecting."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import Run, said, written
from conversation import Conversation, connected, interleaved, write

LATE_MS = 43.0


def pushed(late: int, port: int = 40000) -> Conversation:
    """Ten messages of a server; `late` of the client's ACKs, but not the last, come after 43 ms."""
    made = connected(client=("10.0.0.1", port), rtt_ms=0.2)
    for number in range(10):
        ack_ms = LATE_MS if 9 - late <= number < 9 else 0.02
        made.data("server", 1000)
        made.wait(ack_ms)
        made.ack("client")
        made.wait(100.0 - ack_ms)
    return made


def test_late_acks_before_which_nothing_was_held_all_count(run: Run, tmp_path: Path) -> None:
    """The server sends again long after: whoever asks why ACKs are late learns of all."""
    made = pushed(late=4)
    path = write(tmp_path / "late.pcap", made.frames)
    sentence = (
        "The client's ACKs came late 4 of 10 times (40 %), by 43.0 ms at the median, first in "
        "frame 15."
    )
    assert (made.frames[14].sender, bytes(made.frames[14].packet["TCP"].payload)) == ("client", b"")
    for text in said(run, path, tmp_path):
        assert sentence in text
    [connection] = written(nagle_scan.scan(path), tmp_path)["connections"]
    late = connection["client"]["delayed_ack"]
    assert (late["count"], late["prompt"], late["first_frame"]) == (4, 6, 15)
    assert late["median_ms"] == pytest.approx(LATE_MS, abs=0.1)


def test_late_acks_of_several_connections_are_summed(run: Run, tmp_path: Path) -> None:
    made = [pushed(late, port) for port, late in enumerate((1, 2, 0), 40001)]
    path = write(tmp_path / "late.pcap", interleaved(*made))
    sentence = "On 2 connections the clients' ACKs came late 3 of 20 times (15 %), by 43.0 ms"
    for text in said(run, path, tmp_path):
        assert sentence in text


def test_a_single_late_ack_has_no_median(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "late.pcap", pushed(late=1).frames)
    for text in said(run, path, tmp_path):
        assert "The client's ACKs came late 1 of 10 times (10 %), by 43.0 ms, in frame 21." in text


def test_late_acks_before_a_pause_are_not_said_to_be_all(run: Run, tmp_path: Path) -> None:
    """The wait is the client's, until it asks again: only the last one was counted, as 'once'."""
    made = connected(rtt_ms=0.2)
    for _ in range(10):
        made.data("client", 60)
        made.answer(100)
        made.wait(LATE_MS)
        made.ack("client")
        made.wait(300.0)
    path = write(tmp_path / "polls.pcap", made.frames)
    for text in said(run, path, tmp_path):
        assert "The client's ACKs came late at least once, by 43.0 ms, in frame 33." in text


def test_nothing_is_told_of_prompt_acks(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "prompt.pcap", pushed(late=0).frames)
    for text in said(run, path, tmp_path):
        assert "came late" not in text


def answered_after(connect_ms: float, port: int = 40000) -> Conversation:
    """The SYN is answered after so long, a request after 100 ms."""
    made = connected(client=("10.0.0.1", port), rtt_ms=connect_ms)
    made.rtt_ms = 1.0
    made.data("client", 10)
    made.wait(98.9)
    made.answer()
    made.ack("client")
    return made


def test_one_slow_connection_is_told_everywhere(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "slow.pcap", answered_after(900.0).frames)
    sentence = "Connecting took 900.0 ms of the 1.0 s to the end of the first reply (90 %)."
    for text in said(run, path, tmp_path):
        assert sentence in text
    result = written(nagle_scan.scan(path), tmp_path)
    [connection] = result["connections"]
    took = connection["connect_ms"], connection["first_reply_ms"]
    assert took == pytest.approx((900.0, 1000.02))
    expected = {"connections": 1, "connect_ms": 900.0, "first_reply_ms": 1000.02}
    assert result["summary"]["connecting"] == {**expected, "median_share": pytest.approx(0.9, 0.01)}


def test_many_slow_connections_are_summed(run: Run, tmp_path: Path) -> None:
    made = [answered_after(connect_ms, port) for port, connect_ms in ((1, 300), (2, 900), (3, 900))]
    path = write(tmp_path / "slow.pcap", interleaved(*made, answered_after(1.0, 4)))
    sentence = (
        "On 3 connections connecting took 2.1 s of the 2.4 s to the end of the first reply "
        "(median: 90 %)."
    )
    for text in said(run, path, tmp_path):
        assert sentence in text
    table = nagle_scan.scan(path).connections
    assert table["connect_ms"].isna().tolist().count(False) == 3


def test_nothing_is_told_of_prompt_connecting_or_without_a_reply(run: Run, tmp_path: Path) -> None:
    unanswered = answered_after(900.0, 2)
    del unanswered.frames[4:]
    for made in (answered_after(1.0), unanswered):
        path = write(tmp_path / "other.pcap", made.frames)
        assert not any("onnecting took" in text for text in said(run, path, tmp_path))
        result = written(nagle_scan.scan(path), tmp_path)
        assert result["summary"]["connecting"] is None
        assert not {"connect_ms", "first_reply_ms"} & result["connections"][0].keys()
