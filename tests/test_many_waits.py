"""More waits than anyone reads one by one: without room of its own a user would miss what a slow
server did, among all the clients that had nothing to ask.

The packets of many are synthetic, of `bench/generate.c`; what follows them are real captures.
"""

from __future__ import annotations

import struct
from pathlib import Path

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, generated
from conversation import MS, START_NS, in_ethernet, ipv4, pcap
from scapy.layers.inet import TCP
from scapy.packet import Raw

PAUSES = 1 << 13
"""So many pauses of clients are listed: so few connections have one tracker."""

OF_A_SERVER, LONGEST = 1 << 16, 128
"""So many other waits of each side are listed, and so many of the longest that follow."""

CONNECTIONS, PACKETS = 500, 500_000

LABELLED = CAPTURES / "labelled"
OTHERS = {
    "slow server": LABELLED / "gvisor-server-think40-rtt01" / "server.pcap.gz",
    "loss": LABELLED / "nodelay-loss-rtt26" / "middle.pcap.gz",
    "congestion": LABELLED / "one-way-stream-rtt26" / "middle.pcap.gz",
    "frames missing": LABELLED / "formats-clean-rtt26" / "client-thinned.pcap.gz",
}
"""Captures with waits that are no pauses of clients, by what made them."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("many"), "clean", CONNECTIONS, PACKETS)


def pauses(waits: pd.DataFrame) -> pd.Series[bool]:
    """Which of them a client made that had its answer."""
    return (waits["cause"] == "sender_app") & (waits["by"] == "client")


@pytest.mark.parametrize("capture", OTHERS.values(), ids=OTHERS)
def test_other_waits_are_listed_however_often_clients_pause(many: Path, capture: Path) -> None:
    alone = nagle_scan.scan(capture).waits
    together = nagle_scan.scan([many, capture]).waits
    expected = alone[~pauses(alone)].reset_index(drop=True)
    expected["connection"] += CONNECTIONS
    expected[["frame_from", "frame_to"]] += PACKETS
    assert len(expected) > 0
    assert PAUSES <= pauses(together).sum() <= PAUSES + pauses(alone).sum()
    pd.testing.assert_frame_equal(together[~pauses(together)].reset_index(drop=True), expected)


def test_pauses_that_are_not_listed_are_counted(many: Path) -> None:
    scan = nagle_scan.scan(many)
    summary = scan.core.summary()
    # Each request of a connection but the first comes after a pause, most of them a long one.
    requests = len(scan.exchanges)
    assert 0.9 * requests < len(scan.waits) + summary.waits_not_listed <= requests
    assert summary.waits_not_listed_ms > 10 * summary.waits_not_listed


def slow_server(folder: Path, waits: int) -> Path:
    """One synthetic connection: one answer comes at once, the others take 20 ms each."""

    def template(source: int, destination: int) -> bytes:
        segment = TCP(sport=source, dport=destination, flags="PA") / Raw(bytes(100))
        return in_ethernet(ipv4(f"10.0.0.{source % 7}", f"10.0.0.{destination % 7}") / segment)

    request, answer = template(40_000, 8_000), template(8_000, 40_000)
    numbers = slice(14 + 20 + 4, 14 + 20 + 12)
    """Where sequence number and acknowledgment number are."""
    records = []
    for exchange in range(waits + 1):
        delay_ns = 20 * MS if exchange else MS // 10
        begin_ns, sent = START_NS + exchange * 21 * MS, 100 * exchange
        asked, answered = bytearray(request), bytearray(answer)
        asked[numbers] = struct.pack("!II", sent, sent)
        answered[numbers] = struct.pack("!II", sent, sent + 100)
        records += [(begin_ns, bytes(asked)), (begin_ns + delay_ns, bytes(answered))]
    path = folder / "slow.pcap"
    path.write_bytes(pcap(records))
    return path


def test_the_longest_waits_are_listed_however_late_they_come(tmp_path: Path) -> None:
    waits = OF_A_SERVER + 5_000
    busy, slower = slow_server(tmp_path, waits), OTHERS["slow server"]
    alone = nagle_scan.scan(slower).waits
    scan = nagle_scan.scan([busy, slower])
    together = scan.waits
    late = together[together["connection"] > 0].reset_index(drop=True)
    expected = alone.assign(connection=alone["connection"] + 1)
    expected[["frame_from", "frame_to"]] += 2 * (waits + 1)
    assert len(expected) == 8
    pd.testing.assert_frame_equal(late, expected)
    assert len(together) == OF_A_SERVER + LONGEST
    assert together["frame_to"].is_monotonic_increasing
    summary = scan.core.summary()
    assert summary.waits_not_listed == waits + len(alone) - len(together)
    assert summary.waits_not_listed_ms == pytest.approx(20 * summary.waits_not_listed)
    longest = scan.core.longest_waits(5)
    assert [row.wait_ms for row in longest] == sorted(expected["wait_ms"], reverse=True)[:5]
