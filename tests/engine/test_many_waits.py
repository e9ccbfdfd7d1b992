"""More waits than anyone reads one by one: without room of its own a user would miss what a slow
server did, among all the clients that had nothing to ask.

The packets of many are synthetic, of `bench/generate.c` or made with scapy (`conversation.py`);
what follows them are real captures, or conversations made with scapy.
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import NamedTuple

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, called, flat, generated
from conversation import MS, START_NS, Conversation, Side, connected, pcap, records, write

pytestmark = pytest.mark.usefixtures("one_shard")
PAUSES, OF_EACH_KIND, LONGEST = 1 << 11, 1 << 13, 128
"""So many pauses of clients one shard lists, so many other waits of each kind, and so many of the
longest of each side that follow."""

LABELLED = CAPTURES / "labelled"
OTHERS = {
    "slow server": LABELLED / "gvisor-server-think40-rtt01" / "server.pcap.gz",
    "loss": LABELLED / "nodelay-loss-rtt26" / "middle.pcap.gz",
    "congestion": LABELLED / "one-way-stream-rtt26" / "middle.pcap.gz",
    "frames missing": LABELLED / "formats-clean-rtt26" / "client-thinned.pcap.gz",
}
"""Captures with waits that are no pauses of clients, by what made them."""


class Many(NamedTuple):
    """A capture with more pauses of clients than are listed."""

    capture: Path
    connections: int
    packets: int


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Many:
    capture = generated(tmp_path_factory.mktemp("many"), "clean", 200, 40_000)
    return Many(capture, 200, 40_000)


def pauses(waits: pd.DataFrame) -> pd.Series[bool]:
    """Which of them a client made that had its answer, or seems to have: frames may be missing."""
    return waits["cause"].isin(["sender_app", "unknown"]) & (waits["sender"] == "client")


@pytest.mark.parametrize("capture", OTHERS.values(), ids=OTHERS)
def test_other_waits_are_listed_however_often_clients_pause(many: Many, capture: Path) -> None:
    alone = nagle_scan.scan(capture).waits
    together = nagle_scan.scan([many.capture, capture]).waits
    expected = alone[~pauses(alone)].reset_index(drop=True)
    expected["connection"] += many.connections
    expected[["frame_from", "frame_to"]] += many.packets
    assert len(expected) > 0
    # Waits of the capture behind them are listed, in which frames are missing.
    assert PAUSES <= pauses(together).sum() <= PAUSES + pauses(alone).sum()
    pd.testing.assert_frame_equal(together[~pauses(together)].reset_index(drop=True), expected)


def test_pauses_that_are_not_listed_are_counted(many: Many) -> None:
    scan = nagle_scan.scan(many.capture)
    summary = scan._result.core.summary()
    assert len(scan.waits) == PAUSES
    # Each request of a connection but the first comes after a pause, most of them a long one.
    requests = len(scan.exchanges)
    assert 0.9 * requests < len(scan.waits) + summary.waits_not_listed <= requests
    assert summary.waits_not_listed_ms > 10 * summary.waits_not_listed


def test_a_file_of_waits_says_how_many_it_leaves_out(many: Many, tmp_path: Path) -> None:
    left_out = nagle_scan.scan(many.capture)._result.core.summary().waits_not_listed
    path = tmp_path / "waits.csv"
    _, said = called(many.capture, "-o", path, "--exit-zero", "-q")
    assert f"waits.csv: {left_out:,} waits counted but not listed" in flat(said)
    assert "not listed" not in flat(called(OTHERS["loss"], "-o", path, "--exit-zero", "-q")[1])


WAITS = OF_EACH_KIND + 5_000
FRAMES = 3 + 2 * (WAITS + 1)
"""Frames of a busy connection: its handshake, and two for each time that it sends."""


def busy(folder: Path, by: Side) -> Path:
    """One synthetic connection with `WAITS`: of a server, 20 ms before each answer, or of a client
    between what it sends each 41 ms, which the server acknowledges at once.
    """
    made = connected()
    made.data("client", 100)
    if by == "server":
        length, delay_ns, period_ns = 100, 21 * MS, 22 * MS
        made.data("server", length)
    else:
        length, delay_ns, period_ns = 0, MS, 41 * MS
        made.ack("server")
    *rows, (_, sent), (_, returned) = records(made.frames)
    numbers = slice(14 + 20 + 4, 14 + 20 + 12)  # sequence number and acknowledgment number
    for count in range(WAITS + 1):
        first, second = bytearray(sent), bytearray(returned)
        client_seq = made.isn["client"] + 1 + 100 * count
        server_seq = made.isn["server"] + 1 + length * count
        first[numbers] = struct.pack("!II", client_seq, server_seq)
        second[numbers] = struct.pack("!II", server_seq, client_seq + 100)
        begin_ns = START_NS + 10 * MS + count * period_ns
        rows += [(begin_ns, bytes(first)), (begin_ns + delay_ns, bytes(second))]
    path = folder / "busy.pcap"
    path.write_bytes(pcap(rows))
    return path


def test_a_sum_of_listed_waits_is_not_said_to_be_all(tmp_path: Path) -> None:
    path = busy(tmp_path, "server")
    summary = nagle_scan.scan(path)._result.core.summary()
    said = flat(called(path, "--exit-zero")[1])
    assert f"time went instead ({summary.waits_not_listed:,} more waits, " in said
    assert f"s in {OF_EACH_KIND + LONGEST:,} waits" in said[said.index("At least ") :]


def test_the_longest_waits_are_listed_however_late_they_come(tmp_path: Path) -> None:
    slow, slower = busy(tmp_path, "server"), OTHERS["slow server"]
    alone = nagle_scan.scan(slower).waits
    scan = nagle_scan.scan([slow, slower])
    together = scan.waits
    late = together[together["connection"] > 0].reset_index(drop=True)
    expected = alone.assign(connection=alone["connection"] + 1)
    expected[["frame_from", "frame_to"]] += FRAMES
    assert len(expected) == 8
    pd.testing.assert_frame_equal(late, expected)
    assert len(together) == OF_EACH_KIND + LONGEST
    assert together["frame_to"].is_monotonic_increasing
    summary = scan._result.core.summary()
    # The server's first answer is late, too.
    assert summary.waits_not_listed == WAITS + 1 + len(alone) - len(together)
    # One of the 21 ms is the way.
    assert summary.waits_not_listed_ms == pytest.approx(20 * summary.waits_not_listed)
    longest = scan._result.core.longest_waits(5)
    assert [row.wait_ms for row in longest] == sorted(expected["wait_ms"], reverse=True)[:5]


def held_frames(scan: nagle_scan.Scan, before: int = 0) -> list[int]:
    """The held segments, numbered without so many frames before them."""
    return [frame - before for frame in scan.stalls["frame_held"]]


@pytest.mark.parametrize(
    ("capture", "stalls"),
    [
        pytest.param("formats-rtt100/client-late", 28, id="path of unknown length"),
        pytest.param("formats-rtt100/middle-late", 28, id="half a path of unknown length"),
        pytest.param("sleep40-nagle/middle", 14, id="program that pauses for 40 ms itself"),
    ],
)
@pytest.mark.parametrize("by", ["server", "client"])
def test_what_came_before_changes_no_verdict(
    tmp_path: Path, by: Side, capture: str, stalls: int
) -> None:
    """Waits that are no candidates for a stall tell holds from the program's pauses there."""
    path = LABELLED / f"{capture}.pcap.gz"
    alone = held_frames(nagle_scan.scan(path))
    together = nagle_scan.scan([busy(tmp_path, by), path])
    assert held_frames(together, FRAMES) == alone
    assert len(alone) == stalls


