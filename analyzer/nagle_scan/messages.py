"""What kind of message was held back, from the bytes of its pieces; never the bytes.

Kept as data: one entry, one protocol. Binary protocols are `FRAMINGS` (a header that tells its
length), text protocols `TEXTS` (what both pieces look like). Nothing is said of what is not
recognised, nor where the capture holds only a part of the payload.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan import _core, framings
from nagle_scan.framings import Piece
from nagle_scan.results import Scan


class Text(NamedTuple):
    """Two pieces of a text protocol; `says` names their frames `{a}` and `{b}`."""

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
"""The first that matches both pieces counts."""


def describe(scan: Scan, stall: _core.WaitRow) -> list[str]:
    """What ended with the unacknowledged segment of a stall and what the held one carried.

    Empty where that is not known. Reads the captures again: use `describe_all` for several.
    """
    return describe_all(scan, [stall])[0]


def describe_all(scan: Scan, stalls: Sequence[_core.WaitRow]) -> list[list[str]]:
    """As `describe`, for several stalls in one pass over the captures."""
    if not scan.can_be_read_again:
        return [[] for _ in stalls]
    numbers = sorted({number for stall in stalls for number in (stall.frame_from, stall.frame_to)})
    frames = {row.frame: row for row in _core.read_frames(scan.paths, numbers, True, None)}
    return [_described(stall, frames) for stall in stalls]


def _described(stall: _core.WaitRow, frames: dict[int, _core.FrameRow]) -> list[str]:
    unacked, held = (_payload(frames.get(key)) for key in (stall.frame_from, stall.frame_to))
    if not unacked or not held:
        return []
    server = stall.sender if stall.by == "server" else stall.receiver
    pieces = Piece(unacked, held, int(server.rpartition(":")[2]), stall.by == "client")
    says = recognise(pieces)
    return [] if says is None else [says.format(a=stall.frame_from, b=stall.frame_to)]


def _payload(row: _core.FrameRow | None) -> bytes:
    """The whole payload; nothing if a part of it was not captured."""
    if row is None:
        return b""
    payload = row.data[row.payload_at : row.payload_at + row.payload_len]
    return payload if len(payload) == row.payload_len else b""


def recognise(pieces: Piece) -> str | None:
    """What the pieces are, with `{a}` and `{b}` for their frames; `None` if that is not known."""
    return framings.recognise(pieces) or _recognise_text(pieces)


def _recognise_text(pieces: Piece) -> str | None:
    for text in TEXTS:
        if text.ports and pieces.server_port not in text.ports:
            continue
        if text.unacked.match(pieces.unacked) and text.held.match(pieces.held):
            return text.says
    return None
