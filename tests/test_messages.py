"""What kind of message was held back is told, and never what was in it."""

from __future__ import annotations

import time
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES
from conversation import pcap, records, stalled
from hypothesis import example, given
from hypothesis import strategies as st
from nagle_scan.messages import framings, split, texts
from nagle_scan.messages.framings import PayloadPair


def tls(kind: int, length: int) -> bytes:
    return bytes([kind, 3, 3]) + length.to_bytes(2) + b"S" * length


def http2(kind: int, length: int) -> bytes:
    return length.to_bytes(3) + bytes([kind, 4, 0, 0, 0, 1]) + b"S" * length


def postgres(letter: bytes, length: int) -> bytes:
    return letter + (length + 4).to_bytes(4) + b"S" * length


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
REQUEST = b"POST /secret HTTP/1.1\r\nHost: secret\r\n\r\n"
SET = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\n"

TOLD = [
    (HEADERS, b"secret", 80, False, "HTTP response headers end with frame {a}, body in frame {b}"),
    (
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"secret",
        80,
        False,
        "HTTP response headers end with frame {a}, body in frame {b}",
    ),
    (REQUEST, b"secret", 80, True, "HTTP request headers end with frame {a}, body in frame {b}"),
    (REQUEST, REQUEST, 80, True, "HTTP request in frame {a}, the next request in frame {b}"),
    (HEADERS, HEADERS, 80, False, "HTTP response in frame {a}, the next response in frame {b}"),
    (
        HEADERS + b"sec",
        b"ret",
        80,
        False,
        "HTTP response headers and the body's beginning in frame {a}, more in frame {b}",
    ),
    (
        REQUEST + b"sec",
        b"ret",
        80,
        True,
        "HTTP request headers and the body's beginning in frame {a}, more in frame {b}",
    ),
    (
        HEADERS[:17],
        HEADERS[17:],
        80,
        False,
        "HTTP response headers begin in frame {a} and go on in frame {b}",
    ),
    (
        REQUEST[:23],
        REQUEST[23:],
        80,
        True,
        "HTTP request headers begin in frame {a} and go on in frame {b}",
    ),
    (b"1f\r\n", b"secret", 8080, False, "HTTP chunk size in frame {a}, the chunk in frame {b}"),
    (b"*2\r\n$3\r\n", b"GET\r\n", 1, True, "Redis RESP length ends with frame {a}, its data in "),
    (SET + b"secret\r\n", SET, 1, True, "Redis RESP command in frame {a}, the next in frame {b}"),
    (SET, b"secret\r\n", 1, True, "Redis RESP array begins in frame {a}, goes on in frame {b}"),
    (b"+OK\r\n", b":1\r\n", 6379, False, "Redis RESP reply in frame {a}, the next in frame {b}"),
    (
        b"set k 0 0 6\r\n",
        b"secret\r\n",
        1,
        True,
        "memcached command line ends with frame {a}, its data in frame {b}",
    ),
    (
        b"set k 0 0 6\r\nsec",
        b"ret\r\n",
        1,
        True,
        "memcached command in frame {a}, more in frame {b}",
    ),
    (
        b"VALUE k 0 6\r\nsec",
        b"ret\r\nEND\r\n",
        11211,
        False,
        "memcached value begins in frame {a}, goes on in frame {b}",
    ),
    (b"USER secret\r\n", b"PASS s\r\n", 21, True, "FTP line in frame {a}, the next in frame {b}"),
    (b"MAIL FROM:<s>\r\n", b"DATA\r\n", 25, True, "SMTP line in frame {a}, the next in frame {b}"),
    (b"USER secret\r\n", b"PASS s\r\n", 110, True, "POP3 line in frame {a}, the next in "),
    (b"a LOGIN s s\r\n", b"b NOOP\r\n", 143, True, "IMAP line in frame {a}, the next in "),
    (
        tls(22, 40),
        tls(23, 9),
        1,
        True,
        "TLS record (handshake) ends with frame {a}, record (application data) in frame {b}",
    ),
    (
        tls(23, 9) + tls(23, 20),
        tls(23, 9) * 2,
        1,
        False,
        "TLS record (application data) ends with frame {a}, the next in frame {b}",
    ),
    (
        tls(23, 40)[:20],
        tls(23, 40)[20:] + tls(21, 2),
        1,
        False,
        "TLS record (application data) begins in frame {a} and ends in frame {b}",
    ),
    (
        tls(23, 40)[:5],
        tls(23, 40)[5:],
        1,
        False,
        "TLS header of record (application data) ends with frame {a}, its body in frame {b}",
    ),
    (http2(1, 30), http2(0, 9), 1, False, "HTTP/2 HEADERS ends with frame {a}, DATA in frame {b}"),
    (
        postgres(b"P", 20) + postgres(b"B", 9),
        postgres(b"S", 0),
        5432,
        True,
        "PostgreSQL Bind ends with frame {a}, Sync in frame {b}",
    ),
    (
        postgres(b"T", 20),
        postgres(b"D", 9) + postgres(b"Z", 1),
        5432,
        False,
        "PostgreSQL RowDescription ends with frame {a}, DataRow in frame {b}",
    ),
    (
        b"\x06\0\0\0",
        b"secret",
        3306,
        True,
        "MySQL header of packet ends with frame {a}, its body in frame {b}",
    ),
    (b"\0\x06", b"secret", 53, True, "DNS header of query ends with frame {a}, its body in "),
    (
        b"\x81\x06",
        b"secret",
        1,
        False,
        "WebSocket header of text frame ends with frame {a}, its body in frame {b}",
    ),
    (
        b"\x82\xfe\x00\x80mask" + b"S" * 128,
        b"\x88\x80mask",
        1,
        True,
        "WebSocket binary frame ends with frame {a}, close frame in frame {b}",
    ),
]


