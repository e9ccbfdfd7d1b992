"""Words on connections that never came about, and on captures with handshakes only."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversation import write_timed
from nagle_scan import scan
from nagle_scan.report import text
from nagle_scan.report.options import Options
from nagle_scan.system.terminal import PLAIN
from scapy.layers.inet import IP, TCP

CLIENT = IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=4000, dport=80, seq=100, flags="S")
SERVER = IP(src="192.0.2.2", dst="192.0.2.1")
ANSWER = SERVER / TCP(sport=80, dport=4000, seq=500, ack=101, flags="SA")
REFUSAL = SERVER / TCP(sport=80, dport=4000, seq=0, ack=101, flags="RA")
ACK = IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=4000, dport=80, seq=101, ack=501, flags="A")

SYNS = [(0.0, CLIENT), (1.0, CLIENT), (3.0, CLIENT)]


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (SYNS, "the SYN was sent 3 times and never answered"),
        ([(0.0, CLIENT), (0.1, REFUSAL), (0.6, CLIENT), (0.7, REFUSAL)], "refused with RST"),
        (
            [*SYNS, (3.1, ANSWER), (3.1, ACK)],
            "a SYN was sent again before its SYN-ACK came: one was lost",
        ),
        ([(0.0, CLIENT), (1.0, ANSWER), (1.01, ACK)], "Connecting took 1.0 s."),
    ],
)
def test_how_connecting_went_is_said(
    tmp_path: Path, frames: list[tuple[float, IP]], said: str
) -> None:
    """Who captured a service that does not answer learns that, and not of a loss."""
    capture = write_timed(tmp_path / "connecting.pcap", frames)
    told = text.render(scan(capture), PLAIN, Options())
    assert said in " ".join(told.split())
