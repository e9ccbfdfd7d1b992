"""More waits than anyone reads one by one: without room of its own a user would miss what a slow
server did, among all the clients that had nothing to ask.

The packets of many are synthetic, of `bench/generate.c`; what follows them are real captures.
"""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, generated

PAUSES = 1 << 13
"""So many pauses of clients are listed: so few connections have one tracker."""

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
