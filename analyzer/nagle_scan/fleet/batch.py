"""Results since the last batch, on their way into the folder."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from nagle_scan.fleet import parquet, rows
from nagle_scan.fleet.fields import COMMIT, KINDS
from nagle_scan.fleet.folder import Folder
from nagle_scan.fleet.sets import Known
from nagle_scan.fleet.table import Commit, Scope, step
from nagle_scan.fleet.work import Place, Scanned, Settings, failure_id

BATCH_ROWS = 200_000
"""Rows above which a batch is written."""
BATCH_S = 30.0
"""Age at which a batch is written: a run that is killed loses no more."""


def write(
    folder: Folder,
    scope: Scope,
    parts: Mapping[str, Sequence[pa.Table]],
) -> None:
    """Writes the rows of a batch by kind. They count as soon as the last file is there.

    Raises `OutputError`."""
    sent: dict[str, int] = {}
    for kind, each in parts.items():
        if kind != COMMIT:
            made = parquet.content(kind, each)
            sent[folder.put(kind, made)] = len(made)
    commit = Commit(scope, sent)
    folder.put(COMMIT, parquet.content(COMMIT, parts.get(COMMIT, ()), commit.text))


class Batch:
    """Collects whole sets, and writes them. No two batches of a run have the same number."""

    def __init__(self, folder: Folder, settings: Settings, known: Known, number: int) -> None:
        """`number` is that of the first batch."""
        self._folder, self._settings, self._known = folder, settings, known
        self._number = number
        self._parts: dict[str, list[pa.Table]] = {}
        self._begun_s = time.monotonic()

    def add(self, scanned: Scanned, over: Iterable[Place] = ()) -> None:
        """Adds sets that are done; failures at the places `over` no longer count."""
        place, failed = self._settings.place, self._known.failed
        read = [place(file) for one in scanned.sets for file in one.files]
        replaced = {one.replaces for one in scanned.sets if one.replaces not in ("", one.id)}
        ended = {failure_id(at) for at in {*over, *read} if at in failed}
        before = [failed.get(place(one.file), 0) for one in scanned.failures]
        made = {kind: [columns] for kind, columns in scanned.rows.items()}
        made.setdefault(COMMIT, [])
        if scanned.failures:
            made[COMMIT].append(rows.failed(scanned.failures, self._settings, before))
        if gone := {*replaced, *ended}:
            made[COMMIT].append(rows.gone(gone))
        tables = {
            kind: [parquet.rows(kind, columns, self._number) for columns in each]
            for kind, each in made.items()
        }
        # One assignment changes all of it, whenever Ctrl-C comes.
        self._parts = {
            kind: [*self._parts.get(kind, ()), *filter(len, tables.get(kind, ()))] for kind in KINDS
        }
        self.write_if_due()

    def write_if_due(self) -> None:
        """See `BATCH_ROWS` and `BATCH_S`. Raises `OutputError`."""
        held = sum(len(table) for tables in self._parts.values() for table in tables)
        if held > BATCH_ROWS or time.monotonic() - self._begun_s > BATCH_S:
            self.write()

    def write(self) -> None:
        """Raises `OutputError`. One that was interrupted writes the same files again."""
        parts = {kind: tables for kind, tables in self._parts.items() if tables}
        if COMMIT in parts:
            write(self._folder, self._known.scope, parts)
        self._parts, self._begun_s, self._number = {}, time.monotonic(), self._number + step()
