"""Which settings of known programs a capture points to."""

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from nagle_scan.advice.setting import Setting
from nagle_scan.messages.services import Sample, http_heads, service_of

MAX_SETTINGS = 3
"""Settings that advice names for a side."""
SNAP_LENGTH = 256
"""Bytes of a frame that suffice to recognise its message and, mostly, its program."""


class Hints(NamedTuple):
    """Settings, the likeliest first, and what in the capture points to them."""

    known_by: str = ""
    settings: tuple[Setting, ...] = ()


def likely(sample: Sample) -> Hints:
    """Settings that may turn on TCP_NODELAY at the sender's end, the likeliest first.

    Names in its messages come before hints of its protocol or port. Where neither points to a
    program, none is named; a note says if the capture kept too little of the messages.
    """
    heads, service = http_heads(sample.sent), service_of(sample)
    role = "client" if sample.by_client else "server"
    of_role = _of_role(role) if heads or service.name else ()
    headers = {(_value(head, "Server"), _value(head, "User-Agent")) for head in heads}
    named = tuple(setting for setting in of_role if _is_named(setting, heads, headers))
    if named:
        return Hints("Its messages look like those of", named[:MAX_SETTINGS])
    # The part of an HTTP head that was cut may name the program.
    cut = "" if service.is_sure and service.name != "HTTP" else _cut(sample.cut_at)
    suggested = tuple(s for s in of_role if service.name and s.service == service.name)
    if not suggested:
        return Hints(cut)
    return Hints(f"{cut} {service.known_by} If this is".lstrip(), suggested[:MAX_SETTINGS])


@cache
def _of_role(role: str) -> tuple[Setting, ...]:
    # Most calls of the command need none of them.
    from nagle_scan.advice.programs import SETTINGS

    return tuple(setting for setting in SETTINGS if setting.role in ("", role))


def _cut(cut_at: int) -> str:
    if not cut_at:
        return ""
    return (
        f"Frames were cut at {cut_at} bytes: capture with 'tcpdump -s {SNAP_LENGTH}' to name the "
        "message and its program."
    )


def _is_named(setting: Setting, heads: Sequence[str], headers: Collection[tuple[str, str]]) -> bool:
    # Most settings have neither: for all captures of a fleet, any() would take most of the advice.
    if setting.server or setting.agent:
        for server, agent in headers:
            if server.startswith(setting.server) or agent.startswith(setting.agent):
                return True
    return bool(setting.head) and any(re.search(setting.head, head) for head in heads)


def _value(head: str, header: str) -> str:
    """The value of a header; a line break, with which nothing begins, where it is absent."""
    found = re.search(rf"\r\n{header}: *([^\r\n]*)", head, re.IGNORECASE)
    return found[1] if found else "\n"