@pytest.mark.parametrize(("unacked", "held", "port", "by_client", "says"), TOLD)
def test_a_message_is_told_by_its_kind(
    unacked: bytes, held: bytes, port: int, by_client: bool, says: str
) -> None:
    told = split.recognise(PayloadPair(unacked, held, port, by_client))
    assert told is not None
    assert told.startswith(says)


def test_every_entry_has_an_example() -> None:
    told = {split.recognise(PayloadPair(*row[:4])) for row in TOLD}
    assert {text.says for text in texts.TEXTS} <= told
    for framing in framings.FRAMINGS:
        assert any(says and says.startswith(f"{framing.protocol} ") for says in told)


@pytest.mark.parametrize(
    ("unacked", "held", "port", "by_client"),
    [
        (b"\0" * 6, b"\0" * 7, 8000, True),
        (b"secret", b"secret", 8000, True),
        (b"USER secret\r\n", b"PASS secret\r\n", 8000, True),
        # The second record ends neither here nor there; the mask is the other side's.
        (tls(23, 9), tls(23, 9)[:-1], 8000, True),
        (tls(23, 20000)[:9], b"x" * 9, 8000, True),
        (b"\x81\x06", b"secret", 8000, True),
        (b"\x06\0\0\0", b"secret", 8000, True),
        (b"\0\x06", b"secret", 8000, True),
        (HEADERS[:12], HEADERS[12:], 80, False),
    ],
)
def test_nothing_is_said_of_what_is_not_known(
    unacked: bytes, held: bytes, port: int, by_client: bool
) -> None:
    assert split.recognise(PayloadPair(unacked, held, port, by_client)) is None


SAID = {text.says for text in texts.TEXTS}
BYTES = st.binary(max_size=80) | st.sampled_from([row[0] for row in TOLD])


@given(BYTES, BYTES, st.sampled_from([21, 53, 80, 3306, 5432, 6379, 11211]), st.booleans())
@example(b"\x17\x03\x03\x00\x00", b"\x17\x03\x03\x00\x00", 443, True)
def test_arbitrary_bytes_are_never_repeated(
    unacked: bytes, held: bytes, port: int, by_client: bool
) -> None:
    told = split.recognise(PayloadPair(unacked, held, port, by_client))
    if told is not None and told not in SAID:
        protocol, _, rest = told.partition(" ")
        assert protocol in {framing.protocol for framing in framings.FRAMINGS}
        words = {word.strip("(),") for word in rest.split()}
        assert not {word.encode() for word in words if len(word) > 16} & {unacked, held}


@pytest.mark.parametrize(
    "start",
    [
        b"set " + b"1 " * 30000,
        b"GET " + b" HTTP/1." * 8000,
        b"HTTP/1.1 200 " + b"\r\n\r" * 20000,
        b"$1\r\n" * 15000 + b"x",
        b"+" + b"+\r\n" * 20000 + b"x",
        b"VALUE " + b"1" * 60000,
        bytes.fromhex("1703030001aa") * 10000,
    ],
)
def test_no_payload_takes_long(start: bytes) -> None:
    begun = time.perf_counter()
    for port in (21, 80, 6379, 11211):
        split.recognise(PayloadPair(start, start, port, True))
    assert time.perf_counter() - begun < 1


def test_the_ticket_tells_it(tmp_path: Path) -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    clearest = scan.core.clearest()
    assert clearest is not None
    said = split.describe(scan.paths, clearest)
    a, b = clearest.frame_from, clearest.frame_to
    assert said == [f"HTTP response headers end with frame {a}, body in frame {b}"]
    scan.to_markdown(tmp_path / "ticket.md")
    assert said[0] in (tmp_path / "ticket.md").read_text()


def test_several_stalls_are_told_in_one_pass() -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    stalls = scan.core.stalls_of(0, 5)
    one_by_one = [split.describe(scan.paths, stall) for stall in stalls]
    assert split.describe_all(scan.paths, stalls) == one_by_one


def test_a_payload_that_was_cut_by_the_snap_length_tells_nothing(tmp_path: Path) -> None:
    made = stalled(rounds=1)
    held = made.holds[0]
    rows = [
        (when, data[:-6] + b"+OK\r\n$") if frame is held.unacked else (when, data)
        for frame, (when, data) in zip(made.frames, records(made.frames), strict=True)
    ]
    for snap_length in (54, 57):
        (tmp_path / "a.pcap").write_bytes(pcap(rows, snap_length=snap_length))
        scan = nagle_scan.scan(tmp_path / "a.pcap")
        clearest = scan.core.clearest()
        assert clearest is not None
        assert split.describe(scan.paths, clearest) == []
