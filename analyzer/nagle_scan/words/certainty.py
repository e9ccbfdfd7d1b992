"""How many stalls, and how sure: the certain ones first, counted alone."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nagle_scan.words.wording import count, duration

CONFIDENCES = ("certain", "likely", "possible")
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


def is_only_possible(counted: Counted) -> bool:
    """Are there stalls, all of them merely possible?"""
    return [share.word for share in shares(counted)] == ["possible"]


def told(counted: Counted) -> str:
    """All in one phrase: '28 certain stalls, 1.1 s lost, plus 3 likely (121.0 ms)'."""
    first, *rest = shares(counted)
    stalls = count(first.stalls, f"{first.word} stall")
    less_sure = ", ".join(
        f"{share.stalls:,} {share.word} ({duration(share.lost_ms)})" for share in rest
    )
    return f"{stalls}, {duration(first.lost_ms)} lost{', plus ' * bool(rest)}{less_sure}"


def more(counted: Counted) -> str:
    """The less sure ones: ' (plus 3 likely ones, 121.0 ms)', or nothing."""
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
