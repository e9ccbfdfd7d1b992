"""Each wait gets its own cause. All packets are synthetic, made with scapy (`conversation.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, ScanFrames, found
from conversation import Conversation, Frame, connected, numbered, stalled, write
from scapy.layers.inet import TCP


def causes(scan: nagle_scan.Scan, frame_to: Frame, frames: Sequence[Frame]) -> list[str]:
    """The causes of the waits that ended with this frame."""
    number = next(index for index, frame in enumerate(frames, 1) if frame is frame_to)
    waits = scan.waits
    return [str(cause) for cause in waits.loc[waits["frame_to"] == number, "cause"]]


def opened(rtt_ms: float = 26.0) -> Conversation:
    made = connected(rtt_ms=rtt_ms)
    made.wait(5.0)
    return made


def test_a_window_scale_that_was_cut_off_is_not_none(tmp_path: Path) -> None:
    """`tcpdump -i any -s 96` cuts the SYN of IPv6 just there: the window would look full."""
    made = stalled()
    for frame in made.frames:
        frame.packet[TCP].window = 5
    for syn in made.frames[:2]:
        options = [("SAckOK", b""), ("Timestamp", (1, 0)), ("NOP", None), ("WScale", 7)]
        syn.packet[TCP].options += options
    ethernet_ip_tcp = 14 + 20 + 20
    cut = write(tmp_path / "cut.pcap", made.frames, snap_length=ethernet_ip_tcp + 16)
    assert found(nagle_scan.scan(cut)) == numbered(made.holds, made.frames)


def test_small_writes_far_below_the_window_do_not_wait_for_it(scan_frames: ScanFrames) -> None:
    """A program that writes every 20 ms meets an ACK each time when the round trip is 5 periods."""
    made = opened(rtt_ms=100.0)
    written = []
    for turn in range(30):
        written.append(made.data("client", 48))
        made.wait(19.98)
        if turn >= 4:
            made.acked["client"] += 48
            made._segment("server", "A", made.isn["server"] + 1)
        made.wait(0.02)
    scan = scan_frames(made.frames)
    assert set(scan.waits["cause"]) == {"sender_app"}


def test_what_the_peer_sends_again_is_not_what_a_program_answers(scan_frames: ScanFrames) -> None:
    """The held segment goes out as a probe 217 ms after its own segment, not 11 ms after a copy."""
    made = opened(rtt_ms=2.0)
    made.data("server", 90)
    made.wait(0.02)
    made.acked["server"] = made.sent["server"]
    made.data("client", 120)
    made.wait(206.0)
    made.again("server", 90)
    made.wait(11.0)
    probe = made.data("client", 30)
    made.wait(made.rtt_ms)
    made.again("client", 150)
    assert causes(scan_frames(made.frames), probe, made.frames) == ["retransmission"]


@pytest.mark.parametrize(("after_ms", "stalls"), [(26.0, 6), (24.5, 0)])
def test_nothing_is_released_before_its_ack_can_have_arrived(
    after_ms: float, stalls: int, scan_frames: ScanFrames
) -> None:
    """Captured at the client: what the server sends for an ACK comes a round trip later."""
    made = opened(rtt_ms=26.0)
    for _ in range(6):
        made.data("client", 50)
        made.wait(made.rtt_ms)
        made.ack("server")
        made.wait(5.0)
        made.reply_in_two(41.0, after_ms)
        made.wait(0.02)
    assert len(scan_frames(made.frames).stalls) == stalls


@pytest.mark.parametrize(
    ("case", "sender", "variant"),
    [
        ("request-split-rtt26", "client", "unknown"),
        ("head-and-body-rtt26", "server", "minshall"),
        ("lwip-client-odd-tail-of-request-rtt26", "client", "classic"),
    ],
)
def test_the_variant_of_nagles_algorithm(case: str, sender: str, variant: str) -> None:
    """Real captures: Linux lets a small tail follow full segments, lwIP holds it."""
    (path,) = (CAPTURES / "labelled" / case).glob("*.pcap.gz")
    assert nagle_scan.scan(path).connections.at[0, f"{sender}_nagle_variant"] == variant


def test_a_client_that_pauses_in_its_request_is_not_idle(scan_frames: ScanFrames) -> None:
    """It keeps the server waiting longer than the server takes to answer."""
    made = opened(rtt_ms=1.0)
    for _ in range(3):
        made.data("client", 50)
        made.wait(made.rtt_ms)
        made.ack("server")
        made.wait(199.0)
        made.data("client", 50)
        made.wait(52.0)
        made.answer()
        made.wait(900.0)
    longest = scan_frames(made.frames)._result.core.longest_waits(1)[0]
    assert (longest.sender, longest.cause, round(longest.wait_ms)) == ("client", "sender_app", 200)


def test_a_server_that_nobody_asked_is_not_slow(scan_frames: ScanFrames) -> None:
    """It greets, says more by itself, answers a request, and publishes something later."""
    made = opened()
    for by in ("server", "server", "client", "server", "server"):
        made.wait(300.0)
        made.data(by, 100)
        made.wait(made.rtt_ms)
        made.ack("client" if by == "server" else "server")
    rows = scan_frames(made.frames)._result.core.causes()
    server = {row.turn: row.waits for row in rows if row.sender == "server"}
    assert server == {"first": 1, "idle": 1, "asked": 1, "midway": 1}


def test_a_stream_beyond_4_gib_keeps_its_offsets(scan_frames: ScanFrames) -> None:
    made = connected()
    for _ in range(5):
        # The capture missed a gigabyte that was acknowledged all the same.
        made.sent["client"] += 2**30
        made.ack("server")
        made.stall()
    offsets = [hold.rel_seq for hold in made.holds]
    assert offsets[-1] > 2**32
    assert scan_frames(made.frames).stalls["rel_seq"].tolist()[-2:] == offsets[-2:]
