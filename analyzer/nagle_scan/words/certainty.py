"""How many stalls, and how sure: what is certain comes first, and nothing is added to it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nagle_scan.words.wording import count, duration

CONFIDENCES = ("certain", "likely", "possible")
VERDICTS = ("stalls", "possible", "clean", "inconclusive")


class Counted(Protocol):
    """What knows its stalls: a scan, a connection, a group; by confidence, `possible` first."""

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
    """What several add up to."""

    stalls_by_confidence: tuple[int, ...]
    stalled_ms_by_confidence: tuple[float, ...]


def total(counted: Sequence[Counted]) -> Total:
    """The sum of them, of which there is one at least."""
    stalls = zip(*(each.stalls_by_confidence for each in counted), strict=True)
    stalled_ms = zip(*(each.stalled_ms_by_confidence for each in counted), strict=True)
    return Total(tuple(map(sum, stalls)), tuple(map(sum, stalled_ms)))


def shares(counted: Counted) -> list[Share]:
    """Those that there are, the surest first."""
    words = ("possible", "likely", "certain")
    rows = zip(words, counted.stalls_by_confidence, counted.stalled_ms_by_confidence, strict=True)
    return [Share(*row) for row in rows if row[1]][::-1]


def is_only_possible(counted: Counted) -> bool:
    """Are there stalls, and is none more than possible?"""
    return [share.word for share in shares(counted)] == ["possible"]


def told(counted: Counted) -> str:
    """All in one phrase: '28 stalls are certain (1.1 s lost), 3 likely (121.0 ms)'."""
    first, *rest = shares(counted)
    are = "is" if first.stalls == 1 else "are"
    begin = f"{count(first.stalls, 'stall')} {are} {first.word} ({duration(first.lost_ms)} lost)"
    parts = [f"{share.stalls:,} {share.word} ({duration(share.lost_ms)})" for share in rest]
    return ", ".join([begin, *parts])


def more(counted: Counted) -> str:
    """Those that are less sure than the surest: ' (plus 3 likely ones, 121.0 ms)', or nothing."""
    parts = [
        f"{share.stalls:,} {share.word} {'one' if share.stalls == 1 else 'ones'}, "
        f"{duration(share.lost_ms)}"
        for share in shares(counted)[1:]
    ]
    return f" (plus {'; '.join(parts)})" if parts else ""


def counts(counted: Counted) -> str:
    """For a cell: '28 certain, 3 likely'."""
    return ", ".join(f"{share.stalls:,} {share.word}" for share in shares(counted))


def lost(counted: Counted) -> str:
    """For the cell beside it, in the same order: '1.1 s, 121.0 ms'."""
    return ", ".join(duration(share.lost_ms) for share in shares(counted))
