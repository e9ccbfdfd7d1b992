"""Words on connections that never came about, and on requests that nobody answered."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from conversation import write_timed
from nagle_scan import scan
from nagle_scan.report import text
from nagle_scan.report.options import Options
from nagle_scan.system.terminal import PLAIN
from scapy.layers.inet import IP, TCP
from scapy.packet import Packet, Raw

Frame = tuple[float, Packet]
CLIENT, SERVER = IP(src="192.0.2.1", dst="192.0.2.2"), IP(src="192.0.2.2", dst="192.0.2.1")


def client(seq: int, ack: int, flags: str = "A", data: int = 0) -> Packet:
    header = TCP(sport=4000, dport=80, seq=100 + seq, ack=500 + ack, flags=flags)
    return CLIENT / header / Raw(b"x" * data) if data else CLIENT / header


def server(seq: int, ack: int, flags: str = "A", data: int = 0) -> Packet:
    header = TCP(sport=80, dport=4000, seq=500 + seq, ack=100 + ack, flags=flags)
    return SERVER / header / Raw(b"y" * data) if data else SERVER / header


SYN, ANSWER, REFUSAL = client(0, -500, "S"), server(0, 1, "SA"), server(-500, 1, "RA")
SYNS: list[Frame] = [(0.0, SYN), (1.0, SYN), (3.0, SYN)]
OPENED: list[Frame] = [
    (0.0, SYN),
    (0.001, ANSWER),
    (0.001, client(1, 1)),
]
ANSWERED: list[Frame] = [
    (0.01, client(1, 1, "PA", 20)),
    (0.012, server(1, 21, "PA", 30)),
    (0.012, client(21, 31)),
]
ASKED: list[Frame] = [(1.0, client(21, 31, "PA", 20)), (1.001, server(31, 41))]
CUT: list[Frame] = [(1.002, server(31, 41, "A", 1460)), (1.002, client(41, 1491))]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 950\r\n\r\nbegun"
REPLY_BEGUN: list[Frame] = [(1.002, server(31, 41, "PA") / Raw(HEAD)), (1.003, client(41, 76))]
ASKS_LEAVE = b"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
LEAVE: list[Frame] = [
    (1.0, client(21, 31, "PA") / Raw(ASKS_LEAVE)),
    (1.001, server(31, 21 + len(ASKS_LEAVE))),
    (2.0, client(21 + len(ASKS_LEAVE), 31, "PA", 9)),
    (2.01, server(31, 30 + len(ASKS_LEAVE), "PA", 9)),
]
SHUT = client(41, 131)
SHUT[TCP].window = 0
CLOSED: list[Frame] = [*CUT[:1], (1.002, client(41, 1491))]
CLOSED[1][1][TCP].window = 0
FULL = client(41, 31)
FULL[TCP].window = 100
FILLED: list[Frame] = [(1.001, FULL), (1.002, server(31, 41, "PA", 100)), (1.003, SHUT)]
PROBE = server(130, 41)
PING = IP(src="192.0.2.1", dst="192.0.2.9", proto=1)
"""A frame that only shows until when the capture went on."""
MORE: list[Frame] = [
    (0.1, client(21, 31, "PA", 20)),
    (0.102, server(31, 41, "PA", 30)),
    (0.102, client(41, 61)),
    (1.0, client(41, 61, "PA", 20)),
    (1.001, server(61, 61)),
]
OTHER = CLIENT / TCP(sport=4001, dport=80, seq=1, flags="S")
NEXT = client(9_000, -500, "S")
SENT_AGAIN: list[Frame] = [(901.0 + wait, client(21, 31, "PA", 20)) for wait in (0, 0.3, 0.9, 2.1)]


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (
            SYNS,
            "the handshake was still not complete when the capture ended: the server had not "
            "answered frame 1; look for firewalls that drop packets, and whether the host is up; "
            "tried 2 times, up to 2.0 s apart",
        ),
        ([*SYNS, (60.0, OTHER)], "the SYN was sent 3 times and never answered"),
        ([(0.0, SYN), (0.1, REFUSAL), (0.6, SYN), (0.7, REFUSAL)], "refused with RST"),
        (
            [*SYNS, (3.1, ANSWER), (3.1, client(1, 1))],
            "a SYN was sent again before its SYN-ACK came: one was lost",
        ),
        ([(0.0, SYN), (1.0, ANSWER), (1.01, client(1, 1))], "Connecting took 1.0 s."),
        (
            [*OPENED, *ANSWERED, *ASKED, (31.0, client(41, 31, "FA"))],
            "a request sent in frame 7 and acknowledged in frame 8 was still unanswered when the "
            "client closed the connection in frame 9: look into the server's program",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED, (31.0, server(31, 41, "RA"))],
            "still unanswered when the server reset the connection in frame 9",
        ),
        (
            [
                *OPENED,
                (0.01, client(1, 1, "PA", 20)),
                (0.012, server(1, 21)),
                (9.0, client(21, 1, "FA")),
            ],
            "the server sent no data at all: its program hangs, or it owes no answer",
        ),
        (
            [*OPENED, *ANSWERED, *SENT_AGAIN],
            "still not acknowledged when the capture ended, after 15 min without a packet: a "
            "firewall or NAT forgot the connection",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED[:1], *CUT, (30.0, client(41, 1491, "R"))],
            "OPEN 1 connection waited in vain for 29 s: in stream 0, the server stopped in the "
            "middle of a message: frame 8 was still its last when the client reset the connection "
            "in frame 10; what it sent looks cut",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED[:1], *REPLY_BEGUN, (30.0, client(41, 76, "R"))],
            "frame 8 was still its last when the client reset the connection in frame 10; 945 of "
            "the announced bytes never came",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED[:1], *CLOSED, (1.5, client(41, 1491)), (30.0, PING)],
            "OPEN 1 connection hangs when the capture ends, 28 s by then: in stream 0, the server "
            "stopped in the middle of a message: nothing had followed when the capture ended, "
            "though frame 10 announced room again",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED[:1], *FILLED, (1.2, PROBE), (1.2, SHUT), (31.2, PROBE)],
            "the receiver's window had no more room: its program does not read; tried 2 times, up "
            "to 30 s apart",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED[:1], *CUT, (30.0, client(41, 1491, "R"))],
            "open 0 8 >= 28,998.0",
        ),
        (ANSWERED, "which end is the server is a guess by port"),
        (
            [*OPENED, (30.0, PING)],
            "OPEN 1 connection was left open for 30 s: in stream 0, neither end had sent data when "
            "the capture ended, though the connection was opened in frame 2",
        ),
        (
            [*OPENED, *ANSWERED, *LEAVE],
            "the client asked for leave to send the rest of its request (Expect: 100-continue) and "
            "waited for it in vain",
        ),
        (
            [
                frame
                for at in range(3)
                for frame in (
                    (at * 1.0, client(1 + 20 * at, 1 + 30 * at, "PA", 20)),
                    (at * 1.0 + 0.2 + 0.04 * at, server(1 + 30 * at, 21 + 20 * at, "PA", 30)),
                )
            ],
            "for the server or the way to it, whose round trip is not known",
        ),
        (
            [*OPENED, *ANSWERED, *((75.0 * at, client(20, 31)) for at in (1, 2, 3))],
            "the server had still not answered keep-alives when the capture ended, the first of "
            "them in frame 7",
        ),
        (
            [
                *OPENED,
                *ANSWERED,
                *ASKED[:1],
                *((1.1 + wait, server(31, 41, "PA", 30)) for wait in (0, 0.3, 0.9, 2.1)),
            ],
            "30 bytes in flight, the last of them sent in frame 8, were still not acknowledged by "
            "the client",
        ),
        (
            [*OPENED, *ANSWERED, *MORE, (26.0, client(61, 61, "PA", 20)), (26.001, server(61, 81))],
            "a request sent in frame 10 and acknowledged in frame 11 was still unanswered when the "
            "client asked again in frame 12",
        ),
        (
            [*OPENED, *ANSWERED, *ASKED, (31.0, NEXT)],
            "acknowledged in frame 8 was still unanswered when its ports were used again in frame "
            "9",
        ),
        (
            [*OPENED, (1.0, ANSWER), (1.0, client(1, 1)), (3.0, ANSWER), (3.0, client(1, 1))],
            "the server sent its SYN-ACK again, though the client had acknowledged it",
        ),
        (
            [
                *OPENED,
                *ANSWERED,
                (0.5, server(31, 21, "FA")),
                (0.5, client(21, 32)),
                (0.8, client(21, 32, "PA", 20)),
                (0.801, server(32, 0, "R")),
            ],
            "sent into a connection that its server had closed, and met RST (frame 9)",
        ),
    ],
)
def test_where_an_answer_is_missing_is_said(tmp_path: Path, frames: list[Frame], said: str) -> None:
    """The longest wait of all, and no latency has it: a reader looks for it here first."""
    capture = write_timed(tmp_path / "hang.pcap", frames)
    report = " ".join(text.render(scan(capture)._result, PLAIN, Options()).split())
    assert said in report
    assert "No other wait" not in report or "met RST" in said or "guess" in said


def test_what_is_open_at_the_end_is_a_row_and_no_latency(tmp_path: Path) -> None:
    """An exchange that never ended looked finished when its last captured byte had come."""
    frames = [*OPENED, *ANSWERED, *ASKED[:1], *CUT, (30.0, client(41, 1491, "R"))]
    found = scan(write_timed(tmp_path / "cut.pcap", frames))
    (row,) = found.open.to_dict("records")
    assert (row["owed"], row["owed_by"]) == ("the rest of a message", "server")
    assert (row["frame_from"], row["frame_to"], row["ending"]) == (8, 10, "client_reset")
    assert row["open_ms"] == pytest.approx(28_998, abs=1)
    assert not row["host_alive"]
    assert list(found.exchanges["frame_end"]) == [5]


def test_what_is_still_open_has_no_last_frame(tmp_path: Path) -> None:
    """The one waits since the FIN in frame 7, the other since the request in frame 4."""
    closed = [*OPENED, *ANSWERED, (1.0, server(31, 21, "FA")), (1.1, client(21, 32)), (30.0, PING)]
    report = text.render(scan(write_timed(tmp_path / "fin.pcap", closed))._result, PLAIN, Options())
    assert " 7-end " in report
    hangs = [*OPENED, (1.0, client(1, 1, "PA", 90)), (1.001, server(1, 91)), (30.0, PING)]
    report = text.render(scan(write_timed(tmp_path / "open.pcap", hangs))._result, PLAIN, Options())
    assert "Unfinished exchanges (" in report
    assert "slowest" not in report
    assert " 4-end " in report


AFTER_HEAD: list[Frame] = [
    (2.0, client(41, 76, "PA", 20)),
    (2.001, server(76, 61, "PA", 30)),
    (2.002, client(61, 106)),
    (30.0, PING),
]
GIVEN: list[Frame] = [
    (1.002, server(31, 21 + len(ASKS_LEAVE), "PA", 25)),
    (2.0, client(21 + len(ASKS_LEAVE), 56, "PA", 9)),
    (2.01, server(56, 30 + len(ASKS_LEAVE), "PA", 9)),
]


@pytest.mark.parametrize(
    ("frames", "unsaid"),
    [
        # The reply to HEAD announces what it does not bring: the client asks on.
        ([*OPENED, *ANSWERED, *ASKED[:1], *REPLY_BEGUN, *AFTER_HEAD], "OPEN"),
        ([*OPENED, *ANSWERED, *LEAVE[:2], *GIVEN], "waited for it in vain"),
        # Opened and closed: nobody waits.
        (
            [*OPENED, (0.1, client(1, 1, "FA")), (0.1, server(1, 2, "FA")), (0.1, client(2, 2))],
            "OPEN",
        ),
    ],
)
def test_nothing_hangs_where_all_was_said(tmp_path: Path, frames: list[Frame], unsaid: str) -> None:
    capture = write_timed(tmp_path / "whole.pcap", [*frames, (60.0, PING)])
    assert unsaid not in text.render(scan(capture)._result, PLAIN, Options())


def test_resends_within_a_debt_are_told_with_it_alone(tmp_path: Path) -> None:
    """The same seconds stood twice among the longest waits, with two causes."""
    sent = [(1.1 + wait, server(31, 41, "PA", 30)) for wait in (0, 0.3, 0.9, 2.1)]
    capture = write_timed(tmp_path / "lost.pcap", [*OPENED, *ANSWERED, *ASKED[:1], *sent])
    report = text.render(scan(capture)._result, PLAIN, Options())
    assert "unanswered" in report
    assert "retransmission" not in report


def test_a_host_that_never_answered_was_not_silent_since_1970(tmp_path: Path) -> None:
    (row,) = scan(write_timed(tmp_path / "syn.pcap", SYNS)).open.to_dict("records")
    assert row["owed"] == "an answer to a SYN"
    assert math.isnan(row["silent_ms"])
    assert not row["host_alive"]


def test_a_server_that_takes_3_s_for_each_answer_does_not_hang_after_2(tmp_path: Path) -> None:
    """Its other connection tells how long it takes; this one has no answer yet."""
    asked = [
        (at, packet)
        for start in (1, 5)
        for at, packet in [
            (start, client(1 + 20 * (start // 5), 1 + 30 * (start // 5), "PA", 20)),
            (start + 0.001, server(1 + 30 * (start // 5), 21 + 20 * (start // 5))),
            (start + 3, server(1 + 30 * (start // 5), 21 + 20 * (start // 5), "PA", 30)),
        ]
    ]
    others = [(10.0, client(0, -500, "S")), (10.001, server(0, 1, "SA")), (10.001, client(1, 1))]
    others += [(10.1, client(1, 1, "PA", 90)), (10.101, server(1, 91))]
    for _, packet in others:
        ports = packet[TCP]
        ports.sport, ports.dport = (4001, 80) if ports.dport == 80 else (80, 4001)
    for end, hangs in ((12.1, 0), (30.0, 1)):
        frames = [*OPENED, *asked, *others, (end, PING)]
        assert len(scan(write_timed(tmp_path / f"{end}.pcap", frames)).open) == hangs
