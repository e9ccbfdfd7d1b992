"""The lab's own rules: how captures are cut, and what counts as a wait or a prediction met."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from logs import Peer
from packets import ACK, Direction, Options, Packet
from pairs import Pair, base_name, has_merged_writes, is_comparable, is_fixed
from ship import SNAP, snapped
from truth import MS, late_writes
from waits import silence_before

CLIENT, SERVER = 40_000, 7_001


def pcap(order: str, lengths: list[int]) -> bytes:
    """A file whose frames have these lengths."""
    head = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    frames = (struct.pack(f"{order}4I", 1, 2, n, n) + bytes(n) for n in lengths)
    return head + b"".join(frames)


@pytest.mark.parametrize("order", ["<", ">"])
def test_frames_are_cut_and_keep_their_length_on_the_wire(order: str) -> None:
    cut = snapped(pcap(order, [1500, 60]))
    assert struct.unpack(f"{order}4I", cut[24:40]) == (1, 2, SNAP, 1500)
    at = 40 + SNAP
    assert struct.unpack(f"{order}4I", cut[at : at + 16]) == (1, 2, 60, 60)
    assert len(cut) == at + 16 + 60


@pytest.mark.parametrize("missing", [1, 500, 1450, 1505])
def test_a_file_that_ends_within_a_frame_still_does(missing: int) -> None:
    cut = snapped(pcap("<", [60, 1500])[:-missing])
    header = cut[24 + 16 + 60 :][:16]
    if len(header) == 16:
        assert len(cut) - (24 + 16 + 60 + 16) < struct.unpack("<4I", header)[2]
    assert cut[: 24 + 76] == pcap("<", [60])


def test_names_before_and_after_meet() -> None:
    assert base_name("redis-client-before") == base_name("redis-client-after") == "redis-client"
    assert base_name("both-split-nodelay-rtt2") == base_name("both-split-rtt2")
    assert is_fixed("both-split-nodelay-rtt2")
    assert not is_fixed("both-split-rtt2")


def truth_of(case: str, holds_ms: float, short_ms: float, writes: int) -> dict[str, Any]:
    return {
        "case": case,
        "stalls": [{"hold_ms": holds_ms, "writes": writes}],
        "short_holds": [{"hold_ms": short_ms}],
    }


def test_what_cannot_be_compared_is_left_out() -> None:
    assert is_comparable(truth_of("redis-client-before", 40, 2, 1), exchanges=4)
    assert not is_comparable(truth_of("redis-client-before", 40, 2, 1), exchanges=3)
    assert not is_comparable(truth_of("server-think0-80-rtt2", 40, 0, 1), exchanges=4)


def test_a_prediction_is_a_bound_only_where_writes_were_merged() -> None:
    assert has_merged_writes(truth_of("websocket-before", 40, 0, 7))
    assert not has_merged_writes(truth_of("redis-client-before", 40, 0, 2))
    assert Pair("near", 90, 0.6, 1.0, is_bound=False).is_met
    assert Pair("within a tenth", 90, 22, 20, is_bound=False).is_met
    assert not Pair("too good", 90, 0.6, 1.4, is_bound=False).is_met
    assert Pair("too good, but a bound", 90, 0.6, 1.4, is_bound=True).is_met
    assert not Pair("too bad, and a bound", 90, 2.4, 1.4, is_bound=True).is_met


def test_silence_counts_from_data_of_either_side_to_a_copy() -> None:
    segments = [
        ("client", 0, 10, 0),
        ("server", 0, 0, 30 * MS),  # a pure ACK breaks no silence
        ("server", 0, 5, 40 * MS),
        ("client", 10, 10, 45 * MS),
        ("client", 10, 10, 245 * MS),
    ]
    assert silence_before(segments) == {("server", 0): 40.0, ("client", 10): 5.0}


def packet(time_ms: float, source: int, seq: int, length: int) -> Packet:
    target = SERVER if source == CLIENT else CLIENT
    return Packet(
        1, int(time_ms * MS), 0, source, target, seq, 0, length, ACK, 64, Options(0, None, False)
    )


def test_a_write_is_late_only_if_nothing_else_happened_for_10_ms() -> None:
    peer = Peer(writes=[(50 * MS, 0, 10), (55 * MS, 10, 10), (90 * MS, 20, 10)])
    frames = [
        packet(20, CLIENT, 0, 100),
        packet(50.1, SERVER, 0, 10),
        packet(55.1, SERVER, 10, 10),
        packet(84, CLIENT, 100, 100),
        packet(90.1, SERVER, 20, 10),
    ]
    assert late_writes(peer, Direction(frames, SERVER, CLIENT)) == [(0, 30.0)]
    without_request = [f for f in frames if f.time_ns != 84 * MS]
    found = late_writes(peer, Direction(without_request, SERVER, CLIENT))
    assert [offset for offset, _ in found] == [0, 20]
