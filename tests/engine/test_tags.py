"""VLAN tags, behind which a filter sees nothing. All packets here are synthetic."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import written
from conversation import ethernet, pcap, records, stalled
from scapy.layers.l2 import Dot1Q


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
