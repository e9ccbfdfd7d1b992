"""Changes noticed by a run: services that lose time and did not, lose more, or no longer do."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

from nagle_scan.fleet import rows
from nagle_scan.fleet.table import Table
from nagle_scan.words.wording import count, duration

DAYS = 7
"""Captured days of a service before a run that count: what came back after longer is new."""
BY_HALF = 1.5
"""Ratio of the time lost per exchange, now to before, above which a service is worse."""
LEAST = 3
"""Stalls that a change for the worse needs at least."""
SPREAD = 3.0
"""Standard deviations of a number of stalls (Poisson), by which it is more than chance."""
EXPECTED = 5.0
"""Stalls to expect where none came, for a service to be gone: chance is below one in a hundred."""
AT_IT_S = 3600.0
"""Silence after which a run of another host is taken for killed."""
NEW, WORSE, GONE = "new", "worse", "gone"
COUNTED = "FILTER (WHERE confidence IN ('certain', 'likely'))"
LEVEL = (
    f"coalesce(sum(waits) {COUNTED}, 0)::BIGINT AS stalls, "
    f"coalesce(sum(wait_ms) {COUNTED}, 0)::DOUBLE AS lost_ms, "
    "coalesce(sum(exchanges), 0)::BIGINT AS exchanges"
)
HOSTS = 'SELECT "set", first(host) AS host FROM captures GROUP BY 1'
BEFORE = f"""
SELECT service, host, {LEVEL} FROM sums LEFT JOIN ({HOSTS}) USING ("set")
WHERE "set" NOT IN (SELECT unnest(?)) GROUP BY service, host, day
QUALIFY dense_rank() OVER (PARTITION BY service ORDER BY day DESC NULLS LAST) <= {DAYS}
ORDER BY service, day DESC NULLS LAST
"""
NOW = f"""
SELECT service, host, first(owner) AS owner, first(pod) AS pod, {LEVEL}
FROM sums LEFT JOIN ({HOSTS}) USING ("set")
WHERE "set" IN (SELECT unnest(?)) GROUP BY service, host ORDER BY lost_ms DESC, service, host
"""


class Level(NamedTuple):
    """Time that a service lost in the captures of one host, on a day or in a run: as much may be
    usual on another host, or on all of them together."""

    host: str
    stalls: int
    """Number of certain and likely stalls: possible ones make no change."""
    lost_ms: float
    exchanges: int

    @property
    def each_ms(self) -> float:
        """Per exchange. A stream has none, and counts as one."""
        return self.lost_ms / max(1, self.exchanges)

    @property
    def share(self) -> float:
        """Stalls per exchange."""
        return self.stalls / max(1, self.exchanges)


class Change(NamedTuple):
    """A service that begins to lose time, loses more, or no longer loses any."""

    service: str
    owner: str
    pod: str
    change: str
    before_ms: float
    """Per exchange, on the worst day of the worst host before."""
    now_ms: float
    stalls: int
    exchanges: int

    @property
    def sentence(self) -> str:
        """The change in a line."""
        now = f"{duration(self.now_ms)} per exchange ({count(self.stalls, 'stall')})"
        if self.change == NEW:
            return f"new: {self.service} loses {now}"
        if self.change == WORSE:
            return f"worse: {self.service} loses {now}, {duration(self.before_ms)} before"
        before = f"{duration(self.before_ms)} per exchange before"
        return f"gone: {self.service} no longer loses time ({before})"


class Before(NamedTuple):
    """The state of a fleet before a run."""

    days: dict[str, list[Level]]
    """The last known days of each service, the latest first."""
    open_runs: set[str]
    """Runs that were killed: nobody has reported what they found."""
    open_sets: set[str]
    """Sets that these runs have read."""


def before(table: Table, own: str) -> Before:
    """The state of a fleet before a run; names of this host's runs begin with `own`."""
    killed = {
        name: commit.run
        for name, commit in table.open.items()
        if commit.run.startswith(own) or table.files[name].written_s < time.time() - AT_IT_S
    }
    open_sets = {set_id for name, set_id in table.in_use if name in killed}
    days: dict[str, list[Level]] = {}
    for service, *level in table.answer(BEFORE, [sorted(open_sets)]):
        days.setdefault(service, []).append(Level(*level))
    return Before(days, set(killed.values()), open_sets)


def noticed(table: Table, before: Before, sets: Collection[str]) -> Iterator[Change]:
    """Changes that these sets, and those of killed runs, make to what was known before."""
    for service, host, owner, pod, *level in table.answer(
        NOW, [sorted({*sets, *before.open_sets})]
    ):
        now, days = Level(host, *level), before.days.get(service, [])
        if change := changed(days, now):
            before_ms = max((day.each_ms for day in days), default=0.0)
            about = service, owner or "", pod or "", change
            yield Change(*about, before_ms, now.each_ms, now.stalls, now.exchanges)


def changed(days: Sequence[Level], now: Level) -> str:
    """How a level differs from those of the days before, the latest first; empty if it does not."""
    if now.stalls and not any(day.stalls for day in days):
        return NEW
    if not now.stalls:
        last = next((day for day in days if day.host == now.host), None)
        return GONE if last and last.share * now.exchanges >= EXPECTED else ""
    worst = max(days, key=lambda day: day.each_ms)
    expected = worst.share * max(1, now.exchanges)
    is_more = now.stalls > expected + SPREAD * sqrt(expected)
    is_longer = now.lost_ms / now.stalls > BY_HALF * worst.lost_ms / max(1, worst.stalls)
    is_worse = now.each_ms > BY_HALF * worst.each_ms and (is_more or is_longer)
    return WORSE if is_worse and now.stalls >= LEAST else ""


def columns(changes: Sequence[Change]) -> rows.Columns:
    """Rows of the kind `changes`."""
    return rows.columns((one._asdict() for one in changes), "time")
