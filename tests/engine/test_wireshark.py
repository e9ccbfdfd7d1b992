"""Frame and connection numbers are Wireshark's, so that a user can look up what is reported.

The oracle is tshark, run here on shipped captures and on synthetic frames made with scapy.
"""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
import tshark_answers
from conftest import tshark
from conversation import START_NS, Conversation, Frame, Side, stalled, write
from nagle_scan.report.wireshark import display_filter
from scapy.layers.inet import ICMP, IP, TCP
from scapy.packet import Raw


class Segment(NamedTuple):
    frame: int
    stream: int
    seq: int
    length: int
    window: int


def tshark_segments(path: Path) -> list[Segment]:
    """Every TCP segment as tshark numbers it."""
    fields = "frame.number tcp.stream tcp.seq_raw tcp.len tcp.window_size_value"
    listing = tshark(path, "-Y", "tcp && !icmp && !icmpv6", fields=fields)
    return [Segment(*(int(value) for value in line.split("\t"))) for line in listing]


def our_segments(path: Path) -> list[Segment]:
    scan = nagle_scan.scan(path)
    found = []
    for number in scan.connections.index.tolist():
        columns = scan.segments(number)[["frame", "seq", "len", "window"]]
        for frame, *rest in columns.to_numpy().tolist():
            found.append(Segment(frame, number, *rest))
    return sorted(found)


# When does a segment between known ports begin another connection?


def segment(sender: Side, flags: str, seq: int, ack: int = 0, payload: bytes = b"") -> Frame:
    ends = [("10.0.0.1", 40000), ("10.0.0.2", 80)]
    (source, sport), (destination, dport) = ends if sender == "client" else ends[::-1]
    tcp = TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack)
    packet = IP(src=source, dst=destination) / tcp
    return Frame(START_NS, sender, packet / Raw(payload) if payload else packet)


def client(flags: str, seq: int, ack: int = 0, payload: bytes = b"") -> Frame:
    return segment("client", flags, seq, ack, payload)


def server(flags: str, seq: int, ack: int = 0, payload: bytes = b"") -> Frame:
    return segment("server", flags, seq, ack, payload)


def handshake(client_isn: int, server_isn: int) -> list[Frame]:
    return [
        client("S", client_isn),
        server("SA", server_isn, client_isn + 1),
        client("A", client_isn + 1, server_isn + 1),
    ]


def hello(seq: int = 101) -> list[Frame]:
    return [client("PA", seq, 501, b"x")]


CLOSED = [client("FA", 101, 501), server("FA", 501, 102), client("A", 102, 502)]

Story = tuple[str, list[Frame]]
"""Answers of tshark 4.0, the tcp.stream of each frame; and the frames."""

OPENED = handshake(100, 500)
STORIES: dict[str, Story] = {
    "another ISN": ("00001111", OPENED + hello() + handshake(9000, 8000) + hello(9001)),
    "the same SYN again": ("0000", [client("S", 100), *OPENED]),
    "the same SYN again after data": ("00000", OPENED + hello() + [client("S", 100)]),
    "another ISN after FIN": ("000000111", OPENED + CLOSED + handshake(7000, 8000)),
    "the same ISN after FIN": ("000000000", OPENED + CLOSED + handshake(100, 8000)),
    "another ISN after RST": ("0000111", [*OPENED, client("R", 101), *handshake(7000, 8000)]),
    "the same ISN after RST": ("0000000", [*OPENED, client("R", 101), *handshake(100, 8000)]),
    "refused, then the same ISN": ("00000", [client("S", 100), server("RA", 0, 101), *OPENED]),
    "refused, then another ISN": (
        "00111",
        [client("S", 100), server("RA", 0, 101), *handshake(200, 500)],
    ),
    "SYN-ACK first": ("000", [server("SA", 500, 101), client("A", 101, 501), *hello()]),
    "SYN-ACK first, its SYN later": ("0000", [server("SA", 500, 101), *OPENED]),
    "SYN-ACK first, another SYN later": ("0111", [server("SA", 500, 101), *handshake(200, 500)]),
    "data first, then SYN": ("00111", [*hello(50), server("A", 501, 51), *handshake(9000, 8000)]),
    "data first, then its own SYN": ("0000", hello(101) + OPENED),
    "server's data first, then SYN": (
        "0111",
        [server("PA", 50, 501, b"x"), *handshake(9000, 8000)],
    ),
    "server's ACK first, then its SYN": ("0000", [server("A", 500, 101), *OPENED]),
    "server's ACK first, then SYN": ("0111", [server("A", 500, 101), *handshake(101, 500)]),
    "RST first, then SYN": ("0111", [client("R", 50), *handshake(9000, 8000)]),
    "server's RST first, then SYN": ("0000", [server("R", 50), *handshake(9000, 8000)]),
    "FIN first, then SYN": ("0111", [client("FA", 50, 60), *handshake(9000, 8000)]),
    "the server calls back from its port": (
        "000111",
        [*OPENED, server("S", 9000), client("SA", 8000, 9001), server("A", 9001, 8001)],
    ),
    "both open at once": (
        "0000",
        [client("S", 100), server("S", 500), client("SA", 100, 501), server("SA", 500, 101)],
    ),
    "two different SYN-ACKs": (
        "000",
        [client("S", 100), server("SA", 500, 101), server("SA", 900, 101)],
    ),
    "data after FIN without SYN": ("0000000", OPENED + CLOSED + hello(7001)),
    "an old SYN after a reuse": (
        "00011112",
        OPENED + handshake(200, 600) + [client("S", 200), client("S", 100)],
    ),
    "an ISN of zero": ("000000", handshake(0, 0) + handshake(0, 0)),
    "three reuses": ("000111222", OPENED + handshake(200, 600) + handshake(100, 700)),
    "Fast Open": ("00", [client("S", 100, 0, b"abc"), server("SA", 500, 104)]),
    "with ECN": ("000", [client("SEC", 100), server("SAE", 500, 101), client("A", 101, 501)]),
}


