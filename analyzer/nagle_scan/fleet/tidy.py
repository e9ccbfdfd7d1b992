"""Few files of many, without rows that no longer count; what they replace is deleted later."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import date, timedelta

import pyarrow as pa

from nagle_scan.fleet import batch, parquet
from nagle_scan.fleet.fields import BATCH, CHANGES, COMMIT, DETAILS, KINDS
from nagle_scan.fleet.folder import name_of
from nagle_scan.fleet.table import Table, step

MOST_BATCHES = 64
"""More small ones are made one."""
SMALL = 4 << 20
"""Bytes of the files of a batch: all of `MOST_BATCHES` can be in memory."""
RETENTION = timedelta(days=7)
"""Whoever began to read before may still use a file."""


def tidy(table: Table, before: date | None = None) -> Table:
    """Merges small batches, drops details of the days `before`, and deletes what has not counted
    for a week. Raises `CaptureError`, `OutputError`."""
    chosen = _small(table) | (_old(table, before) if before else set())
    if chosen:
        _merge(table, chosen, before)
        table = Table(table.folder)
    _delete(table)
    return table


def _small(table: Table) -> set[str]:
    sizes = {
        name: table.files[name].size + sum(commit.files.values())
        for name, commit in table.commits.items()
    }
    small = {name for name, size in sizes.items() if size < SMALL}
    return small if len(small) > MOST_BATCHES else set()


def _old(table: Table, before: date) -> set[str]:
    """Batches with details of the days before."""
    found = {
        row["filename"]
        for kind in DETAILS
        for row in table.each(
            f"SELECT DISTINCT filename FROM every_{kind} WHERE day < DATE '{before}' "
            'AND ("set", batch) IN (SELECT ("set", batch) FROM newest)'
        )
    }
    old = {name_of(place) for place in found}
    return {name for name, commit in table.commits.items() if old & commit.files.keys()}


def _merge(table: Table, chosen: Collection[str], before: date | None) -> None:
    """Rows of these batches that count become one, of which each set has a newer number: it is
    higher by the same for all, so that a later reading of a set, by whomever, still counts."""
    higher = step()
    files = sorted({name for one in chosen for name in table.commits[one].files} | {*chosen})
    parts: dict[str, list[pa.Table]] = {}
    for kind in KINDS:
        of_kind = table.source(kind, [name for name in files if name.startswith(f"{kind}/")])
        names = ", ".join(f'"{name}"' for name in parquet.schema(kind).names if name != BATCH.name)
        kept = f"WHERE day IS NULL OR day >= DATE '{before}'"
        sql = (
            f"SELECT {names}, batch + {higher} AS batch FROM ({of_kind}) "
            f'SEMI JOIN newest USING ("set", batch) {kept if before and kind in DETAILS else ""}'
        )
        if kind != CHANGES:
            found = table.query(sql).to_arrow_table()
            parts |= {kind: [found]} if len(found) else {}
    if COMMIT in parts:
        batch.write(table.folder, table.scope, parts)


def _delete(table: Table) -> None:
    """Only what holds what its name says is deleted, and never what counts."""
    used = {name for name, _ in table.in_use}
    kept = {name for one in used for name in table.commits[one].files} | used
    oldest_s = time.time() - RETENTION.total_seconds()
    for name, about in table.files.items():
        if name not in kept and about.written_s < oldest_s and not name.startswith(CHANGES):
            table.folder.delete(name)
    for name, about in table.folder.turns().items():
        if about.written_s < oldest_s:
            table.folder.remove(name)
