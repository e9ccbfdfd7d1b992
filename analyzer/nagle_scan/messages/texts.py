"""Text protocols, recognised by the payloads before and after the wait."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan.messages.framings import PayloadPair


class Text(NamedTuple):
    """A message of a text protocol, cut in two; `says` names the frames `{a}` and `{b}`."""

    unacked: re.Pattern[bytes]
    held: re.Pattern[bytes]
    says: str
    ports: frozenset[int] = frozenset()


def _text(unacked: bytes, held: bytes, says: str, ports: Sequence[int] = ()) -> Text:
    flags = re.DOTALL
    return Text(re.compile(unacked, flags), re.compile(held, flags), says, frozenset(ports))


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
LINE = rb"[\x20-\x7e]+\r?\n\Z"

TEXTS = (
    _text(METHOD, METHOD, "HTTP request in frame {a}, the next request in frame {b}"),
    _text(STATUS, STATUS, "HTTP response in frame {a}, the next response in frame {b}"),
    _text(
        NO_BLANK_LINE + STATUS,
        rb"",
        "HTTP response headers begin in frame {a} and go on in frame {b}",
    ),
    _text(
        NO_BLANK_LINE + METHOD,
        rb"",
        "HTTP request headers begin in frame {a} and go on in frame {b}",
    ),
    _text(
        ENDS_BLANK + STATUS,
        rb"",
        "HTTP response headers end with frame {a}, body in frame {b}",
    ),
    _text(
        ENDS_BLANK + METHOD,
        rb"",
        "HTTP request headers end with frame {a}, body in frame {b}",
    ),
    _text(
        STATUS,
        rb"",
        "HTTP response headers and the body's beginning in frame {a}, more in frame {b}",
    ),
    _text(
        METHOD,
        rb"",
        "HTTP request headers and the body's beginning in frame {a}, more in frame {b}",
    ),
    _text(
        rb"[0-9A-Fa-f]{1,8}\r\n\Z",
        rb"",
        "HTTP chunk size in frame {a}, the chunk in frame {b}",
        (80, 8000, 8080, 8888),
    ),
    _text(
        rb"(?:" + RESP_LENGTH + rb")+\Z",
        rb"",
        "Redis RESP length ends with frame {a}, its data in frame {b}",
    ),
    _text(
        rb"\*\d{1,10}\r\n\$\d",
        rb"\*\d{1,10}\r\n",
        "Redis RESP command in frame {a}, the next in frame {b}",
    ),
    _text(
        rb"\*\d{1,10}\r\n\$\d", rb"", "Redis RESP array begins in frame {a}, goes on in frame {b}"
    ),
    _text(
        rb"(?:[+:-][^\r\n]*\r\n)+\Z",
        rb"[+:$*-]",
        "Redis RESP reply in frame {a}, the next in frame {b}",
        (6379,),
    ),
    _text(
        STORE + rb"\Z", rb"", "memcached command line ends with frame {a}, its data in frame {b}"
    ),
    _text(STORE, rb"", "memcached command in frame {a}, more in frame {b}"),
    _text(
        rb"VALUE \S{1,250} \d{1,10} \d{1,10}(?: \d{1,20})?\r\n",
        rb"",
        "memcached value begins in frame {a}, goes on in frame {b}",
        (11211,),
    ),
    _text(LINE, LINE, "FTP line in frame {a}, the next in frame {b}", (21,)),
    _text(LINE, LINE, "SMTP line in frame {a}, the next in frame {b}", (25, 587)),
    _text(LINE, LINE, "POP3 line in frame {a}, the next in frame {b}", (110,)),
    _text(LINE, LINE, "IMAP line in frame {a}, the next in frame {b}", (143,)),
)
"""The first that matches both payloads counts."""


def recognise(pair: PayloadPair) -> str | None:
    """Where a message was split, with `{a}` and `{b}` for the frames."""
    for text in TEXTS:
        if text.ports and pair.server_port not in text.ports:
            continue
        if text.unacked.match(pair.unacked) and text.held.match(pair.held):
            return text.says
    return None
