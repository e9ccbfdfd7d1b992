"""Numbers of each service from the sums of a fleet, asked in SQL (DuckDB's)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from nagle_scan.words.certainty import CONFIDENCES, Total

if TYPE_CHECKING:
    from nagle_scan.fleet.table import Table

WORST = 10
"""Connections of a service in `worst`."""
BUCKETS = 8
"""Buckets of latencies for each doubling: a percentile is off by 4.5 % at most."""
LEAST_SHARE = 0.1
"""Least share of the time lost: a side that loses less is not where to begin."""
Row: TypeAlias = dict[str, Any]
COLUMNS = [f"{name}_{word}" for name in ("stalls", "lost_ms") for word in CONFIDENCES]
TYPES = {"stalls": "BIGINT", "lost_ms": "DOUBLE"}
"""DuckDB's sum of integers is wider, which pandas does not know."""
STALLS = ", ".join(
    f"coalesce(sum({column}) FILTER (WHERE confidence = '{word}'), 0)::{TYPES[name]} "
    f"AS {name}_{word}"
    for word in CONFIDENCES
    for column, name in (("waits", "stalls"), ("wait_ms", "lost_ms"))
)
EXCHANGES = "coalesce(sum(exchanges), 0)::BIGINT AS exchanges"
BY_LOSS = "lost_ms_certain + lost_ms_likely DESC, lost_ms_possible DESC"
WORST_FIRST = '(-lost_ms_certain - lost_ms_likely, -lost_ms_possible, "set", connection)'
"""The order of connections as one value: DuckDB need not sort what is large."""
TOTAL = f"SELECT {STALLS} FROM sums"
ENDS = ("server_addr", "server_port", "owner", "pod")
SIDES = ", ".join(
    f"coalesce(sum(wait_ms) FILTER (WHERE sender = '{side}' AND {which}), 0) AS {side}_{name}"
    for side in ("client", "server")
    for name, which in (("sure", "confidence <> 'possible'"), ("any", "confidence IS NOT NULL"))
)


def _side(name: str) -> str:
    """Branches of a CASE: the side that loses time, or `both`, by the sums of `SIDES`."""
    lost = f"(client_{name} + server_{name})"
    return (
        f"WHEN {lost} > 0 AND client_{name} < {LEAST_SHARE} * {lost} THEN 'server' "
        f"WHEN {lost} > 0 AND server_{name} < {LEAST_SHARE} * {lost} THEN 'client' "
        f"WHEN {lost} > 0 THEN 'both'"
    )


# The ends of a service that lose most, and the side or sides that must change.
SERVICES = f"""
SELECT lost.service, {", ".join(ENDS)}, {", ".join(COLUMNS)}, exchanges, servers,
    CASE {_side("sure")} {_side("any")} ELSE '' END AS sender,
    coalesce(change, '') AS change, coalesce(fix, '') AS fix, p50_ms, p95_ms, p99_ms,
    coalesce(hours, 0) AS hours, lost_ms_per_hour
FROM (
    SELECT service, {", ".join(f"first({one} ORDER BY {BY_LOSS}) AS {one}" for one in ENDS)},
        {", ".join(f"sum({one})::{TYPES[one[: one.rindex('_')]]} AS {one}" for one in COLUMNS)},
        sum(exchanges)::BIGINT AS exchanges, count(*) AS servers
    FROM (SELECT service, {", ".join(ENDS)}, {STALLS}, {EXCHANGES} FROM sums
        GROUP BY service, {", ".join(ENDS)})
    GROUP BY service
) AS lost LEFT JOIN (
    SELECT service, {SIDES}, count(DISTINCT hour) AS hours,
        coalesce(sum(wait_ms) FILTER (WHERE confidence <> 'possible' AND hour IS NOT NULL), 0)
            / nullif(count(DISTINCT hour), 0) AS lost_ms_per_hour
    FROM sums GROUP BY service
) AS sides ON sides.service = lost.service LEFT JOIN (
    SELECT service, arg_min(change, {WORST_FIRST}) AS change, arg_min(fix, {WORST_FIRST}) AS fix
    FROM connections WHERE stalls > 0 GROUP BY service
) AS said ON said.service = lost.service LEFT JOIN (
    SELECT service, {
    ", ".join(
        f"power(2, (min(bucket) FILTER (WHERE share >= {number} / 100.0) + 0.5) / {BUCKETS}) / 1000"
        f" AS p{number}_ms"
        for number in (50, 95, 99)
    )
}
    FROM (
        SELECT service, bucket, cast(sum(latencies) OVER (PARTITION BY service ORDER BY bucket)
            AS DOUBLE) / sum(latencies) OVER (PARTITION BY service) AS share
        FROM (
            SELECT service, bucket, sum(latencies) AS latencies FROM (
                SELECT service, unnest(latency_bucket) AS bucket, unnest(latency_count) AS latencies
                FROM sums WHERE cause IS NULL
            ) GROUP BY service, bucket
        )
    ) GROUP BY service
) AS latencies ON latencies.service = lost.service
ORDER BY {BY_LOSS}, lost.service
"""
CAPTURED = "sums WHERE hour IS NOT NULL"
# Hours after the last scan come from a broken clock: they were yet to come when it was read.
STALLED = (
    "sums SEMI JOIN (SELECT DISTINCT service FROM sums WHERE confidence IS NOT NULL) "
    "USING (service) WHERE hour <= (SELECT max(scanned) FROM captures)"
)
STALLING = (
    "SELECT count(DISTINCT service) AS services, count(DISTINCT service) FILTER "
    "(WHERE confidence <> 'possible') AS counted FROM sums WHERE confidence IS NOT NULL"
)


def worst(which: str = "true") -> str:
    """The SQL of the connections that lose most, of each service."""
    return f"""
        SELECT * FROM connections SEMI JOIN (
            SELECT service, unnest(min({WORST_FIRST}, {WORST})) AS least FROM connections
            WHERE stalls > 0 AND {which} GROUP BY service
        ) AS kept ON kept.service = connections.service AND kept.least = {WORST_FIRST}
        WHERE stalls > 0 AND {which}
        ORDER BY {BY_LOSS}, service, "set", connection
    """


def hours(source: str) -> str:
    """The SQL of a row per service and hour, in this order, from `CAPTURED` or `STALLED`."""
    asked = f"SELECT service, hour, {STALLS}, {EXCHANGES} FROM {source}"
    return f"{asked} GROUP BY service, hour ORDER BY service, hour"


def hours_of_each(table: Table, source: str) -> Iterator[tuple[str, list[Row]]]:
    """Services and their captured hours, one service at a time: there may be years of thousands."""
    every = groupby(table.each(hours(source)), itemgetter("service"))
    return ((service, list(rows)) for service, rows in every)


def total(row: Mapping[str, Any]) -> Total:
    """All stalls of a service, an hour or a connection."""
    stalls, lost_ms = (
        tuple(row[f"{name}_{word}"] or 0 for word in CONFIDENCES[::-1])
        for name in ("stalls", "lost_ms")
    )
    return Total(stalls, lost_ms)


def of_all(table: Table) -> Total:
    """All stalls of a fleet."""
    (row,) = table.rows(TOTAL)
    return total(row)


def verdicts(table: Table) -> dict[str, int]:
    """How many captures have which verdict."""
    rows = table.rows(
        "SELECT verdict, count(*) AS sets FROM captures WHERE error IS NULL AND file = 0 "
        "GROUP BY verdict"
    )
    return {row["verdict"]: row["sets"] for row in rows}
