"""What a segment acknowledges tells what its sender had when it left. All packets are synthetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import nagle_scan
import pytest
from conftest import found
from conversation import Conversation, Frame, Hold, numbered

Scanned = Callable[[Sequence[Frame]], nagle_scan.Scan]


def opened(rtt_ms: float) -> Conversation:
    made = Conversation(rtt_ms=rtt_ms)
    made.open()
    made.wait(5.0)
    return made


def released_beside_data(made: Conversation, answers: bool) -> Hold:
    """The server's second piece leaves when the client's ACK comes; the client's next data comes
    80 us after that ACK, and the piece acknowledges it (`answers`) or not.
    """
    unacked = made.data("server", 4)
    made.wait(41.0)
    ack = made.ack("client")
    made.wait(0.08)
    made.data("client", 11)
    made.wait(made.rtt_ms + 0.03 - 0.08)
    if answers:
        made.acked["client"] = made.sent["client"]
    rel_seq = made.sent["server"]
    held = made.data("server", 7)
    made.wait(0.02)
    made.ack("server")
    made.wait(made.rtt_ms)
    made.ack("client")
    made.wait(300.0)
    return Hold(unacked, ack, held, rel_seq, 7, "server")


@pytest.mark.parametrize("rtt_ms", [2.0, 26.0])
def test_a_segment_that_left_before_the_data_is_no_answer(
    scan_frames: Scanned, rtt_ms: float
) -> None:
    made = opened(rtt_ms)
    holds = [released_beside_data(made, answers=False) for _ in range(4)]
    assert found(scan_frames(made.frames)) == numbered(holds, made.frames)


@pytest.mark.parametrize("rtt_ms", [2.0, 26.0])
def test_a_segment_that_acknowledges_the_data_may_be_its_answer(
    scan_frames: Scanned, rtt_ms: float
) -> None:
    made = opened(rtt_ms)
    for _ in range(4):
        released_beside_data(made, answers=True)
    assert found(scan_frames(made.frames)) == []


def test_data_that_crossed_the_senders_own_is_answered_late(scan_frames: Scanned) -> None:
    """Both speak first, as in SSH: captured here, the server's data comes after the client's, but
    the client's reached the server after its own had left.
    """
    made = opened(26.0)
    made.data("client", 41)
    made.wait(0.3)
    made.data("server", 1088)
    made.wait(0.01)
    made.ack("client")
    made.wait(25.7)
    made.acked["client"] = made.sent["client"]
    made._segment("server", "A", made.isn["server"] + 1 + made.sent["server"], b"", None)
    made.wait(300.0)
    late = made.data("server", 300)
    frame = made.frames.index(late) + 1
    waits = scan_frames(made.frames).waits
    assert list(waits.loc[waits["frame_to"] == frame, "cause"]) == ["sender_app"]