def written(story: str, folder: Path) -> Path:
    frames = deepcopy(STORIES[story][1])
    for number, frame in enumerate(frames):
        frame.time_ns = START_NS + number * 10_000_000
    return write(folder / "story.pcap", frames)


def streams(segments: list[Segment]) -> str:
    return "".join(str(segment.stream) for segment in segments)


@pytest.mark.parametrize("story", STORIES)
def test_a_connection_begins_where_wireshark_begins_one(story: str, tmp_path: Path) -> None:
    assert streams(our_segments(written(story, tmp_path))) == STORIES[story][0]


def test_what_is_said_of_wireshark_is_true(tmp_path: Path) -> None:
    """All stories in one capture, each between two hosts of its own: tshark starts once."""
    frames: list[Frame] = []
    for number, (_, story) in enumerate(STORIES.values()):
        for frame in deepcopy(story):
            for end in ("src", "dst"):
                addr = getattr(frame.packet, end).replace("10.0.0", f"10.0.{number}")
                frame.packet.setfieldval(end, addr)
            frame.time_ns = START_NS + len(frames) * 10_000_000
            frames.append(frame)
    segments_of_tshark = iter(tshark_segments(write(tmp_path / "stories.pcap", frames)))
    found = {}
    for name, (answer, _) in STORIES.items():
        numbers = [next(segments_of_tshark).stream for _ in answer]
        found[name] = "".join(str(number - min(numbers)) for number in numbers)
    assert found == {name: answer for name, (answer, _) in STORIES.items()}
    assert not list(segments_of_tshark)


# Data after FIN keeps its place in the stream.

DATA = b"0123456789"
AFTER_FIN = [
    *handshake(100, 500),
    client("PA", 101, 501, DATA),
    client("FA", 111, 501),
    client("FPA", 106, 501, DATA[5:]),
    client("FA", 111, 501),
    client("A", 112, 501),
]
REL_SEQ = [0, 0, 0, 0, 10, 5, 10, 11]
REPEATS = ["no"] * 5 + ["retransmitted"] * 2 + ["no"]


def after_fin(folder: Path) -> Path:
    """RFC 9293, section 3.8.1: what was lost is sent again, here 300 ms later."""
    for number, frame in enumerate(AFTER_FIN):
        frame.time_ns = START_NS + number * 300_000_000
        frame.packet[IP].id = 1000 * number
    return write(folder / "after_fin.pcap", AFTER_FIN)


def test_what_is_sent_again_after_fin_keeps_its_place(tmp_path: Path) -> None:
    segments = nagle_scan.scan(after_fin(tmp_path)).segments(0)
    assert segments["rel_seq"].tolist() == REL_SEQ
    assert segments["repeat"].tolist() == REPEATS


def test_wireshark_sees_the_same_places_and_repeats_after_fin(tmp_path: Path) -> None:
    path = after_fin(tmp_path)
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: nothing to compare with")
    said = tshark_answers.ask(path)
    # tshark's numbers count the SYN.
    assert [seq - (place > 1) for place, seq in enumerate(said["seq"])] == REL_SEQ
    assert [mark == "R" for mark in said["mark"]] == [repeat != "no" for repeat in REPEATS]


def test_what_an_icmp_error_quotes_is_no_connection(tmp_path: Path) -> None:
    quote = IP(src="10.0.0.9", dst="10.0.0.1") / ICMP(type=3, code=1)
    quote /= IP(src="10.0.0.1", dst="10.0.0.7") / TCP(sport=999, dport=80, seq=1)
    other = stalled(Conversation(("10.0.0.3", 40000), now_ms=900.0)).frames
    frames = [*stalled().frames, Frame(START_NS + 800_000_000, "client", quote), *other]
    path = write(tmp_path / "quote.pcap", sorted(frames, key=lambda frame: frame.time_ns))
    assert {segment.stream for segment in our_segments(path)} == {0, 1}
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: nothing to compare with")
    said = tshark_answers.ask(path)
    assert (set(said["stream"]), said["quotes"]) == ({0, 2}, [1])
    # The printed filter finds the stall all the same.
    stall = nagle_scan.scan(path)._result.core.stalls_of(1, 1)[0]
    found = tshark(path, "-Y", display_filter(stall))
    assert {str(stall.frame_from), str(stall.frame_to)} <= set(found)
