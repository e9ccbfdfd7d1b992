"""What was found since the last commit, on its way into the tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from nagle_scan.fleet import tables
from nagle_scan.fleet.fields import schema

if TYPE_CHECKING:
    from nagle_scan.fleet.sets import Known, Place
    from nagle_scan.fleet.work import Failure, Scanned, Settings
    from nagle_scan.fleet.writer import Writer

BATCH_BYTES = 64 << 20
"""Of tables: so many at most wait to be written, and"""
BATCH_S = 30.0
"""so long: what a run that is killed loses. In an object store it also tells that the run lives."""


class Batch:
    """What is to be written next."""

    def __init__(self, writer: Writer, settings: Settings, known: Known) -> None:
        self._writer = writer
        self._settings = settings
        self._known = known
        self._clear()

    def _clear(self) -> None:
        self._streams: dict[str, list[bytes]] = {}
        self._failures: list[Failure] = []
        self._replaced: list[str] = []
        self._tried: list[Place] = []
        self._bytes = 0
        self._begun_s = time.monotonic()

    def add(self, scanned: Scanned) -> None:
        """A set is done."""
        self.fail(scanned.failures)
        if scanned.answer is None:
            return
        for name, stream in scanned.answer.tables.items():
            self._streams.setdefault(name, []).append(stream)
            self._bytes += len(stream)
        if scanned.job.replaces:
            self._replaced.append(scanned.job.replaces)
        self.forgive(self._known.place(one.host, one.url) for one in scanned.job.captures)

    def fail(self, failures: Sequence[Failure]) -> None:
        """Files could not be read."""
        for one in failures:
            at = self._known.place(one.host, one.path)
            before = self._known.attempts(at)
            self._failures.append(one._replace(attempts=one.attempts + before))
        self.forgive(self._known.place(one.host, one.path) for one in failures)

    def forgive(self, places: Iterator[Place]) -> None:
        """Failures there are over, or told anew."""
        self._tried += (at for at in places if self._known.attempts(at))

    def write_if_due(self) -> None:
        """See `BATCH_BYTES` and `BATCH_S`. Raises `OutputError`."""
        if self._bytes > BATCH_BYTES or time.monotonic() - self._begun_s > BATCH_S:
            self.write()

    def write(self) -> None:
        """Commits it. Raises `OutputError`."""
        if not (self._streams or self._failures or self._tried):
            self._writer.beat()
            self._begun_s = time.monotonic()
            return
        rows = {
            name: pa.concat_tables(map(tables.from_bytes, streams))
            for name, streams in self._streams.items()
        }
        failed = tables.of_failures(self._failures, self._settings)
        read = rows.get("captures", schema("captures").empty_table())
        rows["captures"] = pa.concat_tables([read, failed])
        self._writer.commit(rows, self._replaced, self._tried)
        self._clear()
