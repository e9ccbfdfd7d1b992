"""A port scan of hundreds of thousands of ports, or a SYN flood: a user would lose memory, or what
lies among them.

All packets are synthetic: two made with scapy (`conversation.py`), and copies of them with other
ports.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nagle_scan
import pytest
from conftest import found
from conversation import START_NS, Conversation, connected, numbered, pcap, records, stalled

pytestmark = pytest.mark.usefixtures("one_shard")
BLOCK, THINNED_AFTER = 1024, 8
"""Blocks of so many connections; one is thinned when the one so many later begins."""

PORTS = 2 * BLOCK * THINNED_AFTER

FLAGS = 14 + 20 + 13
"""Where the TCP header begins in an Ethernet frame, and where its flags are."""
SYN = 2

SLOW = stalled(Conversation(rtt_ms=5_000.0))
"""Its SYN comes before the scan, the answer after it, and stalls then."""


def to_ports(
    count: int, answer: str = "RA", answered_one_of: int = 2
) -> Iterator[tuple[int, bytes]]:
    """A SYN to each of so many ports of several hosts; one of so many is answered."""
    made = Conversation(client=("10.9.9.9", 50000), server=("10.1.0.0", 0))
    made.data("client", 0, "S")
    made.acked["client"] = 1
    made.data("server", 0, answer)
    syn, answering = (frame for _, frame in records(made.frames))
    for number in range(count):
        port, host = (number & 0xFFFF).to_bytes(2), (number >> 16).to_bytes(1)
        time_ns = START_NS + 1_000_000_000 + number * 10_000
        # The last byte of the destination's address, and its port.
        yield time_ns, syn[:33] + host + syn[34:36] + port + syn[38:]
        if number % answered_one_of == answered_one_of - 1:
            answered = answering[:29] + host + answering[30:34] + port + answering[36:]
            yield time_ns + 5_000, answered


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    opening, *rest = records(SLOW.frames)
    path = tmp_path_factory.mktemp("scan") / "scan.pcap"
    path.write_bytes(pcap([opening, *to_ports(PORTS), *rest]))
    return path


@pytest.fixture(scope="module")
def scan(scanned: Path) -> nagle_scan.Scan:
    return nagle_scan.scan(scanned)


def test_refused_and_unanswered_ports_are_counted_not_listed(scan: nagle_scan.Scan) -> None:
    # The last whole blocks stay, and so does what follows them.
    not_listed = scan._result.core.summary().connections_not_listed
    whole = PORTS - (THINNED_AFTER - 1) * BLOCK
    assert whole - BLOCK < not_listed <= whole
    assert scan._result.core.summary().connections == PORTS + 1
    assert len(scan.connections) == PORTS + 1 - not_listed
    notice = f"{not_listed:,} connections without data"
    assert any(notice in text for text in scan.summary.notices)


def test_a_late_answer_is_judged_from_its_first_data_on(
    scan: nagle_scan.Scan,
) -> None:
    between = PORTS + PORTS // 2
    holds = numbered(SLOW.holds, SLOW.frames)
    moved = [(*(frame + between for frame in hold[:3]), *hold[3:]) for hold in holds]
    assert found(scan) == moved
    row = scan.connections.loc[0]
    assert (row["handshake"], row["client_segments"]) == (False, 6)
    assert len(scan.segments(0)) == len(SLOW.frames)


@pytest.mark.parametrize("ports_before", [1, 1_000])
def test_what_is_seen_before_a_block_is_thinned_is_not_lost(
    tmp_path: Path, ports_before: int
) -> None:
    """A port refuses at first, then takes part, so many ports before its block is thinned."""
    taking_part = records(stalled(made := Conversation()).frames)
    reset = Conversation()
    reset.data("server", 0, "RA")
    refusing = [taking_part[0], *records(reset.frames)]
    ports = list(to_ports(PORTS))
    opening = [at for at, (_, frame) in enumerate(ports) if frame[FLAGS] == SYN]
    # So many SYNs later connection THINNED_AFTER * BLOCK begins, and the first block is thinned.
    before = opening[THINNED_AFTER * BLOCK - 1 - ports_before]
    now_ns = ports[before][0] - START_NS
    between = [(time_ns + now_ns, frame) for time_ns, frame in taking_part]
    frames = [*refusing, *ports[:before], *between, *ports[before:]]
    path = tmp_path / "scan.pcap"
    path.write_bytes(pcap(frames))
    scan = nagle_scan.scan(path)
    assert scan._result.core.summary().connections_not_listed > 0
    assert len(scan.segments(0)) == len(refusing) + len(taking_part)
    assert (scan.stalls["connection"] == 0).sum() == len(made.holds) > 0


def test_a_connection_that_is_not_listed_is_named_so(scan: nagle_scan.Scan) -> None:
    with pytest.raises(KeyError):
        scan.connection(1)
    for number in scan.connections.index[::97]:
        row = scan._result.core.connection(number)
        assert row is not None
        assert row.connection == number
    assert len(scan.segments(1)) == 1
    assert len(scan.segments(2)) == 2


def test_what_is_open_at_the_end_is_told_in_order(tmp_path: Path) -> None:
    """Else two scans of one capture would differ, and so would what is listed of many waits."""
    frames = list(to_ports(PORTS))
    for number in range(40):
        made = connected(("10.0.0.1", 40000 + number), now_ms=1000.0 + 3 * number)
        made.data("client", 6)
        made.answer()
        frames += records(made.frames)
    path = tmp_path / "scan.pcap"
    path.write_bytes(pcap(sorted(frames, key=lambda frame: frame[0])))
    scan = nagle_scan.scan(path)
    assert scan._result.core.summary().connections_not_listed > PORTS // 2 - BLOCK
    listed = scan.exchanges["connection"]
    assert (len(listed), listed.is_monotonic_increasing) == (40, True)


def test_what_opened_before_a_syn_flood_is_judged_as_without_it(tmp_path: Path) -> None:
    """All SYNs of a flood are answered, and no ACK follows."""
    made = records(stalled(Conversation(rtt_ms=2.0)).frames)
    opening, rest = made[:3], [(time_ns + 100_000, frame) for time_ns, frame in made[3:]]
    flood = list(to_ports(PORTS, "SA", 1))
    path, scans = tmp_path / "flood.pcap", []
    for between in ([], flood):
        path.write_bytes(pcap([*opening, *between, *rest]))
        scans.append(nagle_scan.scan(path))
    alone, scan = scans
    assert len(scan.connections) < PORTS
    ids = ["stalls", "client_rtt_ms", "server_rtt_ms", "mss", "handshake", "first_ns", "last_ns"]
    ids += ["client_segments", "server_segments", "client_nagle", "verdict", "exchanges"]
    facts = [result.connections[ids].loc[[0]].to_dict("records") for result in scans]
    assert facts[0] == facts[1]
    moved = [(*(frame + len(flood) for frame in row[:3]), *row[3:]) for row in found(alone)]
    assert found(scan) == moved != []
    assert list(scan.stalls["wait_ms"]) == list(alone.stalls["wait_ms"])


def test_a_scan_beside_a_simulators_connection_is_read(tmp_path: Path) -> None:
    """Its waits have one length. Of the connections beside it most are thinned out by then."""
    made = connected(rtt_ms=20.0)
    for _ in range(20):
        made.wait(200.0)
        made.data("client", 8)
        made.wait(100.0)
        made.data("server", 20)
    opening, syn_ack, ack, *rest = records(made.frames)
    rest = [syn_ack, (syn_ack[0], ack[1]), *rest]
    # It lies behind the end of what is left of its block.
    ports = list(to_ports(PORTS))
    later_ns = ports[70][0] - opening[0]
    own = [(time_ns + later_ns, frame) for time_ns, frame in (opening, *rest)]
    path = tmp_path / "scan.pcap"
    path.write_bytes(pcap(sorted([*ports, *own])))
    alone = tmp_path / "alone.pcap"
    alone.write_bytes(pcap([opening, *rest]))
    assert len(nagle_scan.scan(alone).waits) == len(nagle_scan.scan(path).waits) == 0
