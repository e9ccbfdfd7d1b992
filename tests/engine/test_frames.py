"""One stall in every wrapping, and look-alikes in which nothing was held.

All packets here are synthetic, made with scapy (see `conversation.py`); real captures are in
`captures/` and `test_captures.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import nagle_scan
import pytest
from conftest import found
from conversation import (
    Conversation,
    Frame,
    ethernet,
    in_ethernet,
    interleaved,
    ipv6,
    numbered,
    over_ipv6,
    pcap,
    records,
    stalled,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q
from scapy.packet import Packet, Raw

Scanned = Callable[[Sequence[Frame]], nagle_scan.Scan]
Link = Callable[[Packet], bytes]


def scan_bytes(path: Path, capture: bytes) -> nagle_scan.Scan:
    path.write_bytes(capture)
    return nagle_scan.scan(path)


def in_vlan(packet: Packet) -> bytes:
    return bytes(ethernet() / Dot1Q(vlan=7) / packet)


def in_qinq(packet: Packet) -> bytes:
    return bytes(ethernet() / Dot1AD(vlan=9) / Dot1Q(vlan=7) / packet)


def in_old_qinq(packet: Packet) -> bytes:
    """The outer tag's type as it was before 802.1ad."""
    frame = bytes(ethernet() / Dot1Q(vlan=9) / Dot1Q(vlan=7) / packet)
    return frame[:12] + b"\x91\x00" + frame[14:]


def in_padded_ethernet(packet: Packet) -> bytes:
    return in_ethernet(packet).ljust(60, b"\xee")


def in_sll(packet: Packet) -> bytes:
    return bytes(CookedLinux(proto=0x0800) / packet)


def in_sll2(packet: Packet) -> bytes:
    return bytes(CookedLinuxV2(proto=0x0800) / packet)


def in_sll_vlan(packet: Packet) -> bytes:
    return bytes(CookedLinux(proto=0x8100) / Dot1Q(vlan=7) / packet)


def in_null(packet: Packet) -> bytes:
    return struct.pack("<I", 2) + bytes(packet)


def in_null_of_a_big_endian_host(packet: Packet) -> bytes:
    return struct.pack(">I", 2) + bytes(packet)


def after(*headers: bytes) -> Link:
    """An IPv4 packet after these bytes."""
    return lambda packet: b"".join(headers) + bytes(packet)


PPP = b"\xff\x03\x00\x21"
SNAP = b"\xaa\xaa\x03\x00\x00\x00\x08\x00"
WLAN = b"\x08\x01" + bytes(22) + SNAP

LINKS = [
    (1, in_ethernet),
    (1, in_padded_ethernet),
    (1, in_vlan),
    (1, in_qinq),
    (1, in_old_qinq),
    (113, in_sll),
    (113, in_sll_vlan),
    (276, in_sll2),
    (0, in_null),
    (0, in_null_of_a_big_endian_host),
    (108, in_null_of_a_big_endian_host),
    (101, bytes),
    (12, bytes),
    (14, bytes),
    (228, bytes),
    (9, after(PPP)),
    (50, after(PPP)),
    (51, after(b"\x11\x00\x00\x05\x00\x2a\x00\x21")),
    (105, after(WLAN)),
    (127, after(b"\x00\x00\x08\x00\x00\x00\x00\x00", WLAN)),
    (119, after(struct.pack("<II", 0x44, 144), bytes(136), WLAN)),
    (163, after(struct.pack(">II", 0x80211001, 64), bytes(56), WLAN)),
    (239, after(b"\x02\x00\x00\x00", struct.pack("<HHIHH", 8, 11, 0, 44, 9))),
    (258, after(struct.pack("<III", 12, 1, 12))),
    (149, after(struct.pack("<III", 12, 1, 12))),
]
IPV6_ONLY = 229
TAGGED = (in_vlan, in_qinq, in_old_qinq, in_sll_vlan)
"""There 'tcp' matches nothing: a BPF filter has to say 'vlan' first, as with tcpdump."""
UNFILTERED = {149, 239, 258}
"""libpcap itself filters no NFLOG, and PKTAP on macOS only."""


