"""More servers than anyone reads: a user would get a JSON file larger than the capture.

All packets are synthetic: one request and its reply, made with scapy (`conversation.py`), and
copies of them with other addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nagle_scan
from conftest import written
from conversation import START_NS, Conversation, pcap, records, stalled

LISTED = 1 << 16
"""So many servers are listed."""

SERVERS = LISTED + 100


def calls(count: int) -> Iterator[tuple[int, bytes]]:
    """A request to each of so many servers, and its reply."""
    made = Conversation(client=("10.9.9.9", 50000), server=("10.1.0.0", 80))
    made.data("client", 20)
    made.answer()
    request, reply = (frame for _, frame in records(made.frames))
    for number in range(count):
        address = number.to_bytes(3)
        time_ns = START_NS + 1_000_000_000 + number * 10_000
        # The last bytes of the server's address.
        yield time_ns, request[:31] + address + request[34:]
        yield time_ns + 5_000, reply[:27] + address + reply[30:]


def test_servers_that_lose_most_are_listed_others_counted(tmp_path: Path) -> None:
    path = tmp_path / "servers.pcap"
    path.write_bytes(pcap([*calls(SERVERS), *records(stalled(Conversation(now_ms=9_000)).frames)]))
    scan = nagle_scan.scan(path)
    result = written(scan, tmp_path)
    assert len(result["servers"]) == LISTED
    assert result["summary"]["servers_not_listed"] == SERVERS + 1 - LISTED
    assert result["summary"]["exchanges"] == SERVERS + 3
    assert (result["servers"][0]["addr"], result["servers"][0]["stalls"]) == ("10.0.0.2", 3)
    [notice] = (it for it in result["report"]["notices"] if "in the JSON" in it)
    assert f" {SERVERS + 1 - LISTED} servers;" in notice
