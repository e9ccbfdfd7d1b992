"""Damaged files are put aside; their captures, and those of lost files, are read again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

import duckdb

from nagle_scan.errors import CaptureError
from nagle_scan.fleet.fields import COMMIT, SQL_TYPES, written
from nagle_scan.fleet.folder import Folder
from nagle_scan.fleet.table import Table, quoted
from nagle_scan.words.wording import count

LOST = "its rows are gone: a run that finds the capture reads it again"
"""The reason of a file with lost rows: of no attempt."""


def mend(folder: Folder, tell: Callable[[str], None], reads_all: bool = False) -> Table:
    """The table without what is damaged, with a note on each.

    Files of captures are read here; the others with `reads_all`, else where they are needed.
    Raises `CaptureError`, `OutputError`: what cannot be read is not damaged, and stays.
    """
    table = Table(folder)
    asked = [*table.files] if reads_all else table.names(COMMIT)
    damaged = folder.damaged(asked, again=reads_all)
    with duckdb.connect() as asking:
        whole = (name for name in asked if name not in damaged)
        damaged += [name for name in whole if not _has_rows(folder, name, asking)]
    if damaged:
        table = _without(table, damaged, tell)
    damaged = [
        name
        for commit in table.commits.values()
        for name, size in commit.files.items()
        if name in table.files and table.files[name].size != size
    ]
    if damaged:
        table = _without(table, damaged, tell)
    if _lost(table):
        # A store or a disk may have been slow to list the files: they are listed once more.
        table = Table(folder)
    return _mark_unread(table, lost, tell) if (lost := _lost(table)) else table


def _without(table: Table, damaged: Collection[str], tell: Callable[[str], None]) -> Table:
    for name in damaged:
        table.folder.put_aside(name)
        again = "; its captures are read again" if name.startswith(COMMIT) else ""
        tell(f"{table.folder.path}/{name}: damaged, put aside{again}")
    return Table(table.folder)


def _has_rows(folder: Folder, name: str, asking: duckdb.DuckDBPyConnection) -> bool:
    """Are there rows of its kind in a file, if it is still there?"""
    kind = name.partition("/")[0]
    types = {field.name: SQL_TYPES[field.kind] for field in written(kind)}
    with suppress(duckdb.Error, CaptureError, TypeError, ValueError, KeyError):
        found = asking.sql(f"FROM read_parquet([{quoted([folder.place(name)])}])")
        there = dict(zip(found.columns, map(str, found.types), strict=True))
        return all(types.get(one, kind) == kind for one, kind in there.items())
    return not folder.is_whole(name)


def _lost(table: Table) -> set[str]:
    """Sets that count and lack a file of their batch."""
    lacking = {
        name for name, one in table.commits.items() if not one.files.keys() <= table.files.keys()
    }
    return {set_id for name, set_id in table.in_use if name in lacking}


def _mark_unread(table: Table, lost: Collection[str], tell: Callable[[str], None]) -> Table:
    """Marks sets that lost rows as not read."""
    from nagle_scan.fleet import batch, parquet, rows

    table.asked("").execute('CREATE TABLE lost AS SELECT unnest(?) AS "set"', [sorted(lost)])
    files = table.rows(
        'SELECT host, path, size FROM captures SEMI JOIN lost USING ("set") WHERE error IS NULL'
    )
    places = [((row["host"], row["path"]), row["size"]) for row in files]
    failures = rows.columns(rows.failure(place, size, LOST) for place, size in places)
    number = table.next_batch
    parts = [parquet.rows(COMMIT, one, number) for one in (rows.gone(lost), failures)]
    batch.write(table.folder, table.scope, {COMMIT: parts})
    tell(f"{count(len(files), 'capture')} lost rows with a file that is gone: to be read again")
    return Table(table.folder)
