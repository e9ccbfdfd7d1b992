"""The kind of message that was held back is named, and never its contents."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES
from hypothesis import assume, example, given
from hypothesis import strategies as st
from nagle_scan.messages import framings, services, split, texts
from nagle_scan.messages.framings import Split
from nagle_scan.messages.payloads import PayloadPair
from nagle_scan.messages.units import HTTP2_PREFACE


def tls(kind: int, length: int) -> bytes:
    return bytes([kind, 3, 3]) + length.to_bytes(2) + b"S" * length


def http2(kind: int, length: int) -> bytes:
    return length.to_bytes(3) + bytes([kind, 0, 0, 0, 0, 1]) + b"S" * length


def postgres(letter: bytes, length: int) -> bytes:
    return letter + (length + 4).to_bytes(4) + b"S" * length


def mysql(number: int, length: int) -> bytes:
    return length.to_bytes(3, "little") + bytes([number]) + b"S" * length


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
REQUEST = b"POST /secret HTTP/1.1\r\nHost: secret\r\n\r\n"
SET = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\n"

NAMED: dict[str, tuple[bytes, bytes, int, bool]] = {
    "HTTP response headers end with {a}, body in {b}": (HEADERS, b"secret", 80, False),
    "HTTP request headers end with {a}, body in {b}": (REQUEST, b"secret", 80, True),
    "HTTP request in {a}, the next request in {b}": (REQUEST, REQUEST, 80, True),
    "HTTP response in {a}, the next response in {b}": (HEADERS, HEADERS, 80, False),
    "HTTP response headers and the body's beginning in {a}, more in {b}": (
        HEADERS + b"sec",
        b"ret",
        80,
        False,
    ),
    "HTTP request headers and the body's beginning in {a}, more in {b}": (
        REQUEST + b"sec",
        b"ret",
        80,
        True,
    ),
    "HTTP response headers begin in {a} and go on in {b}": (HEADERS[:17], HEADERS[17:], 80, False),
    "HTTP request headers begin in {a} and go on in {b}": (REQUEST[:23], REQUEST[23:], 80, True),
    "HTTP chunk size in {a}, the chunk in {b}": (b"1f\r\n", b"secret", 8080, False),
    "Redis RESP length ends with {a}, its data in ": (b"*2\r\n$3\r\n", b"GET\r\n", 1, True),
    "Redis RESP command in {a}, the next in {b}": (SET + b"secret\r\n", SET, 1, True),
    "Redis RESP array begins in {a}, goes on in {b}": (SET, b"secret\r\n", 1, True),
    "Redis RESP reply in {a}, the next in {b}": (b"+OK\r\n", b":1\r\n", 6379, False),
    "memcached command line ends with {a}, its data in {b}": (
        b"set k 0 0 6\r\n",
        b"secret\r\n",
        1,
        True,
    ),
    "memcached command in {a}, more in {b}": (b"set k 0 0 6\r\nsec", b"ret\r\n", 1, True),
    "memcached value begins in {a}, goes on in {b}": (
        b"VALUE k 0 6\r\nsec",
        b"ret\r\nEND\r\n",
        11211,
        False,
    ),
    "TLS record (handshake) ends with {a}, record (application data) in {b}": (
        tls(22, 40),
        tls(23, 9),
        1,
        True,
    ),
    "TLS record (application data) ends with {a}, the next in {b}": (
        tls(23, 9) + tls(23, 20),
        tls(23, 9) * 2,
        1,
        False,
    ),
    "TLS record (application data) begins in {a} and ends in {b}": (
        tls(23, 40)[:20],
        tls(23, 40)[20:] + tls(21, 2),
        1,
        False,
    ),
    "TLS header of record (application data) ends with {a}, its body in {b}": (
        tls(23, 40)[:5],
        tls(23, 40)[5:],
        1,
        False,
    ),
    "HTTP/2 HEADERS ends with {a}, DATA in {b}": (http2(1, 30), http2(0, 9), 1, False),
    "PostgreSQL Bind ends with {a}, Sync in {b}": (
        postgres(b"P", 20) + postgres(b"B", 9),
        postgres(b"S", 0),
        5432,
        True,
    ),
    "PostgreSQL RowDescription ends with {a}, DataRow in {b}": (
        postgres(b"T", 20),
        postgres(b"D", 9) + postgres(b"Z", 1),
        5432,
        False,
    ),
    "MySQL header of packet ends with {a}, its body in {b}": (b"\x06\0\0\0", b"secret", 3306, True),
    "TLS record (application data) begins with {b}": (b"end of a record", tls(23, 30), 1, False),
    "TLS record (application data) begins in {a} and goes on beyond {b}": (
        tls(23, 16000)[:90],
        b"S" * 80,
        1,
        False,
    ),
    "PostgreSQL startup message begins in {a} and ends in {b}": (
        (50).to_bytes(4) + (196608).to_bytes(4) + b"S" * 22,
        b"S" * 20,
        1,
        True,
    ),
    "Looks like PostgreSQL: Query begins in {a} and ends in {b}": (
        postgres(b"Q", 30)[:20],
        postgres(b"Q", 30)[20:],
        1,
        True,
    ),
    "HTTP/2 header of DATA ends with {a}, its body in {b}": (http2(0, 9)[:9], b"S" * 9, 1, False),
    "HTTP/2 preface ends with {a}, SETTINGS in {b}": (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\0\6\4\0\0\0\0\0" + b"S" * 6,
        1,
        True,
    ),
    "MySQL packet ends with {a}, the next in {b}": (mysql(0, 9), mysql(0, 9), 3306, True),
    "memcached command in {a}, the next in {b}": (b"gets k\r\n", b"gets l\r\n", 11211, True),
    "BGP KEEPALIVE message ends with {a}, the next in {b}": (
        b"\xff" * 16 + b"\0\x13\4",
        b"\xff" * 16 + b"\0\x13\4",
        179,
        True,
    ),
    "Modbus request ends with {a}, the next in {b}": (
        b"\0\1\0\0\0\6\1\3\0\0\0\2",
        b"\0\2\0\0\0\6\1\3\0\0\0\2",
        502,
        True,
    ),
    "ADS response ends with {a}, the next in {b}": (
        b"\0\0\x20\0\0\0" + bytes(32),
        b"\0\0\x20\0\0\0" + bytes(32),
        48898,
        False,
    ),
}
"""Each sentence, or how it begins: the bytes, the port and whether the client sent them."""


@pytest.mark.parametrize("says", NAMED)
def test_a_message_is_told_by_its_kind(says: str) -> None:
    split = services.recognise(PayloadPair(*NAMED[says]))
    assert split is not None
    assert split.sentence("{a}", "{b}").startswith(says)


def test_every_entry_has_an_example() -> None:
    every = {found for row in NAMED.values() if (found := services.recognise(PayloadPair(*row)))}
    assert {text.split for text in texts.TEXTS} <= every
    for framing in framings.FRAMINGS:
        assert framing.protocol in {found.protocol for found in every}


@pytest.mark.parametrize(
    ("unacked", "held", "port", "by_client"),
    [
        (b"\0" * 6, b"\0" * 7, 8000, True),
        (b"secret", b"secret", 8000, True),
        (b"USER secret\r\n", b"PASS secret\r\n", 8000, True),
        # The second record ends neither here nor there.
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
    assert services.recognise(PayloadPair(unacked, held, port, by_client)) is None


SAID = {text.split for text in texts.TEXTS}


def recognised_anywhere(unacked: bytes, held: bytes) -> set[Split]:
    """Descriptions of these on a port of no protocol, whoever sent them."""
    pairs = [PayloadPair(unacked, held, 7001, by_client) for by_client in (False, True)]
    return {split for pair in pairs if (split := services.recognise(pair))}


def test_random_bytes_are_no_protocol() -> None:
    """Compressed and encrypted data looks like this: no protocol may be made up for it."""
    chance = random.Random(20)
    for _ in range(10_000):
        unacked, held = (chance.randbytes(chance.randint(1, 40)) for _ in range(2))
        assert recognised_anywhere(unacked, held) == set()


PREFIXES: list[Callable[[int], bytes]] = [
    lambda length: length.to_bytes(1),
    lambda length: length.to_bytes(2),
    lambda length: length.to_bytes(2, "little"),
    lambda length: length.to_bytes(4),
    lambda length: length.to_bytes(4, "little"),
    lambda length: (length + 4).to_bytes(4),
    lambda length: (length + 4).to_bytes(4, "little"),
    lambda length: length.to_bytes(8, "little"),
    # Types and lengths; BER as in LDAP and SNMP; protobuf; a magic of its own.
    *(lambda length, type=type: bytes([type, length]) for type in (*range(16), 0x0A, 0x30, 0xA2)),
    *(lambda length, type=type: bytes([type]) + length.to_bytes(4) for type in range(16)),
    *(lambda length, type=type: length.to_bytes(2) + bytes([type, 0]) for type in range(16)),
    lambda length: b"\x30\x84" + length.to_bytes(4),
    lambda length: b"MAGI" + length.to_bytes(4),
]


def test_what_has_its_own_lengths_is_no_known_protocol() -> None:
    """Most binary protocols begin messages with a length, and programs write that apart."""
    for prefix, fill in product(PREFIXES, (b"\0", b"\1", b"S", b"\xff", b"\2\1\5", b"0\x0c\2\1")):
        first, second = (prefix(length) + (fill * length)[:length] for length in (12, 30))
        header = len(prefix(0))
        for unacked, held in [
            (first, second),
            (first[:header], first[header:]),
            (first + second, second + first),
            (second[:20], second[20:]),
        ]:
            assert recognised_anywhere(unacked, held) == set()


@given(st.binary(max_size=30), st.binary(max_size=30))
@example(b"S\0\0\0\4", b"secret")
def test_a_few_bytes_are_never_surely_a_protocol(unacked: bytes, held: bytes) -> None:
    """Hypothesis likes small numbers and repeats better than chance does."""
    assume(HTTP2_PREFACE not in (unacked, held))
    assert not any(split.is_sure for split in recognised_anywhere(unacked, held) - SAID)


BYTES = st.binary(max_size=80) | st.sampled_from([row[0] for row in NAMED.values()])


@given(BYTES, BYTES, st.sampled_from([21, 53, 80, 3306, 5432, 6379, 11211]), st.booleans())
@example(b"\x17\x03\x03\x00\x00", b"\x17\x03\x03\x00\x00", 443, True)
def test_arbitrary_bytes_are_never_repeated(
    unacked: bytes, held: bytes, port: int, by_client: bool
) -> None:
    split = services.recognise(PayloadPair(unacked, held, port, by_client))
    if split is not None and split not in SAID:
        assert split.protocol in {framing.protocol for framing in framings.FRAMINGS}
        words = {word.strip("(),") for word in split.says.split()}
        assert not {word.encode() for word in words if len(word) > 16} & {unacked, held}


def test_the_ticket_tells_it(tmp_path: Path) -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    clearest = scan._result.core.clearest()
    assert clearest is not None
    said = split.describe(scan._result.paths, [clearest])[0]
    a, b = clearest.frame_from, clearest.frame_to
    assert said == [f"HTTP response headers end with frame {a}, body in frame {b}"]
    scan.write(tmp_path / "ticket.md")
    assert said[0] in (tmp_path / "ticket.md").read_text()


def test_headers_suffice_where_messages_were_cut() -> None:
    """A capture with 256 bytes of each frame shows long messages too."""
    first, second = tls(23, 900), tls(23, 400)
    pair = PayloadPair(first[:190], second[:190], 443, False, len(first) - 190, len(second) - 190)
    split = services.recognise(pair)
    assert split is not None
    assert split.says == "record (application data) ends with {a}, the next in {b}"
    assert services.recognise(pair._replace(unacked_cut=700)) is None
    two = PayloadPair((first + second)[:190], second, 443, False, len(first + second) - 190)
    assert services.recognise(two) == Split(
        "TLS", "record (application data) begins with {b}", is_split=None
    )


@pytest.mark.parametrize(
    ("held", "is_named"),
    [(b"secret\n", True), (b"GET / HT", False), (b"HTTP/1", False), (b"", False)],
)
def test_what_was_cut_before_it_can_be_recognised_is_not_named(held: bytes, is_named: bool) -> None:
    """A body, or the next message?"""
    found = services.recognise(PayloadPair(HEADERS, held, 80, False, held_cut=100))
    assert (found is not None) == is_named
    assert services.recognise(PayloadPair(HEADERS, held, 80, False, unacked_cut=1)) is None
