"""Late ACKs are told whether or not anything waited for them: whose, how many, how late."""

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
    """The server sends again long after: whoever asks why ACKs are late is told of all."""
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


def test_nothing_is_told_of_prompt_acks(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "prompt.pcap", pushed(late=0).frames)
    for text in said(run, path, tmp_path):
        assert "came late" not in text
