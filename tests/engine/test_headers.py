"""Headers before TCP: those of IP with options, and tags, behind which a filter sees nothing.

All packets here are synthetic.
"""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import ScanFrames, found, written
from conversation import Conversation, Network, ethernet, ip, numbered, pcap, records, stalled
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1Q

ROUTER_ALERT = [b"\x94\x04\x00\x00"]
HEADERS: dict[str, tuple[str, Network]] = {
    "IPv4 options": ("10.0.0.", lambda *ends: IP(src=ends[0], dst=ends[1], options=ROUTER_ALERT)),
    "IPv6": ("2001:db8::", ip),
    "IPv6 options": (
        "2001:db8::",
        lambda *ends: ip(*ends) / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(),
    ),
    "an atomic fragment": ("2001:db8::", lambda *ends: ip(*ends) / IPv6ExtHdrFragment()),
}


@pytest.mark.parametrize("name", HEADERS)
def test_stalls_are_found_behind_every_ip_header(name: str, scan_frames: ScanFrames) -> None:
    hosts, network = HEADERS[name]
    made = stalled(Conversation((f"{hosts}1", 40000), (f"{hosts}2", 8000), network=network))
    scan = scan_frames(made.frames)
    assert found(scan) == numbered(made.holds, made.frames)
    assert scan.warnings == []


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    """A connection with stalls, behind two tags."""
    header = ethernet() / Dot1Q(vlan=9) / Dot1Q(vlan=7)
    path = tmp_path / "tagged.pcap"
    path.write_bytes(pcap(records(stalled().frames, lambda packet: bytes(header / packet))))
    return path


def test_a_notice_counts_what_a_filter_left_out_only_for_a_tag(
    tagged: Path, tmp_path: Path
) -> None:
    scan = nagle_scan.scan(tagged, filter="tcp port 8000")
    [notice] = [text for _, text in scan.warnings if "VLAN" in text]
    assert notice.startswith("the filter left out 15 TCP frames only because of a VLAN tag: ")
    wider = notice.split("'")[1]
    assert len(nagle_scan.scan(tagged, filter=wider).stalls) == 3
    [capture] = written(scan, tmp_path)["captures"]
    assert notice in capture["warnings"]


def test_a_notice_about_a_filter_gives_no_address_away(tagged: Path) -> None:
    scan = nagle_scan.scan(tagged, filter="host 10.0.0.1", anonymize=bytes(range(32)))
    [notice] = [text for _, text in scan.warnings if "VLAN" in text]
    assert "(FILTER) or (vlan and ((FILTER)" in notice
    assert "10.0.0.1" not in notice
