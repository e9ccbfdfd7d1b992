"""Headers of binary protocols: from the bytes at a message's beginning, its kind and length.

Each function takes the first `HEADER_BYTES` bytes and whether the client sent them. It gives `None`
for what cannot be a message's beginning; the more a header must not say, the less is chance.
"""

from collections.abc import Mapping
from typing import NamedTuple

HEADER_BYTES = 32
"""More than the longest header, the preface of HTTP/2."""


class Unit(NamedTuple):
    """One message, as its header tells it."""

    kind: str
    header_len: int
    body_len: int
    magic: bool = False
    """Nothing else begins like it."""
    number: int = 0
    """Of a protocol that counts its messages."""


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


WEBSOCKET_KINDS = {1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}
"""RFC 6455, section 5.2, by opcode; fragments are not recognised, as little else marks them."""


def websocket(data: bytes, by_client: bool) -> Unit | None:
    """A frame that is a whole message."""
    kind = WEBSOCKET_KINDS.get(data[0] & 0x0F)
    # Bit 6 is set where a message is compressed (RFC 7692).
    if len(data) < 2 or kind is None or data[0] & 0xB0 != 0x80:
        return None
    # Clients mask, servers do not.
    if bool(data[1] & 0x80) != by_client:
        return None
    short = data[1] & 0x7F
    length_len = {126: 2, 127: 8}.get(short, 0)
    length = int.from_bytes(data[2 : 2 + length_len]) if length_len else short
    is_control = bool(data[0] & 0x08)
    # The shortest form is the only one, and control has no other. Empty messages are too rare.
    if length < {2: 126, 8: 2**16}.get(length_len, not is_control) or (is_control and length_len):
        return None
    return Unit(f"{kind} frame", 2 + length_len + 4 * by_client, length)


POSTGRES_REQUESTS = {
    196608: "startup message",
    80877103: "SSLRequest",
    80877102: "CancelRequest",
    80877104: "GSSENCRequest",
}
"""What a connection may begin with: it has no letter."""
POSTGRES_LONGEST = 2**30
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


MYSQL_LONGEST_GREETING = 1000


def mysql(data: bytes, by_client: bool) -> Unit | None:
    """Three bytes of length, least first, and a number: on its ports only."""
    del by_client
    return Unit("packet", 4, int.from_bytes(data[:3], "little")) if len(data) >= 4 else None


def mysql_reply(data: bytes, by_client: bool) -> Unit | None:
    """A server's packet: numbered from 1, as a four-byte length could not be.

    Its greeting has the number 0.
    """
    if by_client or len(data) < 4:
        return None
    length, number = int.from_bytes(data[:3], "little"), data[3]
    if number == 0 and _is_mysql_version(data[4:8]) and length < MYSQL_LONGEST_GREETING:
        return Unit("greeting", 4, length, magic=True)
    return Unit("packet", 4, length, number=number) if number and length else None


def _is_mysql_version(data: bytes) -> bool:
    """The protocol's version 10, then the server's. MySQL documentation, 'HandshakeV10'."""
    return data[:1] == b"\x0a" and data[1:2].isdigit() and b"." in data[2:]


MQTT_KINDS = {
    **{1: ("CONNECT", True), 2: ("CONNACK", False), 3: ("PUBLISH", None), 4: ("PUBACK", None)},
    **{5: ("PUBREC", None), 6: ("PUBREL", None), 7: ("PUBCOMP", None), 8: ("SUBSCRIBE", True)},
    **{9: ("SUBACK", False), 10: ("UNSUBSCRIBE", True), 11: ("UNSUBACK", False)},
    **{12: ("PINGREQ", True), 13: ("PINGRESP", False), 14: ("DISCONNECT", None)},
    **{15: ("AUTH", None)},
}
"""MQTT 5.0, section 2.1.2, by type: and whether only a client sends it."""
MQTT_FLAGS = {6: 2, 8: 2, 10: 2}
"""MQTT 5.0, section 2.1.3; 0 for others, and any for PUBLISH."""
MQTT_STARTS = (b"\x00\x04MQTT", b"\x00\x06MQIsdp")


def mqtt(data: bytes, by_client: bool) -> Unit | None:
    """MQTT 5.0, section 2.1."""
    kind, by = MQTT_KINDS.get(data[0] >> 4, ("", None))
    length, header_len = _varint(data)
    if not kind or by not in (None, by_client) or header_len == 0:
        return None
    body = data[header_len:]
    if kind == "PUBLISH":
        fits = data[0] & 6 != 6 and _is_topic(body, length)
    else:
        fits = data[0] & 15 == MQTT_FLAGS.get(data[0] >> 4, 0) and _fits(kind, length)
    if kind == "CONNECT":
        fits = body.startswith(MQTT_STARTS)
    if kind in ("SUBSCRIBE", "UNSUBSCRIBE"):
        fits = fits and _has_filter(body, length)
    return Unit(f"{kind} packet", header_len, length, magic=kind == "CONNECT") if fits else None