@pytest.mark.parametrize(("link_type", "link"), LINKS)
def test_stalls_are_found_in_every_link_layer(link_type: int, link: Link, tmp_path: Path) -> None:
    made, other = stalled(), stalled(Conversation(("10.0.0.7", 40007), now_ms=3.0))
    frames = interleaved(made, other)
    path = tmp_path / "link.pcap"
    scan = scan_bytes(path, pcap(records(frames, link), link_type))
    assert found(scan) == [*numbered(made.holds, frames), *numbered(other.holds, frames)]
    assert scan.warnings == []
    # NULL libpcap reads in this host's byte order only.
    in_order = link_type != 0 or link is in_null
    if link not in TAGGED and link_type not in UNFILTERED and in_order:
        alone = nagle_scan.scan(path, filter="tcp port 8000 and host 10.0.0.1")
        assert found(alone) == numbered(made.holds, frames)


def test_stalls_are_found_where_all_is_ipv6(tmp_path: Path) -> None:
    made = stalled(over_ipv6())
    path = tmp_path / "link.pcap"
    path.write_bytes(pcap(records(made.frames, bytes), IPV6_ONLY))
    for expression in (None, "tcp port 8000"):
        assert found(nagle_scan.scan(path, filter=expression)) == numbered(made.holds, made.frames)
    assert nagle_scan.scan(path, filter="tcp port 1").stalls.empty


def with_extension_headers(source: str, destination: str) -> Packet:
    headers: Packet = IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()
    return ipv6(source, destination) / headers


def with_an_atomic_fragment(source: str, destination: str) -> Packet:
    return ipv6(source, destination) / IPv6ExtHdrFragment()


def with_ip_options(source: str, destination: str) -> Packet:
    return IP(src=source, dst=destination, options=[b"\x94\x04\x00\x00"])


@pytest.mark.parametrize(
    "made",
    [
        Conversation(network=with_ip_options),
        over_ipv6(),
        over_ipv6(network=with_extension_headers),
        over_ipv6(network=with_an_atomic_fragment),
    ],
    ids=lambda made: made.network.__name__,
)
def test_stalls_are_found_in_every_ip_header(made: Conversation, scan_frames: Scanned) -> None:
    stalled(made)
    scan = scan_frames(made.frames)
    assert found(scan) == numbered(made.holds, made.frames)
    assert scan.warnings == []


def in_pieces(packet: Packet) -> list[Packet]:
    pieces: list[Packet] = packet.fragment(600)
    return pieces


def test_frames_of_other_protocols_keep_the_numbers_right(
    scan_frames: Scanned,
) -> None:
    made = stalled()
    datagram = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(dport=53) / Raw(bytes(3000))
    fragments = [
        Frame(frame.time_ns, "client", packet)
        for frame, packet in zip(made.frames, in_pieces(datagram), strict=False)
    ]
    split = made.data("client", 1400)
    pieces = [Frame(split.time_ns, "client", piece) for piece in in_pieces(split.packet)]
    frames = sorted([*made.frames[:-1], *fragments, *pieces], key=lambda frame: frame.time_ns)
    scan = scan_frames(frames)
    assert found(scan) == numbered(made.holds, frames)
    notices = " ".join(text for _, text in scan.warnings)
    unused = len(fragments) + len(pieces)
    assert f"{unused} of {len(frames)} frames not used: {len(fragments)} IP but not TCP" in notices
    assert f", {len(pieces)} IP fragments" in notices


def test_a_stream_beyond_4_gib_keeps_its_offsets(scan_frames: Scanned) -> None:
    made = Conversation()
    made.open()
    for _ in range(5):
        # The capture missed a gigabyte that was acknowledged all the same.
        made.sent["client"] += 2**30
        made.ack("server")
        made.stall()
    offsets = [hold.rel_seq for hold in made.holds]
    assert offsets[-1] > 2**32
    assert scan_frames(made.frames).stalls["rel_seq"].tolist()[-2:] == offsets[-2:]


def test_without_its_handshake_a_connection_is_judged_in_doubt(
    scan_frames: Scanned,
) -> None:
    made = stalled(rounds=4)
    frames = made.frames[3:]
    scan = scan_frames(frames)
    assert found(scan) == numbered(made.holds, frames)
    assert not scan.connections.at[0, "handshake"]
    assert scan.core.summary().without_handshake == 1


def test_a_mirror_port_that_copies_every_frame_changes_nothing(scan_frames: Scanned) -> None:
    made = stalled()
    copies = [Frame(frame.time_ns + 2000, frame.sender, frame.packet) for frame in made.frames]
    frames = sorted([*made.frames, *copies], key=lambda frame: frame.time_ns)
    scan = scan_frames(frames)
    assert found(scan) == numbered(made.holds, frames)
    assert scan.connections.at[0, "client_retransmitted"] == 0


