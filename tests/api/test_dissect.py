"""Who asks for frames gets packets that scapy dissects."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, unreadable
from conversation import Conversation, stalled, write
from scapy.layers.inet import TCP


@pytest.fixture
def scan(tmp_path: Path) -> nagle_scan.Scan:
    return nagle_scan.scan(write(tmp_path / "held.pcap", stalled(Conversation()).frames))


def test_the_frames_of_a_stall_are_what_the_table_says(scan: nagle_scan.Scan) -> None:
    stall = scan.stalls.iloc[0]
    frames = stall[["frame_held", "frame_ack", "frame_unacked"]]
    unacked, ack, held = scan.packets(frames)
    assert (len(unacked[TCP].payload), len(ack[TCP].payload)) == (stall["len_unacked"], 0)
    assert len(held[TCP].payload) == stall["len"]
    assert (float(held.time) - float(unacked.time)) * 1000 == pytest.approx(
        stall["wait_ms"], abs=1e-3
    )


def test_what_was_read_from_a_pipe_cannot_be_dissected() -> None:
    scan = unreadable(nagle_scan.scan(CAPTURES / "epoll-fd0.pcap"))
    with pytest.raises(nagle_scan.CaptureError, match="second time"):
        scan.packets([1])


def test_other_link_types_than_ethernet_are_dissected() -> None:
    scan = nagle_scan.scan(CAPTURES / "labelled/formats-rtt2/client-sll1.pcap.gz")
    assert all(packet.haslayer(TCP) for packet in scan.packets(scan.stalls["frame_held"]))


def test_a_frame_that_is_not_there_is_left_out(scan: nagle_scan.Scan) -> None:
    assert scan.packets([1 << 40]) == []
