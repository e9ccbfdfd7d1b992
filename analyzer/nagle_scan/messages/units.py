"""Headers of binary protocols: from the bytes at a message's beginning, its kind and length.

Each function takes the first `HEADER_BYTES` bytes and whether the client sent them. It gives `None`
for what cannot be a message's beginning: stricter headers match less often by chance.
"""

from collections.abc import Mapping
from typing import NamedTuple

HEADER_BYTES = 32
"""More than the longest header, the preface of HTTP/2."""


class Unit(NamedTuple):
    """One message, by its header."""

    kind: str
    header_len: int
    body_len: int
    magic: bool = False
    """Nothing else begins like it."""


TLS_KINDS = {20: "change cipher spec", 21: "alert", 22: "handshake", 23: "application data"}
TLS_LONGEST = 2**14 + 2048
"""RFC 5246, section 6.2.3."""


def tls(data: bytes, by_client: bool) -> Unit | None:
    """RFC 8446, section 5.1."""
    del by_client
    if len(data) < 5 or data[0] not in TLS_KINDS or data[1] != 3 or data[2] > 4:
        return None
    length = int.from_bytes(data[3:5])
    if not 0 < length <= TLS_LONGEST:
        return None
    return Unit(f"record ({TLS_KINDS[data[0]]})", 5, length, magic=True)


HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""RFC 9113, section 3.4."""
HTTP2_LONGEST = 2**20
"""A limit of ours: RFC 9113 allows 2**24 - 1 bytes, but chance would match more often."""
HTTP2_KINDS = (
    ("DATA", 0x09, True, None),
    ("HEADERS", 0x2D, True, None),
    ("PRIORITY", 0, True, 5),
    ("RST_STREAM", 0, True, 4),
    ("SETTINGS", 0x01, False, None),
    ("PUSH_PROMISE", 0x0C, True, None),
    ("PING", 0x01, False, 8),
    ("GOAWAY", 0, False, None),
    ("WINDOW_UPDATE", 0, None, 4),
    ("CONTINUATION", 0x04, True, None),
)
"""RFC 9113, section 6, by type: flags, whether it has a stream, length."""


def http2(data: bytes, by_client: bool) -> Unit | None:
    """RFC 9113, section 4.1."""
    if by_client and data.startswith(HTTP2_PREFACE):
        return Unit("preface", len(HTTP2_PREFACE), 0, magic=True)
    if len(data) < 9 or data[3] >= len(HTTP2_KINDS) or data[5] & 0x80:
        return None
    kind, flags, has_stream, exactly = HTTP2_KINDS[data[3]]
    length, stream = int.from_bytes(data[:3]), int.from_bytes(data[5:9])
    if data[4] & ~flags or has_stream not in (None, stream > 0) or exactly not in (None, length):
        return None
    if kind == "SETTINGS" and length % 6:
        return None
    return Unit(kind, 9, length) if length <= HTTP2_LONGEST else None


POSTGRES_REQUESTS = {
    196608: "startup message",
    80877103: "SSLRequest",
    80877102: "CancelRequest",
    80877104: "GSSENCRequest",
}
"""The preface with which a connection may begin: it has no letter."""
POSTGRES_LONGEST = 2**30
"""A limit of ours, about what a server accepts in one message."""
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
POSTGRES_BODIES = {
    **dict.fromkeys(("Flush", "Sync", "Terminate", "CopyDone", "ParseComplete"), 0),
    **dict.fromkeys(("BindComplete", "CloseComplete", "NoData", "PortalSuspended"), 0),
    **{"EmptyQueryResponse": 0, "ReadyForQuery": 1},
}
"""Lengths of those that have only one."""


def postgres(data: bytes, by_client: bool) -> Unit | None:
    """A letter, then a length that counts itself; the client's first message has no letter."""
    if by_client and (kind := POSTGRES_REQUESTS.get(int.from_bytes(data[4:8]))):
        length = int.from_bytes(data[:4])
        return Unit(kind, 8, length - 8, magic=True) if 8 <= length < 10_000 else None
    return _lettered(POSTGRES_CLIENT if by_client else POSTGRES_SERVER, data)


def _lettered(kinds: Mapping[str, str], data: bytes) -> Unit | None:
    if len(data) < 5 or (kind := kinds.get(chr(data[0]))) is None:
        return None
    length = int.from_bytes(data[1:5]) - 4
    if not 0 <= length < POSTGRES_LONGEST or POSTGRES_BODIES.get(kind, length) != length:
        return None
    return Unit(kind, 5, length)


def mysql(data: bytes, by_client: bool) -> Unit | None:
    """Three bytes of length, least first, and a number: on its ports only."""
    del by_client
    return Unit("packet", 4, int.from_bytes(data[:3], "little")) if len(data) >= 4 else None


BGP_MARKER = b"\xff" * 16
BGP_KINDS = {1: "OPEN", 2: "UPDATE", 3: "NOTIFICATION", 4: "KEEPALIVE", 5: "ROUTE-REFRESH"}


def bgp(data: bytes, by_client: bool) -> Unit | None:
    """RFC 4271, section 4.1."""
    del by_client
    if len(data) < 19 or not data.startswith(BGP_MARKER) or data[18] not in BGP_KINDS:
        return None
    return Unit(f"{BGP_KINDS[data[18]]} message", 19, int.from_bytes(data[16:18]) - 19, magic=True)


MODBUS_LONGEST = 254
"""The unit identifier, and 253 bytes, the longest PDU (Modbus Application Protocol V1.1b3, 4.1)."""


def modbus(data: bytes, by_client: bool) -> Unit | None:
    """Modbus Messaging on TCP/IP V1.0b, section 3.1.3: a number, the protocol 0 and a length."""
    length = int.from_bytes(data[4:6])
    if len(data) < 8 or data[2:4] != b"\0\0" or not 2 <= length <= MODBUS_LONGEST:
        return None
    return Unit("request" if by_client else "response", 6, length)


ADS_LONGEST = 2**20
"""A limit of ours, against chance."""


def ads(data: bytes, by_client: bool) -> Unit | None:
    """Beckhoff InfoSys, 'AMS/TCP Header': two reserved bytes and a length, least first."""
    length = int.from_bytes(data[2:6], "little")
    if len(data) < 6 or data[:2] != b"\0\0" or not 32 <= length <= ADS_LONGEST:
        return None
    return Unit("request" if by_client else "response", 6, length)
