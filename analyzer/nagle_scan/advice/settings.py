"""Which settings of known programs a capture points to."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan.advice.setting import Setting
from nagle_scan.messages.services import http_heads, service_of

MAX_SETTINGS = 3


class Hints(NamedTuple):
    """Settings, the likeliest first, and what in the capture points to them."""

    known_by: str = ""
    settings: tuple[Setting, ...] = ()


NONE = Hints()


def likely(role: str, server_port: int, messages: Sequence[bytes]) -> Hints:
    """What may set TCP_NODELAY at the end of this `role`, the likeliest first.

    `messages` are first bytes of what it sent, where captured. What it says of itself comes before
    what its port suggests; where neither tells a program, none is named.
    """
    # Most calls of the command need no advice.
    from nagle_scan.advice.programs import SETTINGS

    of_role = [setting for setting in SETTINGS if setting.role in ("", role)]
    heads = http_heads(messages)
    named = tuple(setting for setting in of_role if _is_named(setting, heads))
    if named:
        return Hints("Its messages look like those of", named[:MAX_SETTINGS])
    name, known_by = service_of(server_port, messages)
    suggested = tuple(setting for setting in of_role if name and setting.service == name)
    return Hints(f"{known_by} If this is", suggested[:MAX_SETTINGS]) if suggested else NONE


def _is_named(setting: Setting, heads: Sequence[str]) -> bool:
    return any(
        _value(head, "Server").startswith(setting.server)
        or _value(head, "User-Agent").startswith(setting.agent)
        or (setting.head and re.search(setting.head, head))
        for head in heads
    )


def _value(head: str, header: str) -> str:
    """The value of a header; a line break, with which nothing begins, where it is absent."""
    found = re.search(rf"\r\n{header}: *([^\r\n]*)", head, re.IGNORECASE)
    return found[1] if found else "\n"
