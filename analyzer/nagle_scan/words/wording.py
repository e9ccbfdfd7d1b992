"""Numbers and names in plain text, shared by all reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "max")
"""Heads of a server's latency columns."""
ENOUGH = (1, 4, 10, 20, 100, 1)
"""With fewer latencies, each of these percentiles is the largest latency anyway."""

ROUND_TRIP_COUNTS = 1.1
"""Above this ratio of wait to ACK delay, the network's share is worth mentioning."""


def file_name(path: str) -> str:
    """The name alone: folders reveal more about a machine than a ticket needs."""
    return os.path.basename(path)


def file_names(paths: Iterable[str]) -> str:
    """Their names alone, printable."""
    return printable(", ".join(map(file_name, paths)))


def printable(text: str) -> str:
    """`text` with control characters escaped, so that it cannot control a terminal."""
    return "".join(
        character if character.isprintable() else _escaped(character) for character in text
    )


def _escaped(character: str) -> str:
    """A byte of a name that is not UTF-8, which Python passes as a surrogate, is a byte again."""
    return character.encode("unicode_escape").decode().replace(r"\udc", r"\x")


def shortened(text: str, most: int) -> str:
    """At most `most` characters of `text`, cut between words."""
    return text if len(text) <= most else f"{text[: most - 3].rpartition(' ')[0]} ..."


def endpoint(addr: str, port: int) -> str:
    """Address and port, IPv6 in brackets."""
    return f"[{addr}]:{port}" if ":" in addr else f"{addr}:{port}"


def peer(side: str) -> str:
    """The opposite side of `client` or `server`."""
    return "server" if side == "client" else "client"


def times(count: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def count(count: int, noun: str) -> str:
    """A number and its noun."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def duration(milliseconds: float) -> str:
    """Milliseconds with a unit that fits."""
    for unit, unit_ms in (("h", 3_600_000), ("min", 60_000)):
        if milliseconds >= 10 * unit_ms:
            return f"{milliseconds / unit_ms:,.0f} {unit}"
    if milliseconds >= 9950:
        return f"{milliseconds / 1000:,.0f} s"
    if milliseconds >= 999.95:
        return f"{milliseconds / 1000:.1f} s"
    if 0 < milliseconds < 0.9995:
        return f"{milliseconds * 1000:.{milliseconds < 0.01:d}f} us"
    return f"{milliseconds:.1f} ms"


def range_ms(least_ms: float, most_ms: float) -> str:
    """Two durations as a range: '41-44 ms', or '44 ms' where they are the same."""
    least, most = f"{least_ms:.0f}", f"{most_ms:.0f}"
    return f"{least} ms" if least == most else f"{least}-{most} ms"


def percent(share: float) -> str:
    """A share of 0 to 1; the ends are reserved for none and all."""
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def maybe_duration(milliseconds: float | None) -> str:
    """A duration, or a dash where unknown."""
    return "-" if milliseconds is None else duration(milliseconds)


def percentiles(latency_ms: Iterable[float], exchanges: int) -> Iterator[str]:
    """The cells of a server's latency columns; a dash where `exchanges` are too few for one."""
    for milliseconds, enough in zip(latency_ms, ENOUGH, strict=True):
        yield duration(milliseconds) if exchanges >= enough else "-"


def round_trip_counts(wait_ms: float, ack_delay_ms: float) -> bool:
    """Is the round trip a noticeable part of the wait?"""
    return ack_delay_ms * ROUND_TRIP_COUNTS < wait_ms


def sentence_start(text: str) -> str:
    """`text` with its first letter in upper case."""
    return text[:1].upper() + text[1:]
