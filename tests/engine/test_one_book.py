"""No instant of a connection is told twice: sums, tables and parts are of one book."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import nagle_scan
import pytest
from conftest import CAPTURES

PROGRAMS = {"client": "sending_ms", "server": "server_ms"}
WAY = "on_the_way_ms"
PART = {"retransmission": "resent_ms", "zero_window": "window_ms"}
PART |= dict.fromkeys(("slow_link", "stop_and_wait", "congestion_window"), WAY)
US = 1_000

Span = tuple[int, int]


def captures() -> list[str]:
    return sorted(str(path) for path in CAPTURES.rglob("*.pcap*"))


def joined(spans: Iterable[Span]) -> list[Span]:
    """What any of them covers."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


@pytest.mark.parametrize("start", range(8))
def test_sums_and_parts_are_of_one_book(start: int) -> None:
    for path in captures()[start::8]:
        scan = nagle_scan.scan(path, exchanges=True)
        rows = [*scan.waits.to_dict("records"), *scan.stalls.to_dict("records")]
        spans = defaultdict(list)
        for row in rows:
            begin = row["time_ns"] - round(row["wait_ms"] * 1e6)
            spans[row["connection"]].append((begin, row["time_ns"]))
        alone = {number: joined(of_one) for number, of_one in spans.items()}
        whole_ns = sum(end - begin for of_one in alone.values() for begin, end in of_one)
        told_ns = sum(row.total_ms * 1e6 for row in scan._result.core.causes())
        assert told_ns <= whole_ns + US * (1 + len(rows)), path
        exchanges = scan.exchanges
        of = {(row["connection"], row["frame_begin"]): row for row in exchanges.to_dict("records")}
        begins = exchanges.groupby("connection")["frame_begin"].apply(sorted).to_dict()
        for row in scan.waits.to_dict("records"):
            before = [at for at in begins.get(row["connection"], ()) if at <= row["frame_from"]]
            exchange = of.get((row["connection"], before[-1] if before else 0))
            name = PART.get(row["cause"])
            if row["cause"] == "sender_app" and row["turn"] != "leave":
                name = PROGRAMS[row["sender"]]
            span = row["time_ns"] - round(row["wait_ms"] * 1e6), row["time_ns"]
            is_alone = (
                spans[row["connection"]].count(span) == 1 and span in alone[row["connection"]]
            )
            if exchange and name and is_alone and row["frame_to"] <= exchange["frame_end"]:
                assert exchange[name] >= row["wait_ms"] - 0.002, (path, row)
