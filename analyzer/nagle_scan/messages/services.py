"""The protocol of a server: from the first bytes of its messages, else from its port."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Service(NamedTuple):
    """A protocol, its usual ports and who says so, and a pattern for its first bytes."""

    name: str
    ports: tuple[int, ...]
    registry: str
    head: str = ""


SERVICES = (
    Service("HTTP", (80, 8080), "IANA"),
    Service("SQL Server", (1433,), "IANA"),
    Service("MQTT", (1883,), "IANA"),
    Service("MySQL", (3306,), "IANA"),
    Service("PostgreSQL", (5432,), "IANA"),
    Service("AMQP", (5672,), "IANA", r"^AMQP\x00"),
    Service("Redis", (6379,), "IANA", r"^\*\d+\r\n\$\d+\r\n"),
    Service("Kafka", (9092,), "Kafka's default"),
    Service("memcached", (11211,), "IANA"),
    Service("DNP3", (20000,), "IANA"),
)
"""The protocols that settings name."""

HTTP_START = r"HTTP/1\.[01] |[A-Z]{3,16} \S{1,900} HTTP/1\.[01]\r\n"


def service_of(server_port: int, messages: Sequence[bytes]) -> tuple[str, str]:
    """The protocol's name and how that is known; empty where it is not."""
    texts = [message.decode("latin-1") for message in messages]
    for service in SERVICES:
        if service.head and any(re.search(service.head, text) for text in texts):
            return service.name, f"It speaks {service.name}."
    if any(map(is_http, messages)):
        return "HTTP", "It speaks HTTP."
    for service in SERVICES:
        if server_port in service.ports:
            return service.name, f"Port {server_port} is {service.name} ({service.registry})."
    return "", ""


def is_http(message: bytes) -> bool:
    """Does an HTTP/1 request or reply begin here? Its first line may be cut."""
    return message.startswith(b"HTTP/1.") or b" HTTP/1." in message.split(b"\r\n", 1)[0]


def ends_http_head(message: bytes) -> bool:
    """Does an HTTP head that begins here end with the segment?"""
    return is_http(message) and message.endswith(b"\r\n\r\n")


def http_heads(messages: Sequence[bytes]) -> list[str]:
    """The heads of those messages that begin with a whole first line of HTTP/1."""
    heads = [message.split(b"\r\n\r\n", 1)[0].decode("latin-1") + "\r\n" for message in messages]
    return [head for head in heads if re.match(HTTP_START, head)]