def test_many_connections_at_once_are_kept_apart(scan_frames: Scanned) -> None:
    every = [
        stalled(Conversation(("10.0.0.1", 40000 + index), now_ms=index * 7.3), 2 + index % 2)
        for index in range(8)
    ]
    every.append(stalled(over_ipv6(now_ms=60.0)))
    frames = interleaved(*every)
    expected = [row for made in every for row in numbered(made.holds, frames)]
    assert found(scan_frames(frames)) == expected


# Look-alikes: each of these is 40 or 200 ms long, and in none of them was anything held.


def lost_and_sent_again(made: Conversation) -> None:
    """A loss hits any segment; a receiver's timer, only those that a held one waits for."""
    made.data("client", 6)
    made.wait(200.0)
    made.again("client", 6)
    made.wait(made.rtt_ms)
    made.ack("server")
    made.wait(0.02)
    made.data("client", 7)
    made.wait(200.0)
    made.again("client", 7)
    made.answer()


def pausing_program(made: Conversation) -> None:
    """It writes 15 ms or so after the delayed ACK, at its own pace."""
    made.data("client", 6)
    made.wait(made.rtt_ms + 40.0)
    made.ack("server")
    made.wait(15.0 + len(made.frames) % 7)
    made.data("client", 7)
    made.answer()


def nagle_off(made: Conversation) -> None:
    made.data("client", 6)
    made.wait(0.03)
    made.data("client", 7)
    made.wait(made.rtt_ms + 40.0)
    made.ack("server")
    made.wait(0.02)
    made.answer()


def full_size_segment(made: Conversation) -> None:
    made.data("client", 6)
    made.wait(made.rtt_ms + 40.0)
    made.ack("server")
    made.wait(0.02)
    made.data("client", made.mss)
    made.answer()


def urgent_segment(made: Conversation) -> None:
    made.data("client", 6)
    made.wait(made.rtt_ms + 40.0)
    made.ack("server")
    made.wait(0.02)
    made.data("client", 7, "PAU")
    made.answer()


def window_was_closed(made: Conversation) -> None:
    made.data("client", 6)
    made.wait(made.rtt_ms)
    made.ack("server", window=0)
    made.wait(60.0)
    made.ack("server", window=64240)
    made.wait(0.02)
    made.data("client", 7)
    made.answer()


def window_was_full(made: Conversation) -> None:
    made.ack("server", window=1000)
    made.data("client", 998)
    made.wait(made.rtt_ms + 40.0)
    made.ack("server", window=64240)
    made.wait(0.02)
    made.data("client", 7)
    made.answer()


def server_thinks(made: Conversation) -> None:
    made.data("client", 13)
    made.wait(40.0)
    made.answer()


def delayed_ack_that_nobody_waited_for(made: Conversation) -> None:
    made.data("client", 13)
    made.answer()
    made.wait(40.0)
    made.ack("client")
    # A capture that ends here leaves open what the ACK released.
    made.wait(5.0)
    made.data("client", 13)
    made.answer()


LOOK_ALIKES: dict[Callable[[Conversation], None], str | None] = {
    lost_and_sent_again: "retransmission",
    pausing_program: "sender_app",
    nagle_off: None,
    full_size_segment: None,
    urgent_segment: None,
    window_was_closed: "zero_window",
    window_was_full: "zero_window",
    server_thinks: "sender_app",
    delayed_ack_that_nobody_waited_for: None,
}
"""And the causes that have to be among those of their waits."""


@pytest.mark.parametrize("rounds", [1, 6])
@pytest.mark.parametrize("look_alike", LOOK_ALIKES)
def test_no_false_alarm(
    look_alike: Callable[[Conversation], None], rounds: int, scan_frames: Scanned
) -> None:
    made = Conversation()
    made.open()
    for _ in range(rounds):
        look_alike(made)
        made.wait(5.0)
    scan = scan_frames(made.frames)
    assert found(scan) == []
    assert scan.verdict == "clean"
    assert {LOOK_ALIKES[look_alike]} - {None} <= set(scan.waits["cause"])
    assert "on" not in {
        scan.connections.at[0, "client_nagle"],
        scan.connections.at[0, "server_nagle"],
    }


@pytest.mark.parametrize("look_alike", LOOK_ALIKES)
def test_no_false_alarm_among_real_stalls(
    look_alike: Callable[[Conversation], None], scan_frames: Scanned
) -> None:
    made = stalled()
    look_alike(made)
    made.wait(5.0)
    for _ in range(3):
        made.stall()
    assert found(scan_frames(made.frames)) == numbered(made.holds, made.frames)
