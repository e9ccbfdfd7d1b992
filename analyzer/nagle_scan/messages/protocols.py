"""The protocols that settings name: their usual ports, and how a message of some begins."""

from collections.abc import Callable
from typing import NamedTuple


class Service(NamedTuple):
    """A protocol, its usual ports, who assigned them, and how a message of it begins."""

    name: str
    ports: tuple[int, ...] = ()
    registry: str = ""
    begins: Callable[[bytes], bool] | None = None


def _is_redis(message: bytes) -> bool:
    """Does an array of strings or a string begin here: `*2` or not, then `$4`?"""
    lines = message.split(b"\r\n", 2)
    if lines[0][:1] == b"*" and lines[0][1:].isdigit():
        del lines[0]
    return len(lines) > 1 and lines[0][:1] == b"$" and lines[0][1:].isdigit()


def _is_upgrade(message: bytes) -> bool:
    """Does the server agree to speak WebSocket?"""
    is_agreed = message.startswith(b"HTTP/1.1 101 ")
    return is_agreed and b"\r\nupgrade: websocket\r\n" in message.lower()


SERVICES = (
    Service("HTTP", (80, 8080), "IANA"),
    Service("SQL Server", (1433,), "IANA"),
    Service("MQTT", (1883,), "IANA"),
    Service("MySQL", (3306,), "IANA"),
    Service("PostgreSQL", (5432,), "IANA"),
    Service("AMQP", (5672,), "IANA", lambda message: message.startswith(b"AMQP\0")),
    Service("Redis", (6379,), "IANA", _is_redis),
    Service("Kafka", (9092,), "Kafka's default"),
    Service("memcached", (11211,), "IANA"),
    Service("DICOM", (104, 11112), "IANA"),
    Service("DNP3", (20000,), "IANA"),
    Service("MongoDB", (27017,), "MongoDB's default"),
    Service("Cassandra", (9042,), "Cassandra's default"),
    Service("Oracle", (1521,), "Oracle's default"),
    Service("SSH", (22,), "IANA", lambda message: message.startswith(b"SSH-2.0-")),
    Service("SMB", (445,), "IANA"),
    Service("WebSocket", begins=_is_upgrade),
    Service("HTTP/2"),
    Service("TLS"),
)
"""Protocols that settings name, and TLS, which hides others."""


def ports_of(name: str) -> frozenset[int]:
    """The usual ports of the service of this name."""
    return next(frozenset(service.ports) for service in SERVICES if service.name == name)
