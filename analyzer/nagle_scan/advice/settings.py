"""Which settings of known programs a capture points to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nagle_scan.advice.setting import Setting

MAX_SETTINGS = 3


class Hints(NamedTuple):
    """Settings, the likeliest first, and what in the capture points to them."""

    known_by: str = ""
    settings: tuple[Setting, ...] = ()


NONE = Hints()


def service_of(server_port: int, messages: Sequence[bytes]) -> tuple[str, str]:
    """The protocol's name and how that is known; empty where it is not."""
    # Most calls of the command need no advice.
    from nagle_scan.advice.programs import SERVICES

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


def likely(role: str, server_port: int, messages: Sequence[bytes]) -> Hints:
    """What may set TCP_NODELAY at the end of this `role`, the likeliest first.

    `messages` are first bytes of what it sent, where captured. What it says of itself comes before
    what its port suggests; where neither tells a program, none is named.
    """
    from nagle_scan.advice.programs import SETTINGS  # As above.

    of_role = [setting for setting in SETTINGS if setting.role in ("", role)]
    named = tuple(setting for setting in of_role if _is_named(setting, messages))
    if named:
        return Hints("Its messages look like those of", named[:MAX_SETTINGS])
    name, known_by = service_of(server_port, messages)
    suggested = tuple(setting for setting in of_role if name and setting.service == name)
    return Hints(f"{known_by} If this is", suggested[:MAX_SETTINGS]) if suggested else NONE


def _is_named(setting: Setting, messages: Iterable[bytes]) -> bool:
    heads = [message.split(b"\r\n\r\n", 1)[0].decode("latin-1") + "\r\n" for message in messages]
    return any(
        _value(head, "Server").startswith(setting.server)
        or _value(head, "User-Agent").startswith(setting.agent)
        or (setting.head and re.search(setting.head, head))
        for head in heads
        if re.match(r"HTTP/1\.[01] |[A-Z]{3,16} \S{1,900} HTTP/1\.[01]\r\n", head)
    )


def _value(head: str, header: str) -> str:
    """The value of a header; a line break, with which nothing begins, where it is absent."""
    found = re.search(rf"\r\n{header}: *([^\r\n]*)", head, re.IGNORECASE)
    return found[1] if found else "\n"


def is_http(message: bytes) -> bool:
    """Does an HTTP/1 request or reply begin here?"""
    return message.startswith(b"HTTP/1.") or b" HTTP/1." in message.split(b"\r\n", 1)[0]
