"""Adds to a fleet: whole batches only, also if a run dies at any moment.

A batch writes its details first and `captures` last. On a local disk a lock keeps a second run
away, in an object store the last commit does; there the store refuses a commit on top of another.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, WriterProperties, write_deltalake

from nagle_scan.errors import OutputError
from nagle_scan.fleet.fields import DETAILS, schema, tables
from nagle_scan.fleet.lake import (
    ENDED,
    RUNNING,
    STATE,
    Lake,
    Scope,
    check_name,
    quoted,
    taken,
    told,
)
from nagle_scan.fleet.remote import is_url, remote, shown
from nagle_scan.system import files, leftovers

LOCK = ".lock"
LEASE = timedelta(minutes=5)
"""In an object store, a run without a commit for so long is dead: see `batch.BATCH_S`."""
MOST_SMALL_FILES = 8
"""Of a day: more are made one."""
PACKED = WriterProperties(compression="ZSTD", compression_level=3)
STORES = tuple(f"{scheme}://" for scheme in ("s3", "s3a", "gs", "az", "abfs", "abfss", "file"))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""No capture is older."""
ONCE = 0
"""Attempts at a commit after the first: another run has come in between."""


class Writer(Lake):
    """The one run that may write."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = uuid.uuid4().hex[:8]
        self._number = 0

    def begin(self, scope: Scope) -> None:
        """Takes the fleet over, and removes what a run that died has left of a batch."""
        captures = self.table("captures")
        if captures is None:
            captures = self._create("captures", json.dumps(scope._asdict()))
        elif difference := self.scope.differs(scope):
            raise OutputError(f"{self.path}: scanned with {difference}: name a new folder")
        last = captures.history(1)[0]
        was_running = last.get(STATE) != ENDED
        if was_running and is_url(self.path) and last.get("run"):
            at = datetime.fromtimestamp(last["timestamp"] / 1000, UTC)
            if datetime.now(UTC) - at < LEASE:
                raise taken(self.path, f", last at {at:%H:%M:%S} UTC")
        self._state(RUNNING)
        if was_running:
            self._sweep()

    def beat(self) -> None:
        """Tells other runs that this one is alive; on a local disk the lock does.

        Raises `OutputError` if another one has come in between.
        """
        if is_url(self.path):
            self._state(RUNNING)

    def _state(self, state: str) -> None:
        self._commit(schema("captures").empty_table(), state)

    def commit(
        self,
        rows: Mapping[str, pa.Table],
        replaced: Sequence[str] = (),
        tried: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Adds a batch. It takes the place of the sets `replaced`, and of the failures at these
        hosts and paths. Raises `OutputError`."""
        self._number += 1
        batch = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{self._run}-{self._number}"
        with told(self.path, OutputError):
            for name in DETAILS:
                if name in rows and rows[name].num_rows:
                    self._append(name, _in_batch(rows[name], batch))
            try:
                captures = _in_batch(rows["captures"], batch)
                self._commit(captures, RUNNING, _gone(replaced, tried, batch))
            except OutputError:
                self._delete(f"batch = '{batch}'")
                raise
            if replaced:
                self._delete(f"set IN ({quoted(replaced)})")

    def end(self, keep: timedelta | None) -> None:
        """Drops days that are older than `keep`, makes few files of many, and lets go."""
        with told(self.path, OutputError):
            if keep is not None:
                now = datetime.now(UTC)
                oldest = (now - min(keep, now - EPOCH)).date()
                self._delete(f"day < '{oldest}'", names=DETAILS[1:])
            for name in tables():
                self._tidy(name)
        self._state(ENDED)

    def _tidy(self, name: str) -> None:
        table = self.table(name)
        if table is None:
            return
        paths = table.file_uris()
        days = {os.path.dirname(path) for path in paths}
        if len(paths) > MOST_SMALL_FILES * max(1, len(days)):
            table.optimize.compact()

    def _sweep(self) -> None:
        """Details of batches and sets that `captures` does not know."""
        for column in ("batch", "set"):
            known = self._distinct("captures", column)
            for name in DETAILS:
                if left := self._distinct(name, column) - known:
                    self._delete(f"{column} IN ({quoted(left)})", names=[name])

    def _distinct(self, name: str, column: str) -> set[str]:
        """All rows of a table, also those that do not count."""
        if (table := self.table(name)) is None:
            return set()
        found = QueryBuilder().register(name, table)
        rows = found.execute(f"SELECT DISTINCT {column} FROM {name}").read_all()
        return set(pa.table(rows)[column].to_pylist())

    def _delete(self, predicate: str, names: Sequence[str] = DETAILS) -> None:
        for name in names:
            if (table := self.table(name)) is not None:
                table.delete(predicate)

    def _append(self, name: str, rows: pa.Table) -> None:
        table = self.table(name) or self._create(name)
        write_deltalake(table, rows, mode="append", schema_mode="merge", writer_properties=PACKED)

    def _commit(self, rows: pa.Table, state: str, gone: str = "") -> None:
        """In one step with the removal of rows that are `gone` (SQL)."""
        info = CommitProperties({STATE: state, "run": self._run}, max_commit_retries=ONCE)
        table = self.table("captures") or self.uri("captures")
        merged = partial(write_deltalake, table, rows, schema_mode="merge", commit_properties=info)
        with told(self.path, OutputError):
            if gone:
                merged(mode="overwrite", predicate=gone)
            else:
                merged(mode="append")

    def _create(self, name: str, description: str | None = None) -> DeltaTable:
        days = None if name == "captures" else ["day"]
        with told(self.path, OutputError):
            self._tables[name] = DeltaTable.create(
                self.uri(name),
                schema(name),
                partition_by=days,
                description=description,
                storage_options=self.options,
            )
        return self._tables[name]


