"""Each wait gets its own cause. All packets are synthetic, made with scapy (`conversation.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import nagle_scan
import pytest
from conftest import found
from conversation import Conversation, Frame, numbered, pcap, records, stalled

Scanned = Callable[[Sequence[Frame]], nagle_scan.Scan]


def causes(scan: nagle_scan.Scan, frame_to: Frame, frames: Sequence[Frame]) -> list[str]:
    """The causes of the waits that ended with this frame."""
    number = next(index for index, frame in enumerate(frames, 1) if frame is frame_to)
    waits = scan.waits
    return [str(cause) for cause in waits.loc[waits["frame_to"] == number, "cause"]]


def opened(rtt_ms: float = 26.0) -> Conversation:
    made = Conversation(rtt_ms=rtt_ms)
    made.open()
    made.wait(5.0)
    return made


def test_a_window_scale_that_the_snap_length_cut_off_is_not_taken_for_none(tmp_path: Path) -> None:
    """`tcpdump -i any -s 96` cuts the SYN of IPv6 just there: the window would look full."""
    options = [("SAckOK", b""), ("Timestamp", (1, 0)), ("NOP", None), ("WScale", 7)]
    made = stalled(Conversation(window=5, syn_options=options))
    path = tmp_path / "cut.pcap"
    ethernet_ip_tcp = 14 + 20 + 20
    path.write_bytes(pcap(records(made.frames), snap_length=ethernet_ip_tcp + 16))
    assert found(nagle_scan.scan(path)) == numbered(made.holds, made.frames)


def test_an_mss_that_the_snap_length_cut_off_is_not_taken_for_none(tmp_path: Path) -> None:
    made = stalled()
    made.stall(first=1460, second=600)
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(records(made.frames), snap_length=14 + 20 + 20))
    scan = nagle_scan.scan(path)
    assert scan.connections.at[0, "mss"] == 1460


def test_an_ack_that_makes_room_in_the_congestion_window(scan_frames: Scanned) -> None:
    made = opened()
    for _ in range(10):
        made.data("client", made.mss)
    made.wait(made.rtt_ms)
    made.acked["client"] = made.mss
    made._segment("server", "A", made.isn["server"] + 1, b"", None)
    made.wait(0.02)
    freed = made.data("client", made.mss)
    assert causes(scan_frames(made.frames), freed, made.frames) == ["congestion_window"]


def test_small_writes_far_below_the_window_do_not_wait_for_it(scan_frames: Scanned) -> None:
    """A program that writes every 20 ms meets an ACK each time when the round trip is 5 periods."""
    made = opened(rtt_ms=100.0)
    written = []
    for turn in range(30):
        written.append(made.data("client", 48))
        made.wait(19.98)
        if turn >= 4:
            made.acked["client"] += 48
            made._segment("server", "A", made.isn["server"] + 1, b"", None)
        made.wait(0.02)
    scan = scan_frames(made.frames)
    assert set(scan.waits["cause"]) == {"sender_app"}


@pytest.mark.parametrize("again", [150, 149])
def test_new_data_after_a_loss_is_a_probe(again: int, scan_frames: Scanned) -> None:
    """The tail-loss probe sends new data; what was lost before it comes again afterwards."""
    made = opened()
    made.data("server", 90)
    made.wait(0.02)
    made.ack("client")
    made.sent["client"] += 120
    made.wait(250.0)
    probe = made.data("client", 30)
    made.wait(made.rtt_ms)
    made.again("client", again)
    assert causes(scan_frames(made.frames), probe, made.frames) == ["retransmission"]


def test_what_the_peer_sends_again_is_not_what_a_program_answers(scan_frames: Scanned) -> None:
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
    after_ms: float, stalls: int, scan_frames: Scanned
) -> None:
    """Captured at the client: what the server sends for an ACK comes a round trip later."""
    made = opened(rtt_ms=26.0)
    for _ in range(6):
        made.data("client", 50)
        made.wait(made.rtt_ms)
        made.ack("server")
        made.wait(5.0)
        made.data("server", 90)
        made.wait(41.0)
        made.ack("client")
        made.wait(after_ms)
        made.data("server", 30)
        made.wait(0.02)
        made.acked["server"] = made.sent["server"]
    assert len(scan_frames(made.frames).stalls) == stalls