def pause(made: Conversation, milliseconds: float, first: int, second: int) -> None:
    """Two writes of a client, between which it pauses of its own, and an answer."""
    made.data("client", first)
    made.wait(made.rtt_ms + 0.1)
    made.ack("server")
    made.wait(milliseconds)
    made.data("client", second)
    made.answer()
    made.wait(5)


def test_what_is_listed_for_its_length_changes_no_verdict(tmp_path: Path) -> None:
    """A client is held for 200 ms between two writes, or pauses for 60 to 203 ms. Few of these
    pauses are among the longest; they alone would look as if it always paused for so long.
    """
    # It begins after all that `busy` does.
    made, random = Conversation(("10.0.0.3", 40_000), now_ms=41 * 2 * WAITS), Random(1)
    made.open()
    for _ in range(150):
        made.stall(200 + random.random(), 6, 7)
        pause(made, random.uniform(60, 203), 6, 7)
        pause(made, random.uniform(60, 203), 6, 7)
    for _ in range(110):
        pause(made, 500, 8, 9)
    held = write(tmp_path / "held.pcap", made.frames)
    alone = nagle_scan.scan(held)
    together = nagle_scan.scan([busy(tmp_path, "client"), held])
    assert len(alone.stalls) == 150
    assert held_frames(together, FRAMES) == held_frames(alone)
    late = together.waits[together.waits["connection"] > 0]
    assert 0 < len(late) < len(alone.waits)
