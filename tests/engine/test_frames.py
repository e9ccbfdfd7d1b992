"""The same stalls in every wrapping, and look-alikes in which nothing was held.

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
    MS,
    Conversation,
    Frame,
    ethernet,
    in_ethernet,
    interleaved,
    ipv6,
    numbered,
    over_ipv6,
    pcap,
    pcapng,
    records,
    stalled,
    write,
)
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import ARP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q
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


@pytest.mark.parametrize(("link_type", "link"), LINKS)
def test_stalls_are_found_in_every_link_layer(link_type: int, link: Link, tmp_path: Path) -> None:
    made = stalled()
    capture = pcap(records(made.frames, link), link_type)
    scan = scan_bytes(tmp_path / "link.pcap", capture)
    assert found(scan) == numbered(made.holds, made.frames)
    assert scan.warnings == []


def test_stalls_are_found_where_all_is_ipv6(tmp_path: Path) -> None:
    made = stalled(over_ipv6())
    path = tmp_path / "link.pcap"
    path.write_bytes(pcap(records(made.frames, bytes), IPV6_ONLY))
    for expression in (None, "tcp port 8000"):
        assert found(nagle_scan.scan(path, filter=expression)) == numbered(made.holds, made.frames)
    assert nagle_scan.scan(path, filter="tcp port 1").stalls.empty


def test_every_link_type_that_can_be_read_is_tested_here(tmp_path: Path) -> None:
    tested = {link_type for link_type, _ in LINKS} | {IPV6_ONLY}
    for link_type in range(512):
        content = pcap([], link_type)
        if link_type in tested:
            scan_bytes(tmp_path / "link.pcap", content)
        else:
            with pytest.raises(
                nagle_scan.CaptureError, match=rf"link type {link_type} (\(\w+\) )?is not"
            ):
                scan_bytes(tmp_path / "link.pcap", content)


def test_a_link_type_without_network_packets_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(nagle_scan.CaptureError, match=r"link type 189 \(USB_LINUX\) is not"):
        scan_bytes(tmp_path / "usb.pcap", pcap([], 189))
    with pytest.raises(nagle_scan.CaptureError, match=r"187 \(BLUETOOTH_HCI_H4\) is not"):
        scan_bytes(tmp_path / "bluetooth.pcap", pcap([], 187))


TAGGED = (in_vlan, in_qinq, in_old_qinq, in_sll_vlan)
"""There 'tcp' matches nothing: a BPF filter has to say 'vlan' first, as with tcpdump."""


@pytest.mark.parametrize(("link_type", "link"), [row for row in LINKS if row[1] not in TAGGED])
def test_filters_work_on_every_link_layer(link_type: int, link: Link, tmp_path: Path) -> None:
    if link_type == 0 and link is not in_null:
        pytest.skip("libpcap itself reads NULL in this host's byte order only")
    if link_type in {149, 239, 258}:
        pytest.skip("libpcap itself filters no NFLOG, and PKTAP on macOS only")
    made, other = stalled(), stalled(Conversation(("10.0.0.7", 40007), now_ms=3.0))
    frames = interleaved(made, other)
    path = tmp_path / "link.pcap"
    path.write_bytes(pcap(records(frames, link), link_type))
    scan = nagle_scan.scan(path, filter="tcp port 8000 and host 10.0.0.1")
    assert found(scan) == numbered(made.holds, frames)


def test_a_filter_does_not_refuse_an_interface_it_cannot_read(tmp_path: Path) -> None:
    usb = 220
    made = stalled()
    packets = [(0, frame.time_ns, in_ethernet(frame.packet)) for frame in made.frames]
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(pcapng([1, usb], [*packets, (1, made.frames[-1].time_ns, bytes(60))]))
    scan = nagle_scan.scan(path, filter="tcp port 8000")
    assert found(scan) == numbered(made.holds, made.frames)
    assert "1 of 16 frames not used: of a link type that is not supported" in scan.warnings[0][1]


@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_times_hold_in_every_kind_of_pcap(order: str, nanoseconds: bool, tmp_path: Path) -> None:
    made = stalled()
    for frame in made.frames:
        frame.time_ns += 123
    capture = pcap(records(made.frames), order=order, nanoseconds=nanoseconds)
    stalls = scan_bytes(tmp_path / "times.pcap", capture).stalls
    held_ns = [hold.held.time_ns - (0 if nanoseconds else 123) for hold in made.holds]
    assert stalls["time_ns"].tolist() == held_ns
    assert stalls["wait_ms"].round(6).tolist() == [41.02] * 3
    assert stalls["ack_delay_ms"].round(6).tolist() == [40.0] * 3


def test_a_pcapng_with_several_link_types_is_one_capture(tmp_path: Path) -> None:
    made = stalled()
    packets = [
        (1, frame.time_ns, in_sll2(frame.packet))
        if frame.sender == "server"
        else (0, frame.time_ns, in_ethernet(frame.packet))
        for frame in made.frames
    ]
    scan = scan_bytes(tmp_path / "mixed.pcapng", pcapng([1, 276], packets))
    assert found(scan) == numbered(made.holds, made.frames)


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


def test_a_snap_length_of_96_loses_no_length(tmp_path: Path) -> None:
    made = Conversation()
    made.open()
    for _ in range(3):
        made.stall(first=300, second=700)
    capture = pcap(records(made.frames), snap_length=96)
    scan = scan_bytes(tmp_path / "snapped.pcap", capture)
    assert found(scan) == numbered(made.holds, made.frames)
    assert scan.connections.at[0, "client_bytes"] == 3000


def test_an_ip_length_of_0_takes_the_frames_length(tmp_path: Path) -> None:
    made = Conversation()
    made.open()
    made.data("client", 70_000)
    made.answer()
    for _ in range(3):
        made.stall()

    def offloaded(packet: Packet) -> bytes:
        packet = packet.copy()
        packet[IP].chksum = packet[TCP].chksum = 1
        if Raw in packet and len(packet[Raw].load) == 70_000:
            packet[IP].len = 0
        return in_ethernet(packet)

    scan = scan_bytes(tmp_path / "tso.pcap", pcap(records(made.frames, offloaded)))
    assert found(scan) == numbered(made.holds, made.frames)
    assert scan.stalls.at[0, "rel_seq"] == 70_006


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


@pytest.mark.parametrize("before_the_wrap", [1, 3, 6, 9, 13])
def test_a_sequence_wrap_inside_a_stall_changes_nothing(
    before_the_wrap: int, scan_frames: Scanned
) -> None:
    made = stalled(Conversation(isn={"client": 2**32 - 1 - before_the_wrap, "server": 2**32 - 21}))
    assert found(scan_frames(made.frames)) == numbered(made.holds, made.frames)


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


def test_reused_ports_make_two_connections(scan_frames: Scanned) -> None:
    first = stalled()
    first.close()
    second = Conversation(isn={"client": 77_000, "server": 99_000}, now_ms=first.now_ms + 1000)
    second.open()
    for _ in range(3):
        second.stall()
    frames = interleaved(first, second)
    scan = scan_frames(frames)
    assert found(scan) == numbered([*first.holds, *second.holds], frames)
    assert scan.stalls["connection"].tolist() == [0] * 3 + [1] * 3


def test_a_reset_after_the_stall_takes_nothing_back(scan_frames: Scanned) -> None:
    made = stalled()
    made.ack("client", flags="RA")
    assert found(scan_frames(made.frames)) == numbered(made.holds, made.frames)


def test_without_its_handshake_a_connection_is_judged_in_doubt(
    scan_frames: Scanned,
) -> None:
    made = stalled(rounds=4)
    frames = made.frames[3:]
    scan = scan_frames(frames)
    assert found(scan) == numbered(made.holds, frames)
    assert not scan.connections.at[0, "handshake"]
    assert scan.core.summary().without_handshake == 1


@pytest.mark.parametrize("sender", ["client", "server"])
def test_one_direction_alone_is_inconclusive_not_clean(sender: str, scan_frames: Scanned) -> None:
    made = stalled()
    scan = scan_frames([frame for frame in made.frames if frame.sender == sender])
    assert scan.verdict == "inconclusive"
    assert scan.core.summary().one_sided == 1


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
    frames = interleaved(*every)
    expected = [row for made in every for row in numbered(made.holds, frames)]
    assert found(scan_frames(frames)) == expected


def test_the_server_is_caught_as_the_holder_too(scan_frames: Scanned) -> None:
    made = Conversation(rtt_ms=0.4)
    made.open()
    expected = []
    for _ in range(3):
        made.data("client", 30)
        made.wait(made.rtt_ms + 0.1)
        made.acked["client"] = made.sent["client"]
        unacked = made.data("server", 77)
        made.wait(40.0)
        ack = made.ack("client")
        made.wait(made.rtt_ms)
        rel_seq = made.sent["server"]
        held = made.data("server", 100)
        made.acked["server"] = made.sent["server"]
        made.wait(5)
        number = made.frames.index
        expected.append(
            (number(unacked) + 1, number(ack) + 1, number(held) + 1, rel_seq, 100, "server")
        )
    assert found(scan_frames(made.frames)) == expected


@pytest.mark.parametrize("delay_ms", [14.0, 25.0, 40.0, 100.0, 200.0])
def test_every_delayed_ack_timer_is_found(delay_ms: float, scan_frames: Scanned) -> None:
    made = stalled(delay_ms=delay_ms)
    scan = scan_frames(made.frames)
    assert found(scan) == numbered(made.holds, made.frames)
    assert set(scan.stalls["cause"]) == {"nagle_delack"}
    assert scan.stalls["ack_delay_ms"].round(3).tolist() == [delay_ms] * 3


def test_a_hold_for_one_round_trip_is_not_called_a_delayed_ack(scan_frames: Scanned) -> None:
    made = stalled(Conversation(rtt_ms=60.0), delay_ms=0.1)
    scan = scan_frames(made.frames)
    assert found(scan) == numbered(made.holds, made.frames)
    assert set(scan.stalls["cause"]) == {"nagle_rtt"}


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


LOOK_ALIKES = [
    lost_and_sent_again,
    pausing_program,
    nagle_off,
    full_size_segment,
    urgent_segment,
    window_was_closed,
    window_was_full,
    server_thinks,
    delayed_ack_that_nobody_waited_for,
]


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


def test_a_segment_freed_by_its_own_fin_is_no_stall(scan_frames: Scanned) -> None:
    made = Conversation()
    made.open()
    made.data("client", 6)
    made.wait(made.rtt_ms + 40.0)
    made.ack("server")
    made.wait(0.02)
    made.data("client", 7, "FPA")
    made.wait(made.rtt_ms)
    made.ack("server")
    assert found(scan_frames(made.frames)) == []


@pytest.mark.parametrize(
    ("look_alike", "cause"),
    [
        (lost_and_sent_again, "retransmission"),
        (window_was_closed, "zero_window"),
        (window_was_full, "zero_window"),
        (pausing_program, "sender_app"),
        (server_thinks, "sender_app"),
    ],
)
def test_what_looks_like_a_stall_is_named_for_what_it_is(
    look_alike: Callable[[Conversation], None], cause: str, scan_frames: Scanned
) -> None:
    made = Conversation()
    made.open()
    look_alike(made)
    assert cause in set(scan_frames(made.frames).waits["cause"])


def test_two_small_segments_in_flight_prove_nodelay(scan_frames: Scanned) -> None:
    made = Conversation()
    made.open()
    nagle_off(made)
    assert scan_frames(made.frames).connections.at[0, "client_nagle"] == "off"


def test_each_answer_on_a_port_is_proven_by_its_first_connection(tmp_path: Path) -> None:
    """One client calls two servers in turn, with TCP_NODELAY and without."""
    made = []
    for number, (port, holds) in enumerate(
        [(8000, True), (8001, False), (8000, False), (8001, True), (8000, True), (8001, False)]
    ):
        one = Conversation(
            ("10.0.0.1", 40000 + number), ("10.0.0.2", port), now_ms=number * 10_000.0
        )
        one.open()
        for _ in range(3):
            one.stall() if holds else nagle_off(one)
        made.append(one)
    scan = nagle_scan.scan(write(tmp_path / "a.pcap", interleaved(*made)))
    rows = {row.server_port: row for row in scan.core.nagle(9)[0] if row.side == "client"}
    assert {port: (row.on, row.off, row.unknown) for port, row in rows.items()} == {
        8000: (2, 1, 0),
        8001: (1, 2, 0),
    }
    proofs = {
        port: [proof[0] for proof in (row.on_proof, row.off_proof) if proof]
        for port, row in rows.items()
    }
    assert proofs == {8000: [0, 2], 8001: [3, 1]}


def test_shorter_waits_than_asked_for_are_left_out(tmp_path: Path) -> None:
    made = stalled(delay_ms=40.0)
    path = tmp_path / "frames.pcap"
    path.write_bytes(pcap(records(made.frames)))
    assert len(nagle_scan.scan(path, min_wait_ms=40.0).stalls) == 3
    assert len(nagle_scan.scan(path, min_wait_ms=42.0).stalls) == 0


def test_arp_between_the_frames_moves_the_frame_numbers(tmp_path: Path) -> None:
    made = stalled()
    arp = bytes(ethernet() / ARP())
    rows = [row for frame in records(made.frames) for row in ((frame[0], arp), frame)]
    scan = scan_bytes(tmp_path / "arp.pcap", pcap(rows))
    expected = [
        (2 * a, 2 * k, 2 * b, *rest) for a, k, b, *rest in numbered(made.holds, made.frames)
    ]
    assert found(scan) == expected


def test_ipv4_and_ipv6_connections_do_not_mix(scan_frames: Scanned) -> None:
    four = stalled()
    six = stalled(over_ipv6(now_ms=3.0))
    frames = interleaved(four, six)
    scan = scan_frames(frames)
    assert found(scan) == [*numbered(four.holds, frames), *numbered(six.holds, frames)]
    assert scan.connections["client_addr"].tolist() == ["10.0.0.1", "2001:db8::1"]
    assert scan.stalls["time_ns"].min() > 40 * MS
