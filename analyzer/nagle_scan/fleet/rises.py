"""Where the share of exchanges that stall rises: one answer for onsets and for alerts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from math import exp, log
from typing import NamedTuple

EARLIER = 3
"""Cells before a rise: of fewer, one odd cell would be half of the usual."""
RATIO = 1.5
"""The share after it, to that before."""
MIN_STALLS = 3
"""Stalls since: up to two come by chance where one is to be expected."""
SURE = 9.0
"""Log-likelihood ratio: chance alone gives hardly a service such a rise in a year of nights."""
NIGHTS = 0.25
"""Usual difference between the shares of two days, relative, as long as few days are known."""
FEW = 10
"""Days of a service's own whose differences count as much as the usual one."""
LEVELS = 2
"""Shares that are fitted before days are compared with them."""
LEAST = 0.147
"""Likelihood of a place, to that of the likeliest, which is still credible (95 %)."""
HOUR = timedelta(hours=1)


class Cell(NamedTuple):
    """An hour or a day."""

    stalls: int
    exchanges: int
    """At least one: a stream has none."""
    at: datetime


class Rise(NamedTuple):
    """Two levels, of which the second is higher."""

    place: int
    """The first cell of the second level."""
    chance: float
    """The chance that it is this cell or one beside it."""
    first: int
    last: int
    """The credible places of it."""
    before: float
    """Stalls per exchange."""


def rise(cells: Sequence[Cell]) -> Rise | None:
    """The most likely rise in cells in order of time, if there is one beyond chance.

    Numbers of stalls are Poisson's, for an exposure of exchanges, in which days differ by more
    than chance: by as much as those of this service do. Captures of a busy hour, of a night or of
    one host of twenty all count for what they can tell.
    """
    fits = _fits(cells) if cells else {}
    if not fits:
        return None
    place = max(fits, key=lambda place: fits[place])
    of_cells, of_days = dispersion(cells, place)
    clean = _cleanness(cells, place, of_cells)
    if fits[place] < SURE * of_cells or max(fits[place] / of_days, clean) < SURE:
        return None
    chances = {at: exp((fit - fits[place]) / of_cells) for at, fit in fits.items()}
    every = sum(chances.values())
    near = {at: _near(cells, chances, at) / every for at in chances}
    # The likeliest of the places that are as good.
    best = max(chances, key=lambda at: (round(near[at], 2), chances[at]))
    credible = [at for at, chance in chances.items() if chance >= LEAST]
    return Rise(best, near[best], credible[0], credible[-1], _share(cells[:best]))


def _near(cells: Sequence[Cell], chances: Mapping[int, float], place: int) -> float:
    """The chance of a place and of those within an hour."""
    beside = range(max(0, place - 1), min(len(cells), place + 2))
    close = (one for one in beside if abs(cells[one].at - cells[place].at) <= HOUR)
    return sum(chances.get(one, 0.0) for one in close)


def _fits(cells: Sequence[Cell]) -> dict[int, float]:
    """By how much a rise at each place makes the numbers likelier (log-likelihood)."""
    stalls, exchanges = (sum(each) for each in zip(*(cell[:2] for cell in cells), strict=True))
    none = _weight(stalls, exchanges)
    found, before, exposure = {}, 0, 0
    for place, cell in enumerate(cells):
        since, left = stalls - before, exchanges - exposure
        if since < MIN_STALLS:
            break
        if place >= EARLIER and since * exposure > RATIO * before * left:
            found[place] = _weight(before, exposure) + _weight(since, left) - none
        before, exposure = before + cell.stalls, exposure + cell.exchanges
    return found


def _cleanness(cells: Sequence[Cell], place: int, of_cells: float) -> float:
    """How unlikely no stall at all is before a place, at the share since, on days that differ as
    usual and in cells that differ as these (the log of a negative binomial's chance)."""
    if any(cell.stalls for cell in cells[:place]):
        return 0.0
    share, left = _share(cells[place:]), len(cells) - place
    expected = share * sum(cell.exchanges for cell in cells[:place])
    each = sum(cell.stalls for cell in cells[place:]) / left
    variance = max(NIGHTS**2, (of_cells - 1) / each)
    return log(1 + expected * variance) / variance


def _weight(stalls: int, exchanges: int) -> float:
    return stalls * log(stalls / exchanges) if stalls else 0.0


def _share(cells: Sequence[Cell]) -> float:
    return sum(cell.stalls for cell in cells) / max(1, sum(cell.exchanges for cell in cells))


def dispersion(cells: Sequence[Cell], place: int) -> tuple[float, float]:
    """The spread of the numbers around two levels, as a multiple of Poisson's: that of cells, and
    that of days."""
    shares = _share(cells[:place]), _share(cells[place:])
    days: dict[tuple[date, bool], list[float]] = defaultdict(lambda: [0.0, 0.0])
    spread = 0.0
    for at, cell in enumerate(cells):
        expected = shares[at >= place] * cell.exchanges
        spread += (cell.stalls - expected) ** 2 / expected if expected else 0.0
        day = days[cell.at.date(), at >= place]
        day[0] += cell.stalls
        day[1] += expected
    known = [(stalls - expected) ** 2 / expected for stalls, expected in days.values() if expected]
    usual = 1 + NIGHTS**2 * sum(expected for _, expected in days.values()) / len(days)
    of_days = (sum(known) + FEW * usual) / (len(known) - LEVELS + FEW)
    return max(1.0, spread / len(cells)), of_days