@contextlib.contextmanager
def writing(path: str, scope: Scope) -> Iterator[Writer]:
    """The fleet, to be added to. Raises `OutputError`, also while another run writes into it."""
    with contextlib.ExitStack() as held:
        if not is_url(path):
            held.enter_context(_alone(path))
        writer = Writer(path)
        with told(path, OutputError):
            writer.begin(scope)
        yield writer


def check(path: str, scope: Scope) -> None:
    """Raises `OutputError` for a place where `writing` would fail; writes nothing."""
    if is_url(path):
        if not path.startswith(STORES):
            raise OutputError(f"{shown(path)}: results go to a folder, s3://, gs:// or az://")
        check_name(path, OutputError)
        # Raises for a package that is missing: the page is written last.
        remote(path)
    else:
        _check_folder(path)
    lake = Lake(path)
    with told(path, OutputError):
        if lake.table("captures") is not None and (difference := lake.scope.differs(scope)):
            raise OutputError(f"{path}: scanned with {difference}: name a new folder")


def _check_folder(path: str) -> None:
    check_name(path, OutputError)
    try:
        there = set(os.listdir(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
    if there - {LOCK} and not os.path.isdir(os.path.join(path, "captures", "_delta_log")):
        old = "a fleet of an older version" if "fleet.json" in there else "something else"
        raise OutputError(f"{path}: holds {old}: name a new folder")


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    _check_folder(path)
    try:
        os.makedirs(path, exist_ok=True)
        lock = open(os.path.join(path, LOCK), "ab")  # noqa: SIM115
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise taken(path) from None
        leftovers.clear(path)
        yield


def _in_batch(rows: pa.Table, batch: str) -> pa.Table:
    at = rows.schema.get_field_index("batch")
    return rows.set_column(at, rows.schema.field(at), pa.repeat(batch, rows.num_rows))


def _gone(replaced: Sequence[str], tried: Iterable[tuple[str, str]], batch: str) -> str:
    """Predicate for the rows that a batch takes the place of, and its own; empty for none."""
    gone = [f"set IN ({quoted(replaced)})"] if replaced else []
    by_host: dict[str, list[str]] = {}
    for host, path in tried:
        by_host.setdefault(host, []).append(path)
    gone += [
        f"(error IS NOT NULL AND host = {quoted([host])} AND path IN ({quoted(paths)}))"
        for host, paths in by_host.items()
    ]
    return " OR ".join([*gone, f"batch = '{batch}'"]) if gone else ""
