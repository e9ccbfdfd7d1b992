"""Properties of every capture, tried on many by hypothesis."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, called
from conversation import connected, write
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

SMALL = [
    CAPTURES / f"{name}.pcap" for name in ("java-split", "java-split-nodelay", "jdk-httpserver")
]
WHERE = ["frame_unacked", "frame_ack", "frame_held", "rel_seq", "len", "sender", "cause"]
FOUND = ["connection", *WHERE, "wait_ms", "ack_delay_ms", "release_ms", "confidence"]
WAITED = ["connection", "cause", "sender", "frame_from", "frame_to", "wait_ms"]

relaxed = settings(
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def rows(table: Any, columns: list[str]) -> list[dict[str, Any]]:
    frame: list[dict[str, Any]] = table[columns].astype(object).to_dict("records")
    return frame


def findings(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Any]]:
    """All that a scan says, but for absolute times and the path."""
    scan = nagle_scan.scan(path)
    nagle = scan.connections[["client_nagle", "server_nagle"]].to_numpy().tolist()
    return rows(scan.stalls, FOUND), rows(scan.waits, WAITED), nagle


def every_record(capture: bytes) -> Iterator[tuple[int, int]]:
    """Where each record of a little-endian pcap begins, and where it ends."""
    at = 24
    while at < len(capture):
        end = at + 16 + struct.unpack_from("<I", capture, at + 8)[0]
        yield at, end
        at = end


def shifted_in_time(capture: bytes, seconds: int) -> bytes:
    changed = bytearray(capture)
    for at, _ in every_record(capture):
        (time,) = struct.unpack_from("<I", capture, at)
        struct.pack_into("<I", changed, at, time + seconds)
    return bytes(changed)


def with_other_sequence_numbers(capture: bytes, client: int, server: int, port: int) -> bytes:
    """Every SEQ and ACK moved by what its direction adds; Ethernet and IPv4 without options."""
    changed = bytearray(capture)
    for at, _ in every_record(capture):
        tcp = at + 16 + 14 + 20
        source, _, seq, ack, _, flags = struct.unpack_from("!HHIIBB", capture, tcp)
        mine, peers = (server, client) if source == port else (client, server)
        new_ack = (ack + peers) % 2**32 if flags & 0x10 else ack
        struct.pack_into("!II", changed, tcp + 4, (seq + mine) % 2**32, new_ack)
    return bytes(changed)


@relaxed
@given(path=st.sampled_from(SMALL), seconds=st.integers(-1_000_000_000, 1_000_000_000))
def test_the_time_of_day_changes_no_finding(path: Path, seconds: int, tmp_path: Path) -> None:
    moved = tmp_path / "moved.pcap"
    moved.write_bytes(shifted_in_time(path.read_bytes(), seconds))
    assert findings(moved) == findings(path)


@relaxed
@given(
    path=st.sampled_from(SMALL),
    client=st.integers(0, 2**32 - 1),
    server=st.integers(0, 2**32 - 1),
)
def test_the_initial_sequence_numbers_change_no_finding(
    path: Path, client: int, server: int, tmp_path: Path
) -> None:
    port = nagle_scan.scan(path).connections["server_port"].tolist()[0]
    moved = tmp_path / "moved.pcap"
    moved.write_bytes(with_other_sequence_numbers(path.read_bytes(), client, server, port))
    assert findings(moved) == findings(path)


@pytest.mark.parametrize("wrap_at", range(0, 140, 7))
def test_a_wrap_at_any_byte_of_a_real_stream_changes_no_finding(
    wrap_at: int, tmp_path: Path
) -> None:
    path = CAPTURES / "java-split.pcap"
    segments = nagle_scan.scan(path).segments(0)
    first = int(segments[segments["sender"] == "client"]["seq"].iloc[0])
    moved = tmp_path / "moved.pcap"
    content = path.read_bytes()
    moved.write_bytes(with_other_sequence_numbers(content, -first - wrap_at, 0, 8000))
    assert findings(moved) == findings(path)


@pytest.mark.parametrize("name", ["epoll-fd0", "epoll-fixed"])
def test_a_filter_for_one_connection_finds_there_what_all_found(name: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    everything = nagle_scan.scan(path)
    for number, port in everything.connections["client_port"].items():
        alone = nagle_scan.scan(path, filter=f"tcp port {port}")
        assert len(alone.connections) == 1
        for ours, theirs, columns in (
            (alone.stalls, everything.stalls, FOUND),
            (alone.waits, everything.waits, WAITED),
        ):
            own = theirs[theirs["connection"] == number]
            # Other connections of its hosts, which the filter hides, can change how sure it is.
            measured = [column for column in columns[1:] if column != "confidence"]
            assert rows(ours, measured) == rows(own, measured)


@relaxed
@given(path=st.sampled_from([SMALL[0], SMALL[2]]), data=st.data())
def test_a_cut_after_a_stall_keeps_it(path: Path, data: st.DataObject, tmp_path: Path) -> None:
    content = path.read_bytes()
    stalls = rows(nagle_scan.scan(path).stalls, WHERE)
    ends = [end for _, end in every_record(content)]
    index = data.draw(st.integers(0, len(stalls) - 1))
    held_end = ends[stalls[index]["frame_held"] - 1]
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(content[: data.draw(st.integers(held_end, len(content)))])
    found = rows(nagle_scan.scan(cut).stalls, WHERE)
    assert found[: index + 1] == stalls[: index + 1]
    assert all(stall in stalls for stall in found)


@relaxed
@given(
    delays_ms=st.lists(st.floats(30, 450), min_size=1, max_size=6),
    sizes=st.tuples(st.integers(1, 1459), st.integers(1, 1459)),
    rtt_ms=st.floats(0.1, 200),
    isn=st.integers(0, 2**32 - 1),
)
@example(delays_ms=[40.0], sizes=(1, 1), rtt_ms=0.1, isn=2**32 - 1)
def test_whatever_the_sizes_and_delays_the_stalls_are_found(
    delays_ms: list[float], sizes: tuple[int, int], rtt_ms: float, isn: int, tmp_path: Path
) -> None:
    made = connected(rtt_ms=rtt_ms, isn={"client": isn, "server": 7})
    for delay_ms in delays_ms:
        made.stall(delay_ms, *sizes)
    scan = nagle_scan.scan(write(tmp_path / "stalls.pcap", made.frames))
    assert scan.stalls["rel_seq"].tolist() == [hold.rel_seq for hold in made.holds]
    assert set(scan.stalls["cause"]) == {"nagle_delack"}
    expected = pytest.approx(delays_ms, abs=0.01)
    assert scan.stalls["ack_delay_ms"].tolist() == expected


def use_everything(path: Path) -> None:
    """Reads a capture in every way there is."""
    try:
        scan = nagle_scan.scan(path)
    except nagle_scan.CaptureError:
        return
    status, said = called(path)
    report = said.decode()
    assert status in (0, 1, 4)
    assert all(line.isprintable() for line in report.split("\n"))
    assert report
    counts = [len(scan.stalls), len(scan.waits), len(scan.exchanges)]
    assert scan._result.core.summary().stalls == counts[0]
    for number in scan.connections.index[:3]:
        scan.segments(int(number))
    scan.write(path.with_suffix(".json"))
    scan.write(path.with_suffix(".csv"))


@relaxed
@given(content=st.binary(max_size=400))
def test_random_bytes_never_crash(content: bytes, tmp_path: Path) -> None:
    for start in (b"", b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0"):
        path = tmp_path / "random.pcap"
        path.write_bytes(start + content)
        use_everything(path)


@settings(relaxed, max_examples=200)
@given(
    path=st.sampled_from(SMALL),
    flips=st.lists(
        st.tuples(st.integers(0, 2**16), st.integers(0, 15 + 54 + 80), st.integers(1, 255)),
        min_size=1,
        max_size=40,
    ),
)
def test_flipped_bytes_never_crash(
    path: Path, flips: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    """Mostly in the headers of records, of the link and of TCP."""
    content = bytearray(path.read_bytes())
    starts = [0, *(at for at, _ in every_record(bytes(content)))]
    for index, offset, change in flips:
        at = starts[index % len(starts)] + offset
        content[min(at, len(content) - 1)] ^= change
    damaged = tmp_path / "flipped.pcap"
    damaged.write_bytes(content)
    use_everything(damaged)
