"""Two captures of the same connections, one at each end: one scan, and never of a wrong pair.

The captures are real, taken at one end of a path with a constant delay. The capture at its other
end is synthetic: what that path would have shown there, with another clock.
"""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, called, flat
from conversation import stalled, write

Record = tuple[int, bytes, int]
"""Time in ns, the captured bytes, and the length on the wire."""
LABELLED = CAPTURES / "labelled"
CLIENT = LABELLED / "both-split-rtt26" / "client.pcap.gz"
RTT_NS = 26_000_000
ETHERNET = 14
HEAD = struct.Struct("<IIII")


def records(path: Path) -> tuple[bytes, list[Record]]:
    """The file header of a capture in microseconds or nanoseconds, and its frames."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    unit_ns = 1 if content[:4] == b"\x4d\x3c\xb2\xa1" else 1000
    rows, at = [], 24
    while at < len(content):
        seconds, part, length, wire = HEAD.unpack_from(content, at)
        at += HEAD.size
        rows.append((seconds * 10**9 + part * unit_ns, content[at : at + length], wire))
        at += length
    return b"\x4d\x3c\xb2\xa1" + content[4:24], rows


def save(path: Path, head: bytes, rows: list[Record]) -> Path:
    """Writes a capture in nanoseconds."""
    parts = [head]
    for time_ns, data, wire in sorted(rows, key=lambda row: row[0]):
        parts += [HEAD.pack(time_ns // 10**9, time_ns % 10**9, len(data), wire), data]
    path.write_bytes(b"".join(parts))
    return path


def is_from_client(row: Record) -> bool:
    source, destination = struct.unpack_from("!HH", row[1], ETHERNET + 20)
    return bool(source > destination)


def at_server(row: Record) -> Record:
    """A frame that the client's end shows, as the server's end does."""
    way_ns = RTT_NS // 2 if is_from_client(row) else -RTT_NS // 2
    return row[0] + way_ns, row[1], row[2]


def with_clock(ahead_ns: int, gains_ppm: int = 0) -> Callable[[Record], Record]:
    return lambda row: (row[0] + ahead_ns + row[0] % 10**12 * gains_ppm // 10**6, *row[1:])


def behind_nat(row: Record) -> Record:
    """The client has another address and port there."""
    data = bytearray(row[1])
    at = ETHERNET + (12 if is_from_client(row) else 16)
    data[at : at + 4] = bytes((192, 0, 2, 9))
    port = ETHERNET + (20 if is_from_client(row) else 22)
    data[port : port + 2] = struct.pack("!H", struct.unpack_from("!H", data, port)[0] ^ 1)
    return row[0], bytes(data), row[2]


def pair(
    folder: Path, *changes: Callable[[Record], Record], keep: slice = slice(None)
) -> list[Path]:
    """The capture at the client, and what is made of it at the server."""
    head, rows = records(CLIENT)
    other = [at_server(row) for row in rows][keep]
    for change in changes:
        other = [change(row) for row in other]
    return [save(folder / "client.pcap", head, rows), save(folder / "server.pcap", head, other)]


def document(paths: list[Path]) -> dict[str, Any]:
    scanned: dict[str, Any] = json.loads(nagle_scan.scan(paths).render("json"))
    return scanned


def stalls(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [stall for one in found["connections"] for stall in one.get("stalls", [])]


def identities(found: dict[str, Any]) -> list[tuple[str, int]]:
    return sorted((stall["sender"], stall["rel_seq"]) for stall in stalls(found))


def said(*words: str | Path) -> str:
    return flat(called(*words)[1])


HOUR_NS = 3600 * 10**9


@pytest.mark.parametrize(
    "changes",
    [(), (with_clock(HOUR_NS, 40),), (with_clock(-37 * 10**9),), (behind_nat,)],
    ids=["one-clock", "an-hour-ahead", "behind", "nat"],
)
def test_each_stall_counts_once(changes: tuple[Any, ...], tmp_path: Path) -> None:
    alone, both = document([CLIENT]), document(pair(tmp_path, *changes))
    assert identities(both) == identities(alone) != []
    assert both["summary"]["connections"] == alone["summary"]["connections"]
    assert both["summary"]["exchanges"] == alone["summary"]["exchanges"]
    assert both["ends"]["shared"] == alone["summary"]["connections"]
    assert both["ends"]["first_at"] == "client"
    assert all(stall["other_end"]["capture"].endswith("server.pcap") for stall in stalls(both))


def test_the_frames_at_the_other_end_are_those_of_the_same_segments(tmp_path: Path) -> None:
    paths = pair(tmp_path, with_clock(HOUR_NS))
    frames = [records(path)[1] for path in paths]
    for stall in stalls(document(paths)):
        other = stall["other_end"]
        for name in ("frame_unacked", "frame_ack", "frame_held"):
            assert frames[0][stall[name] - 1][1] == frames[1][other[name] - 1][1]


def test_an_ack_is_measured_where_it_was_sent(tmp_path: Path) -> None:
    """The synthetic way takes 26 ms to the nanosecond; the real one, and its ACKs, vary."""
    paths = pair(tmp_path, with_clock(HOUR_NS))
    frames = records(paths[1])[1]
    of_client = [stall for stall in stalls(document(paths)) if stall["sender"] == "client"]
    assert of_client
    for stall in of_client:
        other = stall["other_end"]
        sent, left = (frames[other[name] - 1][0] for name in ("frame_unacked", "frame_ack"))
        assert stall["ack_delay_ms"] == pytest.approx((left - sent) / 1e6, abs=0.2)


def test_what_only_one_end_shows_is_judged_as_by_that_one(tmp_path: Path) -> None:
    """The server's capture begins late, the client's ends early."""
    client, server = pair(tmp_path, keep=slice(40, None))
    head, rows = records(client)
    save(client, head, rows[: len(rows) * 2 // 3])
    both = document([client, server])
    alone = {identity for path in (client, server) for identity in identities(document([path]))}
    assert len(stalls(both)) > len(stalls(document([client])))
    assert len(stalls(both)) >= len({seq for _, seq in alone if seq}) * 9 // 10
    named = {stall["capture"].rpartition("/")[2] for stall in stalls(both)}
    assert named == {"client.pcap", "server.pcap"}


def test_the_command_tells_both_ends_and_counts_once(tmp_path: Path) -> None:
    paths = pair(tmp_path, with_clock(HOUR_NS))
    apart, merged = said(*paths), said("--merge", *paths)
    for text in (apart, merged):
        assert "SEEN At both ends of 1 connection" in text
        assert "client.pcap at the client, server.pcap at the server" in text
        assert "its ACK waited" in text
    assert "2 captures" not in apart


def test_segments_evidence_and_reasons_are_read_again(tmp_path: Path) -> None:
    scan = nagle_scan.scan(pair(tmp_path, with_clock(-HOUR_NS)))
    packets = len(records(CLIENT)[1])
    assert len(scan.segments(0)) == len(scan.segments(1)) == packets
    assert scan.segments(1)["frame"].min() == packets + 1
    scan.write(tmp_path / "evidence.pcapng")
    held = stalls(json.loads(scan.render("json")))[0]["frame_held"]
    assert scan.why(held).verdict == "held"


def test_the_clocks_differ_by_what_was_added_to_within_the_bound(tmp_path: Path) -> None:
    clock = document(pair(tmp_path, with_clock(HOUR_NS)))["ends"]["clock"]
    assert abs(clock["ahead_ms"] - 3_600_000) <= clock["bound_ms"] <= RTT_NS / 2e6 + 1


def test_a_capture_given_twice_counts_once(tmp_path: Path) -> None:
    head, rows = records(CLIENT)
    paths = [save(tmp_path / name, head, rows) for name in ("client.pcap", "copy.pcap")]
    both = document(paths)
    assert identities(both) == identities(document([CLIENT]))
    assert both["ends"]["is_same_place"]
    assert "at the same place" in said(*paths)
    # Neither shows what happened at an end.
    assert "For example" not in said(*paths)


# Pairs that do not belong together.


def renumbered(row: Record) -> Record:
    """Another connection with the same addresses and ports."""
    data = bytearray(row[1])
    for at in (ETHERNET + 24, ETHERNET + 28):
        number = struct.unpack_from("!I", data, at)[0]
        data[at : at + 4] = struct.pack("!I", (number + 0x1234_5678) & 0xFFFF_FFFF)
    return row[0], bytes(data), row[2]


def stamped_later(row: Record) -> Record:
    """Its timestamps are those of another time: ports and numbers came again."""
    data = bytearray(row[1])
    at = ETHERNET + 20 + 20
    options = data.find(b"\x08\x0a", at)
    if options > 0:
        value = struct.unpack_from("!I", data, options + 2)[0]
        data[options + 2 : options + 6] = struct.pack("!I", (value + 5_000_000) & 0xFFFF_FFFF)
    return row[0], bytes(data), row[2]


def hurried(row: Record) -> Record:
    """Equal numbers and timestamps, in half the time: no clock gains so much."""
    return row[0] // 10**12 * 10**12 + row[0] % 10**12 // 2, *row[1:]


@pytest.mark.parametrize(
    "changes", [(renumbered,), (renumbered, with_clock(HOUR_NS)), (stamped_later,), (hurried,)]
)
def test_the_same_addresses_do_not_make_a_pair(changes: tuple[Any, ...], tmp_path: Path) -> None:
    paths = pair(tmp_path, *changes)
    assert "ends" not in document(paths)
    assert "2 captures" in said(*paths)


@pytest.mark.parametrize("other", ["both-split-rtt2/server", "both-split-nodelay-rtt26/client"])
def test_other_recordings_of_the_same_programs_are_no_pair(other: str) -> None:
    assert "ends" not in document([CLIENT, LABELLED / f"{other}.pcap.gz"])


def test_scripts_that_use_the_same_numbers_each_time_are_no_pair(tmp_path: Path) -> None:
    made = stalled(rounds=6).frames, stalled(rounds=7).frames
    paths = [write(tmp_path / name, each) for name, each in zip("ab", made, strict=True)]
    assert "ends" not in document(paths)


def test_before_and_after_a_fix_stay_two_captures() -> None:
    names = ("java-split.pcap", "java-split-nodelay.pcap")
    assert "2 captures" in said(*(CAPTURES / name for name in names))
