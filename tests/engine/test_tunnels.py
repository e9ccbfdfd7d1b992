"""Connections inside tunnels, and what a filter does not see behind a tag.

All packets here are synthetic; which bytes tshark takes for which packet is in
`analyzer/src/decode/layers/tests.rs`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import nagle_scan
import pytest
from conftest import found, write_evidence
from conversation import (
    TUNNEL,
    Conversation,
    Frame,
    ethernet,
    in_ethernet,
    in_vxlan,
    interleaved,
    numbered,
    outer,
    over_udp,
    pcap,
    stalled,
)
from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1Q
from scapy.packet import Raw

KEY = bytes(range(32))
"""For `--anonymize`."""

Tunnel = Callable[[Frame, int], bytes]
"""A frame in the tunnel with this number, as its sender sends it."""


def in_geneve(frame: Frame, number: int) -> bytes:
    header = struct.pack("!HHI", 0, 0x6558, number << 8)
    return over_udp(frame, 6081, header + in_ethernet(frame.packet))


def in_gre(frame: Frame, number: int) -> bytes:
    packet = outer(frame.sender)
    packet[IP].proto = 47
    return bytes(packet / Raw(struct.pack("!HHI", 0x2000, 0x0800, number) + bytes(frame.packet)))


def in_gtp(frame: Frame, number: int) -> bytes:
    """Each end of the tunnel has chosen its own identifier."""
    teid = number * 10 if frame.sender == "client" else 7000 - number
    packet = bytes(frame.packet)
    return over_udp(frame, 2152, struct.pack("!BBHI", 0x30, 255, len(packet), teid) + packet)


def captured(path: Path, frames: list[tuple[Frame, bytes]]) -> Path:
    path.write_bytes(pcap((frame.time_ns, data) for frame, data in frames))
    return path


@pytest.mark.parametrize("tunnel", [in_vxlan, in_geneve, in_gre, in_gtp])
def test_the_same_ends_in_two_tunnels_are_two_connections(tunnel: Tunnel, tmp_path: Path) -> None:
    one = stalled()
    other = stalled(Conversation(isn={"client": 700_000_000, "server": 900_000_000}, now_ms=3.0))
    frames = interleaved(one, other)
    numbers = {id(frame): 1 if frame in one.frames else 2 for frame in frames}
    wrapped = [(frame, tunnel(frame, numbers[id(frame)])) for frame in frames]
    scan = nagle_scan.scan(captured(tmp_path / "tunnels.pcap", wrapped))
    assert len(scan.connections) == 2
    assert sorted(found(scan)) == sorted(numbered([*one.holds, *other.holds], frames))
    assert scan.warnings == []


@pytest.mark.parametrize("tunnel", [in_vxlan, in_geneve, in_gre, in_gtp])
def test_evidence_of_a_tunnel_holds_no_address_of_it(tunnel: Tunnel, tmp_path: Path) -> None:
    made = stalled()
    wrapped = [(frame, tunnel(frame, 5)) for frame in made.frames]
    path = captured(tmp_path / "tunnel.pcap", wrapped)
    scan = nagle_scan.scan(path, anonymize=KEY)
    evidence = tmp_path / "evidence.pcapng"
    write_evidence(scan, evidence)
    content = evidence.read_bytes()
    inner = {made.frames[0].packet[IP].src, made.frames[0].packet[IP].dst}
    for address in [*TUNNEL.values(), *inner]:
        assert bytes(map(int, address.split("."))) not in content, address
    assert len(nagle_scan.scan(evidence).stalls) == 3


def tagged(path: Path, *tags: int) -> Path:
    frames = []
    for frame in stalled().frames:
        packet = ethernet()
        for tag in tags:
            packet /= Dot1Q(vlan=tag)
        frames.append((frame, bytes(packet / frame.packet)))
    return captured(path, frames)


@pytest.mark.parametrize("tags", [(7,), (9, 7)])
def test_a_notice_counts_what_a_filter_left_out_only_for_a_tag(
    tags: tuple[int, ...], tmp_path: Path
) -> None:
    path = tagged(tmp_path / "tagged.pcap", *tags)
    scan = nagle_scan.scan(path, filter="tcp port 8000")
    [notice] = [text for _, text in scan.warnings if "VLAN" in text]
    assert notice.startswith("the filter left out 15 TCP frames only because of a VLAN tag: ")
    wider = notice.split("'")[1]
    assert len(nagle_scan.scan(path, filter=wider).stalls) == 3
    scan.write(tmp_path / "result.json")
    [capture] = json.loads((tmp_path / "result.json").read_text())["captures"]
    assert notice in capture["warnings"]


@pytest.mark.parametrize("expression", ["tcp port 81", "vlan 8 and tcp port 8000", "not vlan"])
def test_a_filter_that_excludes_more_than_tags_has_no_notice(
    expression: str, tmp_path: Path
) -> None:
    scan = nagle_scan.scan(tagged(tmp_path / "tagged.pcap", 7), filter=expression)
    assert not [text for _, text in scan.warnings if "VLAN" in text]


def test_a_notice_about_a_filter_gives_no_address_away(tmp_path: Path) -> None:
    path = tagged(tmp_path / "tagged.pcap", 7)
    scan = nagle_scan.scan(path, filter="host 10.0.0.1", anonymize=KEY)
    [notice] = [text for _, text in scan.warnings if "VLAN" in text]
    assert "(FILTER) or (vlan and ((FILTER)" in notice
    assert "10.0.0.1" not in notice
