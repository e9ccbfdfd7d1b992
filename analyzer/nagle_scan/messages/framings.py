"""Binary protocols, recognised by their headers: where a message ends, and what comes next.

On any port: lengths have to add up to the segments' ends. A fit that may be chance is only said to
look like the protocol, and one message of few bytes is not even that.
"""

from collections.abc import Callable
from typing import NamedTuple

from nagle_scan.messages import units
from nagle_scan.messages.payloads import PayloadPair
from nagle_scan.messages.protocols import ports_of
from nagle_scan.messages.units import HEADER_BYTES, Unit


class Split(NamedTuple):
    """Where a message was split, with `{a}` and `{b}` for the two segments."""

    protocol: str
    says: str
    is_sure: bool = True
    is_split: bool | None = True
    """Do both segments carry parts of one message? `None` if that does not show."""

    def sentence(self, a: str, b: str) -> str:
        """The split in a sentence, with names for the two segments."""
        says = self.says.format(a=a, b=b)
        return f"{self.protocol} {says}" if self.is_sure else f"Looks like {self.protocol}: {says}"


class Framing(NamedTuple):
    """A protocol with messages that begin with a header, which contains their length.

    A message that ends where the next or nothing begins is a fit, and so is a header that ends with
    its segment.
    """

    protocol: str
    unit: Callable[[bytes, bool], Unit | None]
    """From the bytes at a message's beginning, and whether the client sent them."""
    ports: frozenset[int] = frozenset()
    """Usual server ports, where one fit is enough."""
    anywhere: bool = True
    """On other ports, too: one fit looks like it, two are proof?"""
    parts: bool | None = False
    """Do messages that follow one another belong together? `None` if that does not show."""


class Walk(NamedTuple):
    """Consecutive messages: the first, the last, how many, and how many bytes of the last miss."""

    first: Unit
    last: Unit
    messages: int
    missing: int
    has_magic: bool


def recognise(pair: PayloadPair) -> Split | None:
    """Where a message was split; what is sure comes before what looks like it."""
    splits = [split for framing in FRAMINGS if (split := _split(framing, pair))]
    return next((split for split in splits if split.is_sure), splits[0] if splits else None)


def _split(framing: Framing, pair: PayloadPair) -> Split | None:
    first = _walk(framing, pair.unacked, pair.unacked_cut, pair.by_client)
    if first is None:
        return _begun(framing, pair)
    held_len = len(pair.held) + pair.held_cut
    if first.missing > held_len:
        # Only the header of a message longer than both segments shows.
        says = f"{first.last.kind} begins in {{a}} and goes on beyond {{b}}"
        return Split(framing.protocol, says) if first.has_magic else None
    rest, cut = pair.held[first.missing :], held_len - max(first.missing, len(pair.held))
    then = _walk(framing, rest, cut, pair.by_client) if rest or cut else None
    if (rest or cut) and (then is None or then.missing):
        return None
    header_ends = first.missing == first.last.body_len
    fits = first.messages + (then.messages if then else 0) + header_ends
    magic = first.has_magic or (then is not None and then.has_magic)
    if not first.missing and then is None:
        return None
    split = _weighed(framing, pair, fits, _in_words(first, then), magic)
    return split and split._replace(is_split=first.missing > 0 or framing.parts)


def _begun(framing: Framing, pair: PayloadPair) -> Split | None:
    """The first segment ends a message that began before it: too little for a mere likeness."""
    then = _walk(framing, pair.held, pair.held_cut, pair.by_client)
    if then is None or then.missing:
        return None
    says = f"{then.first.kind} begins with {{b}}"
    split = _weighed(framing, pair, then.messages, says, then.has_magic)
    return split._replace(is_split=framing.parts) if split and split.is_sure else None


def _weighed(
    framing: Framing, pair: PayloadPair, fits: int, says: str, magic: bool
) -> Split | None:
    is_here = pair.server_port in framing.ports
    if not (magic or is_here or (framing.anywhere and fits)):
        return None
    return Split(framing.protocol, says, magic or is_here or fits > 1)


def _in_words(walk: Walk, then: Walk | None) -> str:
    last = walk.last
    if walk.missing == 0 and then is not None:
        following = "the next" if then.first.kind == last.kind else then.first.kind
        return f"{last.kind} ends with {{a}}, {following} in {{b}}"
    if walk.missing == last.body_len:
        return f"header of {last.kind} ends with {{a}}, its body in {{b}}"
    return f"{last.kind} begins in {{a}} and ends in {{b}}"


def _walk(framing: Framing, data: bytes, cut: int, by_client: bool) -> Walk | None:
    """`None` if `data` does not start with messages, or a header is not there as a whole."""
    at, messages, end = 0, 0, len(data) + cut
    first, last, has_magic = None, None, False
    while at < end:
        unit = framing.unit(data[at : at + HEADER_BYTES], by_client) if at < len(data) else None
        if unit is None or at + unit.header_len > len(data):
            return None
        first, last, has_magic = first or unit, unit, has_magic or unit.magic
        at += unit.header_len + unit.body_len
        messages += 1
    if first is None or last is None:
        return None
    return Walk(first, last, messages, at - end, has_magic)


FRAMINGS = (
    Framing("TLS", units.tls, parts=None),
    Framing("BGP", units.bgp),
    Framing("PostgreSQL", units.postgres, ports_of("PostgreSQL"), parts=True),
    Framing("HTTP/2", units.http2, parts=True),
    Framing("MySQL", units.mysql, ports_of("MySQL") | {33060}, anywhere=False, parts=True),
    Framing("Modbus", units.modbus, frozenset({502}), anywhere=False),
    Framing("ADS", units.ads, frozenset({48898}), anywhere=False),
)
"""The strongest proof first. Ports name all other binary protocols."""
