"""How many stalls, and how sure: the certain ones first, counted alone."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nagle_scan.words.wording import count, duration

UNBROKEN = "\N{NO-BREAK SPACE}"
CONFIDENCES = ("certain", "likely", "possible")
HELD = {"certain": "held", "likely": "probably held", "possible": "may have held"}
"""What a sender did, by confidence."""
IS_HELD = {"certain": "is held", "likely": "is probably held", "possible": "may be held"}
WAS_HELD = {"certain": "held", "likely": "probably held", "possible": "perhaps held"}
"""What happened to its segment."""
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
    words = ("possible", "likely", "certain")
    rows = zip(words, counted.stalls_by_confidence, counted.stalled_ms_by_confidence, strict=True)
    return [Share(*row) for row in rows if row[1]][::-1]


def doubt(counted: Counted) -> int:
    """0 if some are certain, 1 if some are likely, 2 if all are merely possible."""
    return CONFIDENCES.index(shares(counted)[0].word)


def is_only_possible(counted: Counted) -> bool:
    """Are there stalls, all of them merely possible?"""
    return [share.word for share in shares(counted)] == ["possible"]


def counted_ms(counted: Counted) -> float:
    """The time lost to stalls that are likely or better; to possible ones where all are."""
    every = counted.stalled_ms_by_confidence
    return every[0] if is_only_possible(counted) else sum(every[1:])


def is_stream(exchanges: int, stalls: int) -> bool:
    """Does the sender push message after message, not parts of one that gets a reply?"""
    return exchanges * MAX_STALLS_PER_EXCHANGE < stalls


def told(counted: Counted) -> str:
    """All in one phrase: '28 certain stalls, 1.1 s lost, plus 3 likely (121.0 ms)'."""
    first, *rest = shares(counted)
    stalls = count(first.stalls, f"{first.word} stall")
    less_sure = ", ".join(
        f"{share.stalls:,} {share.word} ({duration(share.lost_ms)})" for share in rest
    )
    return f"{stalls}, {duration(first.lost_ms)} lost{', plus ' * bool(rest)}{less_sure}"


def sure(counted: Counted) -> str:
    """How sure the stalls are, in brackets: ' (certain, plus 3 likely: 121.0 ms)'."""
    first, *rest = shares(counted)
    less_sure = (f", plus {one.stalls:,} {one.word}: {duration(one.lost_ms)}" for one in rest)
    return f" ({first.word}{''.join(less_sure)})"


def counts(counted: Counted) -> str:
    """For a cell: '28 certain, 3 likely'."""
    return ", ".join(f"{share.stalls:,} {share.word}" for share in shares(counted))


def lost(counted: Counted) -> str:
    """For the cell beside it: '1.1 s certain, 121.0 ms likely', or '1.1 s' where all are alike."""
    every = shares(counted)
    if len(every) == 1:
        return duration(every[0].lost_ms)
    return ", ".join(f"{duration(share.lost_ms)} {share.word}" for share in every)


def cell(counted: Counted) -> str:
    """Both in one cell: '28 certain 1.1 s, 3 likely 121.0 ms'."""
    told = (f"{one.stalls:,} {one.word} {duration(one.lost_ms)}" for one in shares(counted))
    return ", ".join(one.replace(" ", UNBROKEN) for one in told)
