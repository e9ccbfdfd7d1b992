"""Text protocols, recognised by the payloads before and after the wait."""

import re
from typing import NamedTuple

from nagle_scan.messages.framings import Split
from nagle_scan.messages.payloads import PayloadPair
from nagle_scan.messages.protocols import ports_of


class Text(NamedTuple):
    """A message of a text protocol, cut in two: patterns, compiled when they are needed."""

    unacked: bytes
    held: bytes
    split: Split
    ports: frozenset[int] = frozenset()


def _text(unacked: bytes, held: bytes, says: str, ports: frozenset[int] = frozenset()) -> Text:
    """`says` begins with the protocol, and has `{a}` and `{b}` for the two segments."""
    protocol, _, words = says.partition(" ")
    split = Split(protocol, words, is_split=", the next " not in words)
    return Text(unacked, held, split, ports)


METHOD = rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|CONNECT|TRACE) [^\r\n]* HTTP/1\.[01]\r\n"
STATUS = rb"HTTP/1\.[01] [1-5]\d\d[^\r\n]*\r\n"
NO_BLANK_LINE = rb"(?!.*\r\n\r\n)"
ENDS_BLANK = rb"(?=.*\r\n\r\n\Z)"
RESP_LENGTH = rb"[*$]-?\d{1,10}\r\n"
STORE = (
    rb"(?:set|add|replace|append|prepend|cas) \S{1,250} \d{1,10} -?\d{1,10} \d{1,10}"
    rb"(?: \d{1,20})?(?: noreply)?\r\n"
)
"""memcached, doc/protocol.txt: keys have at most 250 bytes. Bounds keep a match linear."""
FETCH = rb"gets? [^\r\n]{1,512}\r\n\Z"
CUT_LINE = rb"[A-Z]{0,16}(?:[ /][^\r\n]*)?\Z"
"""A possible beginning of the next message's first line."""

TEXTS = (
    _text(METHOD, METHOD, "HTTP request in {a}, the next request in {b}"),
    _text(STATUS, STATUS, "HTTP response in {a}, the next response in {b}"),
    _text(
        NO_BLANK_LINE + STATUS,
        rb"",
        "HTTP response headers begin in {a} and go on in {b}",
    ),
    _text(
        NO_BLANK_LINE + METHOD,
        rb"",
        "HTTP request headers begin in {a} and go on in {b}",
    ),
    _text(
        ENDS_BLANK + STATUS,
        rb"",
        "HTTP response headers end with {a}, body in {b}",
    ),
    _text(
        ENDS_BLANK + METHOD,
        rb"",
        "HTTP request headers end with {a}, body in {b}",
    ),
    _text(
        STATUS,
        rb"",
        "HTTP response headers and the body's beginning in {a}, more in {b}",
    ),
    _text(
        METHOD,
        rb"",
        "HTTP request headers and the body's beginning in {a}, more in {b}",
    ),
    _text(
        rb"[0-9A-Fa-f]{1,8}\r\n\Z",
        rb"",
        "HTTP chunk size in {a}, the chunk in {b}",
        ports_of("HTTP") | {8000, 8888},
    ),
    _text(
        rb"(?:" + RESP_LENGTH + rb")+\Z",
        rb"",
        "Redis RESP length ends with {a}, its data in {b}",
    ),
    _text(
        rb"\*\d{1,10}\r\n\$\d",
        rb"\*\d{1,10}\r\n",
        "Redis RESP command in {a}, the next in {b}",
    ),
    _text(rb"\*\d{1,10}\r\n\$\d", rb"", "Redis RESP array begins in {a}, goes on in {b}"),
    _text(
        rb"(?:[+:-][^\r\n]*\r\n)+\Z",
        rb"[+:$*-]",
        "Redis RESP reply in {a}, the next in {b}",
        ports_of("Redis"),
    ),
    _text(STORE + rb"\Z", rb"", "memcached command line ends with {a}, its data in {b}"),
    _text(STORE, rb"", "memcached command in {a}, more in {b}"),
    _text(FETCH, FETCH, "memcached command in {a}, the next in {b}", ports_of("memcached")),
    _text(
        rb"VALUE \S{1,250} \d{1,10} \d{1,10}(?: \d{1,20})?\r\n",
        rb"",
        "memcached value begins in {a}, goes on in {b}",
        ports_of("memcached"),
    ),
)
"""The first that matches both payloads counts."""


def recognise(pair: PayloadPair) -> Split | None:
    """Where a message was split; `None` if too little of it was captured."""
    if pair.unacked_cut or (pair.held_cut and _matches(CUT_LINE, pair.held)):
        return None
    for text in TEXTS:
        if text.ports and pair.server_port not in text.ports:
            continue
        if _matches(text.unacked, pair.unacked) and _matches(text.held, pair.held):
            return text.split
    return None


def _matches(pattern: bytes, payload: bytes) -> bool:
    return re.match(pattern, payload, re.DOTALL) is not None
