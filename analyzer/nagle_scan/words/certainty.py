"""How many stalls, and how sure.

Stalls that are certain or likely count, everywhere; possible ones are listed apart, and count only
where no stall is surer.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nagle_scan import _core
from nagle_scan.words.wording import count, duration

UNBROKEN = "\xa0"
CONFIDENCES = ("certain", "likely", "possible")
"""The surest first; the engine counts in the reverse order."""
HELD = {"certain": "held", "likely": "probably held", "possible": "may have held"}
"""Verbs for a sender that held a segment, by confidence."""
IS_HELD = {"certain": "is held", "likely": "is probably held", "possible": "may be held"}
WAS_HELD = {"certain": "held", "likely": "probably held", "possible": "perhaps held"}
"""Verbs for the segment that was held."""
MAX_STALLS_PER_EXCHANGE = 4
"""With more, the messages are a stream, not answered one by one."""
VERDICTS = ("stalls", "possible", "clean", "inconclusive")


class Counted(Protocol):
    """Stalls of a scan, a connection or a group, by confidence, `possible` first."""

    @property
    def stalls_by_confidence(self) -> Sequence[int]:
        """How many."""

    @property
    def stalled_ms_by_confidence(self) -> Sequence[float]:
        """How long in all."""


class Share(NamedTuple):
    """Stalls of one confidence."""

    word: str
    stalls: int
    lost_ms: float


class Total(NamedTuple):
    """The sum of several."""

    stalls_by_confidence: tuple[int, ...]
    stalled_ms_by_confidence: tuple[float, ...]


def total(counted: Sequence[Counted]) -> Total:
    """The sum of at least one."""
    stalls = zip(*(each.stalls_by_confidence for each in counted), strict=True)
    stalled_ms = zip(*(each.stalled_ms_by_confidence for each in counted), strict=True)
    return Total(tuple(map(sum, stalls)), tuple(map(sum, stalled_ms)))


def shares(counted: Counted) -> list[Share]:
    """The non-empty shares, the surest first."""
    sums = zip(counted.stalls_by_confidence, counted.stalled_ms_by_confidence, strict=True)
    rows = [Share(word, *row) for word, row in zip(CONFIDENCES[::-1], sums, strict=True)]
    return [share for share in rows[::-1] if share.stalls]


def counted_shares(counted: Counted) -> list[Share]:
    """Shares of the stalls that count, without empty ones, the surest first."""
    every = shares(counted)
    return [share for share in every if share.word != "possible"] or every


def possible(counted: Counted) -> Share | None:
    """The possible stalls, where others are surer and these do not count."""
    every = shares(counted)
    return every[-1] if len(every) > 1 and every[-1].word == "possible" else None


def doubt(counted: Counted) -> int:
    """0 if some are certain, 1 if some are likely, 2 if all are merely possible."""
    return CONFIDENCES.index(shares(counted)[0].word)


def is_only_possible(counted: Counted) -> bool:
    """Are there stalls, all of them merely possible?"""
    return [share.word for share in shares(counted)] == ["possible"]


def loses_time(counted: Counted) -> bool:
    """Are there stalls that are more than possible?"""
    return any(share.word != "possible" for share in shares(counted))


def counted_stalls(counted: Counted) -> int:
    """How many stalls count."""
    return sum(share.stalls for share in counted_shares(counted))


def counted_ms(counted: Counted) -> float:
    """The time lost to the stalls that count."""
    return sum(share.lost_ms for share in counted_shares(counted))


def is_stream(exchanges: int, stalls: int) -> bool:
    """Does the sender push message after message, not parts of one that gets a reply?"""
    return exchanges * MAX_STALLS_PER_EXCHANGE < stalls


def in_words(counted: Counted) -> str:
    """All stalls: '31 stalls (28 certain, 3 likely), 1.2 s lost; 2 more possible (80.0 ms)'."""
    return f"{counting(counted)}{and_possible(counted)}"


def counting(counted: Counted) -> str:
    """The stalls that count, and their time: '31 stalls (28 certain, 3 likely), 1.2 s lost'."""
    return f"{numbered(counted)}, {duration(counted_ms(counted))} lost"


def numbered(counted: Counted) -> str:
    """The stalls that count: '31 stalls (28 certain, 3 likely)'."""
    every = counted_shares(counted)
    if len(every) == 1:
        return count(every[0].stalls, f"{every[0].word} stall")
    return f"{count(counted_stalls(counted), 'stall')} ({_numbers(every)})"


def and_possible(counted: Counted) -> str:
    """The possible ones beside them: '; 2 more possible (80.0 ms)'; empty without any."""
    more = possible(counted)
    return f"; {more.stalls:,} more possible ({duration(more.lost_ms)})" if more else ""


def on_connections(summary: _core.Summary) -> str:
    """The stalls in the words of `in_words`, and on how many connections they are."""
    affected, connections = summary.affected_connections, summary.connections
    of = f"{affected:,} of {connections:,} connections"
    on = all_of(connections) if affected == connections else of
    return f"{counting(summary)}, on {on}{and_possible(summary)}"


def all_of(connections: int) -> str:
    """All connections of a capture."""
    few = {1: "the only connection", 2: "both connections"}
    return few.get(connections, f"all {connections:,} connections")


def clean_of(summary: _core.Summary) -> str:
    """The connections that a clean capture is clean of, and why the others are not."""
    which = count(summary.connections, "connection")
    others = summary.connections - summary.clean - summary.not_judged
    cannot = f"{summary.not_judged:,} cannot be judged" if summary.not_judged else ""
    carry = f"{others:,} {'carries' if others == 1 else 'carry'} no data" if others else ""
    why = ", ".join(filter(None, (cannot, carry)))
    return f"{summary.clean:,} of {which} ({why})" if why else which


def sure(counted: Counted, elsewhere: str = "") -> str:
    """How sure the stalls are, in brackets: ' (28 certain, 3 likely; 2 more possible)'.

    `elsewhere`: where the possible ones are, if the sentence does not name all who held them.
    """
    every, more = counted_shares(counted), possible(counted)
    words = every[0].word if len(every) == 1 else _numbers(every)
    return f" ({words}{f'; {more.stalls:,} more possible{elsewhere}' if more else ''})"


def _numbers(every: Sequence[Share]) -> str:
    return ", ".join(f"{share.stalls:,} {share.word}" for share in every)


def counts(counted: Counted) -> str:
    """Stalls for a cell: '28 certain, 3 likely'."""
    return _numbers(shares(counted))


def lost(counted: Counted) -> str:
    """Time of the next cell: '1.1 s certain, 121.0 ms likely', or '1.1 s' where all are alike."""
    every = shares(counted)
    if len(every) == 1:
        return duration(every[0].lost_ms)
    return ", ".join(f"{duration(share.lost_ms)} {share.word}" for share in every)


def cell(counted: Counted) -> str:
    """Both in one cell: '28 certain 1.1 s, 3 likely 121.0 ms'."""
    parts = (f"{one.stalls:,} {one.word} {duration(one.lost_ms)}" for one in shares(counted))
    return ", ".join(one.replace(" ", UNBROKEN) for one in parts)
