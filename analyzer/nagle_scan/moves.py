"""Servers that moved between two captures: `--baseline-map`, and what is inferred."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from nagle_scan.errors import CaptureError
from nagle_scan.result import Endpoint, Pairs, Result
from nagle_scan.words.wording import endpoint, printable

PORT = re.compile("[0-9]{1,5}")
MAX_PORT = 65_535


def moved(servers: Mapping[str, str] | None) -> Pairs:
    """Pairs for `compare`, from old and new servers as text: `{"10.0.0.5:8901": "10.0.0.7:8902"}`.

    Raises `TypeError` for what is not a mapping, `ValueError` for what is not a server and for one
    that is there twice.
    """
    if servers is None:
        return ()
    if not isinstance(servers, Mapping):
        kind = type(servers).__name__
        raise TypeError(f"baseline_map is a mapping of 'address:port' to the new one, not {kind}")
    return checked((_parsed(old), _parsed(new)) for old, new in servers.items())


def checked(pairs: Iterable[tuple[Endpoint, Endpoint]]) -> Pairs:
    """The pairs, unchanged. Raises `ValueError` for a server that is in two of them."""
    known = tuple(pairs)
    for places in zip(*known, strict=True):
        twice = next((place for place in places if places.count(place) > 1), None)
        if twice:
            raise ValueError(f"{endpoint(*twice)} is there twice")
    return known


def _parsed(text: str) -> Endpoint:
    addr, _, port = text.rpartition(":")
    try:
        known = ipaddress.ip_address(addr.removeprefix("[").removesuffix("]"))
    except ValueError:
        known = None
    if known is None or not PORT.fullmatch(port) or int(port) > MAX_PORT:
        raise ValueError(
            f"{printable(text)!r} is not a server: expected an IP address and a port, such as "
            "10.0.0.5:8901"
        )
    return str(known), int(port)


def only_pairs(
    old: Collection[Endpoint], new: Collection[Endpoint], key: Callable[[Endpoint], Hashable]
) -> dict[Endpoint, Endpoint]:
    """Endpoints only in `new`, and those only in `old`, where one of each has the same `key`."""
    left, right = set(old) - set(new), set(new) - set(old)

    def only(places: set[Endpoint], value: Hashable) -> Endpoint | None:
        found = [place for place in places if key(place) == value]
        return found[0] if len(found) == 1 else None

    pairs = ((only(right, value), only(left, value)) for value in set(map(key, right)))
    return {place: was for place, was in pairs if place and was}


def check(known: Pairs, before: Result, after: Result) -> None:
    """Raises `CaptureError` for a server that is not in its capture."""
    for result, side, where in ((before, 0, "the baseline"), (after, 1, "the new capture")):
        places = {pair[side] for pair in known}
        for place in sorted(places - servers(result).keys() if places else ()):
            raise CaptureError(f"baseline-map: {endpoint(*place)} is not a server in {where}")


def servers(result: Result) -> dict[Endpoint, bool]:
    """All servers with data, and whether any connection of each is conclusive."""
    table = result.core.columns("connections")
    names = ("server_addr", "server_port", "conclusive")
    judged: dict[Endpoint, bool] = {}
    for addr, port, conclusive in zip(*(table[name] for name in names), strict=True):
        place = (addr, int(port))
        judged[place] = judged.get(place, False) or bool(conclusive)
    return judged
