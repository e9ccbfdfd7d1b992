"""Binary protocols, recognised by their headers: where a message ends, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class PayloadPair(NamedTuple):
    """Payloads of the unacknowledged segment and of the one held behind it."""

    unacked: bytes
    held: bytes
    server_port: int
    by_client: bool


class Unit(NamedTuple):
    """One message, as its header tells it."""

    kind: str
    header_len: int
    body_len: int


class Framing(NamedTuple):
    """A protocol whose messages begin with a header that tells their length."""

    protocol: str
    unit: Callable[[bytes, bool], Unit | None]
    """From the bytes at a message's beginning, and whether the client sent them."""
    ports: frozenset[int] = frozenset()
    """Only on these server ports, as the header alone is too weak a proof."""


class Walk(NamedTuple):
    """Consecutive messages: the first, the last, and how many bytes of the last are missing."""

    first: Unit
    last: Unit
    missing: int


def recognise(pair: PayloadPair) -> str | None:
    """Where a message was split, with `{a}` and `{b}` for the frames."""
    for framing in FRAMINGS:
        if framing.ports and pair.server_port not in framing.ports:
            continue
        if says := _says(framing, pair):
            return f"{framing.protocol} {says}"
    return None


def _says(framing: Framing, pair: PayloadPair) -> str | None:
    walked = _walk(framing, pair.unacked, pair.by_client)
    if walked is None or walked.missing > len(pair.held):
        return None
    rest = pair.held[walked.missing :]
    following = _walk(framing, rest, pair.by_client)
    if rest and (following is None or following.missing):
        return None
    last = walked.last
    if walked.missing == 0:
        return None if following is None else _next(last, following.first)
    if walked.missing == last.body_len:
        return f"header of {last.kind} ends with frame {{a}}, its body in frame {{b}}"
    return f"{last.kind} begins in frame {{a}} and ends in frame {{b}}"


def _next(last: Unit, first: Unit) -> str:
    following = "the next" if first.kind == last.kind else first.kind
    return f"{last.kind} ends with frame {{a}}, {following} in frame {{b}}"


def _walk(framing: Framing, data: bytes, by_client: bool) -> Walk | None:
    """`None` if `data` does not start with messages, or ends within a header."""
    at, first, last = 0, None, None
    while at < len(data):
        # No header is longer than 14 bytes (WebSocket); a slice keeps this linear.
        last = framing.unit(data[at : at + 16], by_client)
        if last is None or at + last.header_len > len(data):
            return None
        first = first or last
        at += last.header_len + last.body_len
    return None if first is None or last is None else Walk(first, last, at - len(data))


TLS_KINDS = {20: "change cipher spec", 21: "alert", 22: "handshake", 23: "application data"}
TLS_LONGEST = 2**14 + 2048
"""RFC 5246, section 6.2.3."""


def _tls(data: bytes, by_client: bool) -> Unit | None:
    del by_client
    if len(data) < 5 or data[0] not in TLS_KINDS or data[1] != 3 or data[2] > 4:
        return None
    length = int.from_bytes(data[3:5])
    if not 0 < length <= TLS_LONGEST:
        return None
    return Unit(f"record ({TLS_KINDS[data[0]]})", 5, length)


HTTP2_KINDS = (
    *("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY"),
    *("WINDOW_UPDATE", "CONTINUATION"),
)
"""RFC 9113, section 6, by type."""
HTTP2_LONGEST = 2**20
HTTP2_FLAGS = 0x2D


def _http2(data: bytes, by_client: bool) -> Unit | None:
    del by_client
    if len(data) < 9 or data[3] >= len(HTTP2_KINDS) or data[4] & ~HTTP2_FLAGS or data[5] & 0x80:
        return None
    length = int.from_bytes(data[:3])
    return Unit(HTTP2_KINDS[data[3]], 9, length) if length <= HTTP2_LONGEST else None


WEBSOCKET_KINDS = {0: "continuation", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}
"""RFC 6455, section 5.2, by opcode."""


def _websocket(data: bytes, by_client: bool) -> Unit | None:
    if len(data) < 2 or data[0] & 0x70 or data[0] & 0x0F not in WEBSOCKET_KINDS:
        return None
    # Clients mask, servers do not.
    if bool(data[1] & 0x80) != by_client:
        return None
    length_len = {126: 2, 127: 8}.get(data[1] & 0x7F, 0)
    length = int.from_bytes(data[2 : 2 + length_len]) if length_len else data[1] & 0x7F
    kind = f"{WEBSOCKET_KINDS[data[0] & 0x0F]} frame"
    return Unit(kind, 2 + length_len + 4 * by_client, length)


def _letters(kinds: Mapping[str, str], data: bytes) -> Unit | None:
    """PostgreSQL: a letter, then a length that counts itself."""
    if len(data) < 5 or (kind := kinds.get(chr(data[0]))) is None:
        return None
    length = int.from_bytes(data[1:5])
    return Unit(kind, 5, length - 4) if 4 <= length < 2**30 else None


POSTGRES_CLIENT = {
    **{"B": "Bind", "C": "Close", "D": "Describe", "E": "Execute", "H": "Flush", "P": "Parse"},
    **{"Q": "Query", "S": "Sync", "X": "Terminate", "d": "CopyData", "c": "CopyDone"},
    **{"F": "FunctionCall", "p": "PasswordMessage", "f": "CopyFail"},
}
POSTGRES_SERVER = {
    **{"1": "ParseComplete", "2": "BindComplete", "3": "CloseComplete", "C": "CommandComplete"},
    **{"D": "DataRow", "T": "RowDescription", "Z": "ReadyForQuery", "E": "ErrorResponse"},
    **{"N": "NoticeResponse", "R": "Authentication", "S": "ParameterStatus", "n": "NoData"},
    **{"K": "BackendKeyData", "t": "ParameterDescription", "d": "CopyData", "c": "CopyDone"},
    **{"A": "NotificationResponse", "s": "PortalSuspended", "I": "EmptyQueryResponse"},
}
"""PostgreSQL documentation, 'Message Formats'."""


def _postgres(data: bytes, by_client: bool) -> Unit | None:
    return _letters(POSTGRES_CLIENT if by_client else POSTGRES_SERVER, data)


def _mysql(data: bytes, by_client: bool) -> Unit | None:
    del by_client
    return Unit("packet", 4, int.from_bytes(data[:3], "little")) if len(data) >= 4 else None


def _dns(data: bytes, by_client: bool) -> Unit | None:
    kind = "query" if by_client else "response"
    return Unit(kind, 2, int.from_bytes(data[:2])) if len(data) >= 2 else None


FRAMINGS = (
    Framing("TLS", _tls),
    Framing("PostgreSQL", _postgres),
    Framing("HTTP/2", _http2),
    Framing("MySQL", _mysql, frozenset({3306, 33060})),
    Framing("DNS", _dns, frozenset({53})),
    Framing("WebSocket", _websocket),
)
"""The strongest proof first."""
