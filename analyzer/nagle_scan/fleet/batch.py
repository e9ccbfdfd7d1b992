"""What was found since the last commit, on its way into the table."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from nagle_scan.fleet import parquet, rows
from nagle_scan.fleet.parquet import Part
from nagle_scan.fleet.sets import Known
from nagle_scan.fleet.work import Place, Scanned, Settings
from nagle_scan.fleet.writer import Writer

BATCH_ROWS = 200_000
"""Written as soon as there are more."""
BATCH_S = 30.0
"""Written at least as often: what a run that is killed loses."""


class _Held(NamedTuple):
    """What waits to be written. One assignment changes all of it, whenever Ctrl-C comes."""

    mark: str
    """By which its commit is known."""
    begun_s: float
    tables: Sequence[Mapping[Part, pa.Table]] = ()
    replaced: Collection[str] = ()
    tried: Collection[Place] = ()
    """Places of failures that are over, or told anew."""


def _nothing() -> _Held:
    return _Held(uuid.uuid4().hex, time.monotonic())


class Batch:
    """Whole sets only."""

    def __init__(self, table: Writer, settings: Settings, known: Known) -> None:
        self._table, self._settings, self._known = table, settings, known
        self._held = _nothing()

    def add(self, scanned: Scanned, over: Iterable[Place] = ()) -> None:
        """Some sets are done; failures at the places `over` are."""
        place, failed, held = self._settings.place, self._known.failed, self._held
        made = [parquet.rows(kind, each) for kind, each in scanned.rows.items()]
        read = [place(file) for one in scanned.sets for file in one.files]
        lost = {failed[at].set for at in read if at in failed} | {one.id for one in scanned.sets}
        replaced = (lost & self._known.lost) | {one.replaces for one in scanned.sets} - {""}
        # A file that has to be read again stays so until it is read.
        failures = [one for one in scanned.failures if not self._known.has_lost(place(one.file))]
        told = [place(one.file) for one in failures]
        before = [failed[at].attempts if at in failed else 0 for at in told]
        self._held = held._replace(
            tables=[
                *held.tables,
                *made,
                parquet.rows("captures", rows.failed(failures, self._settings, before)),
            ],
            replaced={*held.replaced, *replaced},
            tried={*held.tried, *over, *({*read, *told} & failed.keys())},
        )
        self.write_if_due()

    def write_if_due(self) -> None:
        """See `BATCH_ROWS` and `BATCH_S`. Raises `OutputError`."""
        held = sum(len(each) for made in self._held.tables for each in made.values())
        if held > BATCH_ROWS or time.monotonic() - self._held.begun_s > BATCH_S:
            self.write()

    def write(self) -> None:
        """Commits it. Raises `OutputError`."""
        held = self._held
        parts: dict[Part, list[pa.Table]] = {}
        for made in held.tables:
            for part, each in made.items():
                parts.setdefault(part, []).append(each)
        if parts or held.tried:
            whole = {part: pa.concat_tables(each) for part, each in parts.items()}
            self._table.commit(whole, held.replaced, held.tried, held.mark)
        self._held = _nothing()
