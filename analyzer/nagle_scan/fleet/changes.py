"""News that nobody has told yet: what was told last of a service, and what its days say now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from math import log
from operator import itemgetter
from typing import Any, NamedTuple

from nagle_scan.fleet import rows
from nagle_scan.fleet.fields import CHANGES
from nagle_scan.fleet.rises import MIN_STALLS, Cell, dispersion, rise
from nagle_scan.fleet.table import Table
from nagle_scan.words.wording import count, duration

WINDOW = timedelta(days=28)
"""Days of a service, up to its last captured one, that say what is usual."""
RECENT = timedelta(days=7)
"""Days in which stalls come together: rarer ones are no news."""
LONG = timedelta(days=3)
"""A quiet time is longer than a long weekend, to be more than a pause,"""
TWICE = 2
"""and than so many times the longest one before."""
BY_CHANCE = 1e-3
"""Limit on the chance of a quiet time at the rate from before."""
EXPECTED = 3.0
"""Stalls to expect since the last one on each host that had some: else it cannot tell."""
OFTEN = 2
"""A service that was told as gone so often within `WINDOW`, and stalls again, flaps."""
GAPS = 3
"""Times between captures of a host that must be known, to know its rhythm."""
NEW, WORSE, GONE, FLAPS, SILENT = "new", "worse", "gone", "flaps", "silent"
MOST_HOSTS = 3
"""Hosts that a sentence names."""
EPOCH = date(1970, 1, 1)
COUNTED = "FILTER (WHERE confidence IN ('certain', 'likely'))"
# A server has the name that it was given last: its history is not split by a new one. Hours after
# the scan come from a clock that is ahead.
NAMED = """
WITH named AS (
    SELECT server_addr, server_port, arg_max(service, batch) AS name,
        arg_max(coalesce(owner, ''), batch) AS owner, arg_max(coalesce(pod, ''), batch) AS pod
    FROM sums JOIN newest USING ("set") GROUP BY ALL
)
"""
DAYS = f"""
{NAMED}
SELECT name, first(named.owner), first(named.pod), coalesce(day, scanned::DATE) AS date, host,
    coalesce(sum(waits) {COUNTED}, 0)::BIGINT, coalesce(sum(wait_ms) {COUNTED}, 0)::DOUBLE,
    coalesce(sum(exchanges), 0)::BIGINT
FROM sums JOIN named USING (server_addr, server_port) JOIN (
    SELECT "set", first(host) AS host, max(scanned) AS scanned FROM captures GROUP BY 1
) USING ("set")
WHERE hour IS NULL OR hour <= scanned GROUP BY name, date, host
QUALIFY date > max(date) OVER (PARTITION BY name) - INTERVAL {WINDOW.days} DAY
ORDER BY name, date, host
"""
ALIASES = f"""
{NAMED} SELECT DISTINCT service, name FROM sums JOIN named USING (server_addr, server_port)
WHERE service <> name AND service NOT IN (SELECT name FROM named)
"""
TOLD = f"""
SELECT service, change, coalesce(since, time::DATE), hosts, stalls, exchanges FROM {CHANGES}
ORDER BY time
"""
# The last capture of each host, and of all; a host is silent for longer than twice its own longest
# pause. An odd clock tells nothing.
SILENCES = f"""
WITH times AS (SELECT host, last, last - lag(last) OVER (PARTITION BY host ORDER BY last) AS pause
    FROM captures WHERE host <> '' AND last <= scanned)
SELECT host, max(last) AS until FROM times GROUP BY host
HAVING count(pause) >= {GAPS} AND (SELECT max(last) FROM times) - max(last) > greatest(
    {TWICE} * max(pause), INTERVAL 1 DAY) ORDER BY host
