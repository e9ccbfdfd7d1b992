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
from conftest import found
from conversation import (
    Conversation,
    Frame,
    ethernet,
    in_vxlan,
    interleaved,
    numbered,
    over_udp,
    pcap,
    stalled,
)
from scapy.layers.l2 import Dot1Q

KEY = bytes(range(32))
"""For `--anonymize`."""

Tunnel = Callable[[Frame, int], bytes]
"""A frame in the tunnel with this number, as its sender sends it."""


def in_gtp(frame: Frame, number: int) -> bytes:
    """Each end of the tunnel has chosen its own identifier."""
    teid = number * 10 if frame.sender == "client" else 7000 - number
    packet = bytes(frame.packet)
    return over_udp(frame, 2152, struct.pack("!BBHI", 0x30, 255, len(packet), teid) + packet)


def captured(path: Path, frames: list[tuple[Frame, bytes]]) -> Path:
    path.write_bytes(pcap((frame.time_ns, data) for frame, data in frames))
    return path


@pytest.mark.parametrize("tunnel", [in_vxlan, in_gtp])
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


def tagged(path: Path) -> Path:
    header = ethernet() / Dot1Q(vlan=9) / Dot1Q(vlan=7)
    frames = [(frame, bytes(header / frame.packet)) for frame in stalled().frames]
    return captured(path, frames)


def test_a_notice_counts_what_a_filter_left_out_only_for_a_tag(tmp_path: Path) -> None:
    path = tagged(tmp_path / "tagged.pcap")
    scan = nagle_scan.scan(path, filter="tcp port 8000")
    [notice] = [text for _, text in scan.warnings if "VLAN" in text]
    assert notice.startswith("the filter left out 15 TCP frames only because of a VLAN tag: ")
    wider = notice.split("'")[1]
    assert len(nagle_scan.scan(path, filter=wider).stalls) == 3
    scan.write(tmp_path / "result.json")
    [capture] = json.loads((tmp_path / "result.json").read_text())["captures"]
    assert notice in capture["warnings"]


def test_a_notice_about_a_filter_gives_no_address_away(tmp_path: Path) -> None:
    path = tagged(tmp_path / "tagged.pcap")
    scan = nagle_scan.scan(path, filter="host 10.0.0.1", anonymize=KEY)
    [notice] = [text for _, text in scan.warnings if "VLAN" in text]
    assert "(FILTER) or (vlan and ((FILTER)" in notice
    assert "10.0.0.1" not in notice