def _fits(kind: str, length: int) -> bool:
    """May a packet of this kind have this length?"""
    if kind in ("PINGREQ", "PINGRESP"):
        return length == 0
    return length >= 2 or kind in ("DISCONNECT", "AUTH")


def _is_topic(body: bytes, length: int, but: bytes = b"#+") -> bool:
    """Does a topic's name begin here, in what has this length?"""
    topic = int.from_bytes(body[:2])
    seen = body[2 : 2 + topic]
    printable = all(32 <= byte < 127 and byte not in but for byte in seen)
    return len(body) > 2 and 0 < topic <= length - 2 and printable


def _has_filter(body: bytes, length: int) -> bool:
    """Does a topic's filter follow the packet's number, or the properties of MQTT 5?"""
    after = 3 + (body[2] if len(body) > 2 else 0)
    return any(_is_topic(body[at:], length - at, b"") for at in (2, after))


def _varint(data: bytes) -> tuple[int, int]:
    """The remaining length and where it ends; 0 if this is none."""
    value = 0
    for at in range(1, min(5, len(data))):
        value |= (data[at] & 0x7F) << 7 * (at - 1)
        if data[at] < 0x80:
            return value, 0 if at > 1 and data[at] == 0 else at + 1
    return 0, 0


def mongodb(data: bytes, by_client: bool) -> Unit | None:
    """A length that counts itself, numbers of request and reply, and OP_MSG or OP_COMPRESSED."""
    del by_client
    length, kind = int.from_bytes(data[:4], "little"), int.from_bytes(data[12:16], "little")
    if kind not in (2012, 2013) or not 16 < length <= 48_000_000:
        return None
    return Unit("message", 16, length - 16, magic=True)


AMQP_START = b"AMQP\0\0\x09\x01"
AMQP_KINDS = {1: "method", 2: "content header", 3: "content body", 8: "heartbeat"}
AMQP_CLASSES = (10, 20, 30, 40, 50, 60, 85, 90)
"""Connection, channel, access, exchange, queue, basic, confirm and tx."""
AMQP_LONGEST = 2**20


def amqp(data: bytes, by_client: bool) -> Unit | None:
    """AMQP 0-9-1, sections 4.2.2 and 4.2.3: a frame ends with one more byte than its length."""
    if by_client and data.startswith(AMQP_START):
        return Unit("protocol header", len(AMQP_START), 0, magic=True)
    if len(data) < 7 or (kind := AMQP_KINDS.get(data[0])) is None:
        return None
    length, begins = int.from_bytes(data[3:7]), int.from_bytes(data[7:9])
    fits = {
        "method": length >= 4 and begins in AMQP_CLASSES,
        "content header": length >= 14 and begins == 60,
        "content body": length > 0,
        "heartbeat": length == 0,
    }
    return Unit(f"{kind} frame", 7, length + 1) if fits[kind] and length <= AMQP_LONGEST else None


def dns(data: bytes, by_client: bool) -> Unit | None:
    """RFC 1035, section 4.2.2."""
    kind = "query" if by_client else "response"
    return Unit(kind, 2, int.from_bytes(data[:2])) if len(data) >= 2 else None


BGP_MARKER = b"\xff" * 16
BGP_KINDS = {1: "OPEN", 2: "UPDATE", 3: "NOTIFICATION", 4: "KEEPALIVE", 5: "ROUTE-REFRESH"}


def bgp(data: bytes, by_client: bool) -> Unit | None:
    """RFC 4271, section 4.1."""
    del by_client
    if len(data) < 19 or not data.startswith(BGP_MARKER) or data[18] not in BGP_KINDS:
        return None
    return Unit(f"{BGP_KINDS[data[18]]} message", 19, int.from_bytes(data[16:18]) - 19, magic=True)


MODBUS_LONGEST = 254


def modbus(data: bytes, by_client: bool) -> Unit | None:
    """Modbus Messaging on TCP/IP V1.0b, section 3.1.3: a number, the protocol 0 and a length."""
    length = int.from_bytes(data[4:6])
    if len(data) < 8 or data[2:4] != b"\0\0" or not 2 <= length <= MODBUS_LONGEST:
        return None
    return Unit("request" if by_client else "response", 6, length)


ADS_LONGEST = 2**20


def ads(data: bytes, by_client: bool) -> Unit | None:
    """Beckhoff InfoSys, 'AMS/TCP Header': two reserved bytes and a length, least first."""
    length = int.from_bytes(data[2:6], "little")
    if len(data) < 6 or data[:2] != b"\0\0" or not 32 <= length <= ADS_LONGEST:
        return None
    return Unit("request" if by_client else "response", 6, length)
