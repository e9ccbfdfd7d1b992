"""Public captures, which are not shipped: `make shared`, with their folder beside the repository.

Frames and counts are those of their README.
"""

from __future__ import annotations

from dataclasses import dataclass

import nagle_scan
import pytest
from conftest import ROOT
from engine.test_wireshark import our_segments, tshark_segments

PUBLIC = ROOT.parent / "shared" / "public"
PATHS = sorted(PUBLIC.glob("*.pcap*"))


@dataclass(frozen=True)
class Truth:
    """Stalls as frames: unacknowledged, its ACK, held."""

    stalls: tuple[tuple[int, int, int], ...] = ()
    count: int | None = None
    sender: str | None = None
    silent: str | None = None


TRUTH = {
    "dnp3-full-exchange.pcap": Truth(((8, 9, 10), (14, 15, 16)), 2),
    "dnp3-file-read.pcap": Truth(((16, 17, 18),), 1),
    "dns-axfr.pcapng": Truth(((4, 5, 6),), 1),
    "telnet-windows10.pcap": Truth(((9, 11, 12),), 5, sender="192.168.56.102"),
    "pop3-stls.pcap": Truth(((36, 37, 38),)),
    "imap.pcap": Truth(((7, 8, 9),), 5),
    "jabber.pcap": Truth(((39, 40, 41),), 5),
    "http-100-continue.pcap": Truth(((8, 9, 10),)),
    "two-pmus.pcap": Truth(((18, 23, 24),), 878, sender="192.168.0.60", silent="192.168.0.241"),
    "ftp-cwd-navigation.pcap": Truth(count=0),
    "pop3-netem.pcap": Truth(count=0),
    "msnms.pcap": Truth(count=0),
    "waze.pcap": Truth(count=0),
}
ABOUT = 0.01
"""The README gives large counts as 'about'."""


def test_every_capture_is_told_here() -> None:
    assert {path.name for path in PATHS} == TRUTH.keys()


@pytest.mark.parametrize("name", TRUTH)
def test_they_come_out_as_their_table_says(name: str) -> None:
    truth, scan = TRUTH[name], nagle_scan.scan(PUBLIC / name)
    delayed = scan.stalls[scan.stalls["cause"] == "nagle_delack"]
    addresses = [
        scan.connections.at[row.connection, f"{row.sender}_addr"] for row in delayed.itertuples()
    ]
    frames = list(
        zip(delayed["frame_unacked"], delayed["frame_ack"], delayed["frame_held"], strict=True)
    )
    own = [
        place
        for place, address in zip(frames, addresses, strict=True)
        if truth.sender in (None, address)
    ]
    assert own[: len(truth.stalls)] == list(truth.stalls)
    assert truth.silent not in addresses
    if truth.count is not None:
        assert len(own) == pytest.approx(truth.count, rel=ABOUT)


@pytest.mark.parametrize("name", TRUTH)
def test_they_are_numbered_as_wireshark_numbers_them(name: str) -> None:
    assert our_segments(PUBLIC / name) == tshark_segments(PUBLIC / name)


def test_the_tail_of_a_windows_sender_is_seen_as_one() -> None:
    groups = [group for path in PATHS for group in nagle_scan.scan(path)._result.core.groups()]
    assert any(group.worst.unacked_full_sized for group in groups)