"""


class Day(NamedTuple):
    """A captured day of a service, on a host."""

    day: date
    host: str
    stalls: int
    """Number of certain and likely stalls: possible ones make no change."""
    lost_ms: float
    exchanges: int


class Told(NamedTuple):
    """News that was told of a service."""

    change: str
    since: date
    hosts: str
    stalls: int
    exchanges: int


class Change(NamedTuple):
    """Something to tell: of a service, or of a host that no longer captures."""

    service: str
    owner: str
    pod: str
    change: str
    since: date
    hosts: str
    """The hosts with stalls since then, where several have captured it."""
    before_ms: float
    """Per exchange, before."""
    now_ms: float
    stalls: int
    exchanges: int

    @property
    def is_failure(self) -> bool:
        """Good news fails no pipeline."""
        return self.change != GONE

    @property
    def sentence(self) -> str:
        """The change in a line."""
        if self.change == SILENT:
            return f"silent: {self.hosts}: no capture since {self.since}"
        if self.change == GONE:
            before = f"{duration(self.before_ms)} per exchange before"
            return f"gone: {self.service} has not lost time since {self.since} ({before})"
        names = self.hosts.split(", ")
        on = f" on {', '.join(names[:MOST_HOSTS])}" if self.hosts else ""
        on += f" and {len(names) - MOST_HOSTS:,} more" * (len(names) > MOST_HOSTS)
        again = " again" * (self.change == FLAPS)
        now = f"{duration(self.now_ms)} per exchange ({count(self.stalls, 'stall')})"
        before = f", {duration(self.before_ms)} before" * (self.change == WORSE)
        return f"{self.change}: {self.service} loses {now}{again}{on}{before}"


def untold(table: Table) -> list[Change]:
    """Changes that nobody has told, those that cost most first."""
    told: dict[str, list[tuple[int, Told]]] = defaultdict(list)
    for place, (service, *about) in enumerate(table.answer(TOLD)):
        told[service].append((place, Told(*about)))
    names = defaultdict(list)
    for service, name in table.answer(ALIASES):
        names[name].append(service)
    found = []
    services: dict[tuple[str, str, str], list[Day]] = defaultdict(list)
    for name, owner, pod, *day in table.answer(DAYS):
        services[name, owner, pod].append(Day(*day))
    for service, days in services.items():
        # In the order in which they were told, under whatever name.
        own = (*names[service[0]], service[0])
        known = sorted((one for name in own for one in told.get(name, ())), key=itemgetter(0))
        if change := _changed(days, [one for _, one in known]):
            found.append(_of_service(service, days, *change))
    silences = {(one.hosts, one.since) for _, one in told.get("", ()) if one.change == SILENT}
    for host, until in table.answer(SILENCES):
        if (host, until.date()) not in silences:
            found.append(Change("", "", "", SILENT, until.date(), host, 0.0, 0.0, 0, 0))
    return sorted(found, key=lambda one: -one.now_ms * one.exchanges)


def _of_service(
    about: tuple[str, str, str], days: Sequence[Day], change: str, since: date
) -> Change:
    now, before = (
        [day for day in days if day.day >= since],
        [day for day in days if day.day < since],
    )
    stalling = sorted({day.host for day in now if day.stalls})
    hosts = ", ".join(stalling) if len({day.host for day in days}) > 1 else ""
    stalls, exchanges = _numbers(now)
    return Change(*about, change, since, hosts, _each_ms(before), _each_ms(now), stalls, exchanges)


def _numbers(days: Iterable[Day]) -> tuple[int, int]:
    """Stalls and exchanges."""
    every = list(days)
    return sum(day.stalls for day in every), sum(day.exchanges for day in every)


def _each_ms(days: Sequence[Day]) -> float:
    """Time lost per exchange. A stream has none, and counts as one."""
    return sum(day.lost_ms for day in days) / max(1, _numbers(days)[1])


def _changed(days: Sequence[Day], told: Sequence[Told]) -> tuple[str, date] | None:
    """News of a service with these days, in order, and since when."""
    last = told[-1] if told else None
    if last is None or last.change == GONE:
        recent = days[-1].day - RECENT
        begin = recent if last is None else max(recent, last.since)
        stalling = [day for day in days if day.stalls and day.day >= begin]
        if _numbers(stalling)[0] < MIN_STALLS:
            return None
        since = days[-1].day - WINDOW
        gone = sum(one.change == GONE and one.since > since for one in told)
        return FLAPS if gone >= OFTEN else NEW, stalling[0].day
    if quiet := _quiet(days, last):
        return GONE, quiet
    cells = _cells(day for day in days if day.day >= last.since)
    found = rise(cells)
    if found is None or rise(cells[: found.place - 1 : -1]):
        return None
    return WORSE, cells[found.place].at.date()


def _quiet(days: Sequence[Day], told: Told) -> date | None:
    """The first day without stalls, if these are gone from each host that had some."""
    stalled = sorted({day.day for day in days if day.stalls})
    last = stalled[-1] if stalled else told.since
    pauses = [later - earlier for earlier, later in pairwise(stalled)]
    if days[-1].day - last <= max(LONG, TWICE * max(pauses, default=LONG / TWICE)):
        return None
    before = [
        day for day in days if day.day <= last and (day.day >= told.since or last < told.since)
    ]
    if not stalled:
        before = [Day(last, "", told.stalls, 0.0, told.exchanges)]
    since = [day for day in days if day.day > last]
    hosts = {day.host for day in before if day.stalls} if stalled else ()
    for host in hosts:
        stalls, exchanges = _numbers(day for day in before if day.host == host)
        if stalls * _numbers(day for day in since if day.host == host)[1] < EXPECTED * exchanges:
            return None
    stalls, exchanges = _numbers(before)
    cells = _cells(before)
    spread = max(1.0, *dispersion(cells, len(cells)))
    share = max(1, exchanges) / (max(1, exchanges) + _numbers(since)[1])
    return last + timedelta(days=1) if stalls / spread * log(share) < log(BY_CHANCE) else None


def _cells(days: Iterable[Day]) -> list[Cell]:
    """The days of all hosts together."""
    numbers: dict[date, list[int]] = defaultdict(lambda: [0, 0])
    for day in days:
        numbers[day.day][0] += day.stalls
        numbers[day.day][1] += day.exchanges
    return [
        Cell(stalls, max(1, exchanges), datetime(day.year, day.month, day.day, tzinfo=UTC))
        for day, (stalls, exchanges) in sorted(numbers.items())
    ]


def columns(changes: Sequence[Change]) -> rows.Columns:
    """Rows of the kind `changes`."""
    every = (one._asdict() | {"since": (one.since - EPOCH).days} for one in changes)
    return rows.columns(every, "time")


def of_rows(every: Iterable[dict[str, Any]]) -> Iterator[Change]:
    """Changes from rows of `changes`; those of an earlier version have no `since` and hosts."""
    for row in every:
        known = {name: row[name] for name in Change._fields}
        since, hosts = row["since"] or row["time"].date(), row["hosts"] or ""
        yield Change(**known | {"since": since, "hosts": hosts})
