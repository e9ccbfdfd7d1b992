"""What the sums of a fleet say of each service. Texts of SQL are DataFusion's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from nagle_scan.fleet import trends
from nagle_scan.words.certainty import CONFIDENCES, Total

WORST = 10
"""Connections of a service."""
BUCKETS = 8
"""Of latencies, for each doubling: a percentile is off by 4.5 % at most."""
UTC = "datetime64[us, UTC]"
LEAST_SHARE = 0.1
"""Of the time lost: a side that loses less is not where to begin."""
PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
COUNTS = [f"stalls_{word}" for word in CONFIDENCES]
LOSSES = [f"lost_ms_{word}" for word in CONFIDENCES]
LIKELY = LOSSES[:2]
BY_CONFIDENCE = ", ".join(
    f"coalesce(sum({column}) FILTER (WHERE confidence = '{word}'), 0) AS {name}_{word}"
    for word in CONFIDENCES
    for column, name in (("waits", "stalls"), ("wait_ms", "lost_ms"))
)
SERVICES = f"""
SELECT service, server_addr, server_port, owner, pod, {BY_CONFIDENCE},
    coalesce(sum(exchanges), 0) AS exchanges
FROM sums GROUP BY service, server_addr, server_port, owner, pod
"""
SIDES = """
SELECT service, sender, confidence <> 'possible' AS surest, sum(wait_ms) AS lost_ms FROM sums
WHERE confidence IS NOT NULL GROUP BY service, sender, surest
"""
HOURS = f"""
SELECT service, hour, {BY_CONFIDENCE}, coalesce(sum(exchanges), 0) AS exchanges
FROM sums WHERE hour IS NOT NULL GROUP BY service, hour ORDER BY service, hour
"""
LOSSY = "SELECT DISTINCT service FROM sums WHERE confidence IS NOT NULL"
PER_HOUR = """
SELECT service, count(DISTINCT hour) AS hours,
    coalesce(sum(wait_ms) FILTER (WHERE confidence <> 'possible'), 0) AS lost_ms_per_hour
FROM sums WHERE hour IS NOT NULL GROUP BY service
"""
LATENCIES = """
SELECT service, bucket, sum(latencies) AS latencies FROM (
    SELECT service, unnest(latency_bucket) AS bucket, unnest(latency_count) AS latencies FROM sums
    WHERE cause IS NULL
) GROUP BY service, bucket ORDER BY service, bucket
"""
BY_LOSS = f"{' + '.join(LIKELY)} DESC, {LOSSES[2]} DESC"
WORST_OF_EACH = f"""
SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY service ORDER BY {BY_LOSS}) AS place
    FROM connections WHERE stalls > 0
) WHERE place <= {WORST} ORDER BY {BY_LOSS}, service, "set", connection
"""


def of(
    query: Callable[[str], pd.DataFrame], hours: pd.DataFrame, worst: pd.DataFrame
) -> pd.DataFrame:
    """`Fleet.services`."""
    found = _in_order(query(SERVICES))
    kept = dict.fromkeys(["server_addr", "server_port", "owner", "pod"], "first")
    added = dict.fromkeys([*COUNTS, *LOSSES, "exchanges"], "sum")
    by_service = found.groupby("service", sort=False)
    rows = by_service.agg(kept | added)
    rows["servers"] = by_service.size()
    rows["sender"] = _sides(query(SIDES))
    rows = rows.join(worst.groupby("service", sort=False)[["change", "fix"]].first())
    rows = rows.join(_percentiles(query(LATENCIES)))
    rows = rows.join(query(PER_HOUR).set_index("service")).join(_trends(_passed(hours, query)))
    rows["lost_ms_per_hour"] /= rows["hours"]
    rows["onset_note"] = rows["onset_note"].where(rows["hours"] > 0, trends.UNDATED)
    texts = {"sender": "", "change": "", "fix": "", "onset_note": ""}
    return _in_order(rows.reset_index()).fillna({**texts, "hours": 0}).astype({"hours": int})


def _sides(rows: pd.DataFrame) -> pd.Series[str]:
    """Of each service, where it must change; what is only possible counts without others."""
    rows = rows[rows["surest"] == rows.groupby("service")["surest"].transform("max")]
    share = rows["lost_ms"] / rows.groupby("service")["lost_ms"].transform("sum")
    sides = rows[share >= LEAST_SHARE].groupby("service")["sender"]
    return sides.first().where(sides.size() == 1, "both")


def _passed(hours: pd.DataFrame, query: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Without those that a broken clock has told: they were yet to come when they were read."""
    last = query("SELECT max(scanned) AS last FROM captures")["last"][0]
    passed: pd.DataFrame = hours[hours["hour"] <= last]
    return passed


def _trends(hours: pd.DataFrame) -> pd.DataFrame:
    """Onsets, by service."""
    found = {name: trends.trend(rows) for name, rows in hours.groupby("service")}
    told = pd.DataFrame.from_dict(found, "index", columns=["onset", "onset_note"])
    return told.astype({"onset": UTC, "onset_note": object})


def total(rows: pd.DataFrame) -> Total:
    """All stalls of services, hours or connections."""
    stalls, lost_ms = rows[COUNTS].sum(), rows[LOSSES].sum()
    return Total(tuple(map(int, stalls))[::-1], tuple(map(float, lost_ms))[::-1])


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Those that lose most first; what is only possible last."""
    keys = rows.assign(surest=rows[LIKELY].sum(axis=1))
    order = keys.sort_values(["surest", LOSSES[2]], ascending=False, kind="stable").index
    return rows.loc[order].reset_index(drop=True)


def _percentiles(latencies: pd.DataFrame) -> pd.DataFrame:
    """Of each service, from the buckets of its latencies: the middle of a bucket counts."""
    made = {}
    for service, rows in latencies.groupby("service"):
        share = rows["latencies"].cumsum() / rows["latencies"].sum()
        places = np.searchsorted(share, list(PERCENTILES.values()))
        made[service] = 2 ** ((rows["bucket"].to_numpy()[places] + 0.5) / BUCKETS) / 1000
    return pd.DataFrame.from_dict(made, "index", columns=list(PERCENTILES))
