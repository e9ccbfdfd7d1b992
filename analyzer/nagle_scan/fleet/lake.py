"""The Delta tables of a fleet: whole batches only, also if a run dies at any moment.

A batch writes its details first and `captures` last. What is in a detail table counts if its
`batch` and `set` are in `captures`, and `query` shows only that. On a local disk a lock keeps a
second run away, in an object store the last commit does; there the store refuses a commit on top
of another.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    SchemaMismatchError,
    TableNotFoundError,
)

from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.fleet.fields import DETAILS, SQL_KINDS, schema, tables
from nagle_scan.fleet.remote import is_url
from nagle_scan.system import files
from nagle_scan.words.wording import printable

if TYPE_CHECKING:
    from nagle_scan.fleet.work import Settings

LOCK = ".lock"
STATE = "nagle-scan"
"""In the information of each commit to `captures`: `running`, or `ended` after the last one."""
LEASE = timedelta(minutes=5)
"""In an object store, a run without a commit for so long is dead: it commits every minute."""
KEEP_FILES = timedelta(hours=24)
"""Files that no table has any more stay so long for those who read them."""
MOST_SMALL_FILES = 8
"""Of a day: more are made one."""
STORE_CODE = re.compile(r"<Code>(\w+)</Code>")
WORD = re.compile("[A-Z][a-z]*")
ARROW = "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS}\x1b[0m"
"""delta-rs writes it before the cause of an error."""
ONCE = 0
"""Attempts at a commit after the first: another run has come in between."""


class Scope(NamedTuple):
    """How all captures of a fleet are scanned: results of others would not add up."""

    filter: str | None
    min_wait_ms: float
    key: str | None
    """A fingerprint of it."""

    @classmethod
    def of(cls, settings: Settings) -> Scope:
        """That of a run."""
        key = settings.key and blake2b(b"fleet", key=settings.key, digest_size=8).hexdigest()
        return cls(settings.filter, settings.min_wait_ms, key or None)

    def differs(self, other: Scope) -> str:
        """What the fleet was made with, if it is not the same; else empty."""
        if self.filter != other.filter:
            return f"a filter {self.filter!r}" if self.filter else "no filter"
        if self.min_wait_ms != other.min_wait_ms:
            return f"--min-wait {self.min_wait_ms:g}"
        if self.key != other.key:
            return "another key" if self.key and other.key else "a key" if self.key else "no key"
        return ""


class Lake:
    """The tables in a folder (a path, `s3://`, `gs://` or `az://`)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._options = storage_options(path)
        self._tables: dict[str, DeltaTable] = {}

    @classmethod
    def open(cls, path: str) -> Lake:
        """To read. Raises `CaptureError` for what is no fleet."""
        lake = cls(path)
        with _told(path, CaptureError):
            if lake._table("captures") is None:
                raise CaptureError(f"{path}: no fleet")
            lake.scope  # noqa: B018
        return lake

    @property
    def scope(self) -> Scope:
        """Raises `CaptureError` for a table that is not of a fleet."""
        table = self._table("captures")
        assert table is not None
        try:
            return Scope(**json.loads(table.metadata().description))
        except (TypeError, ValueError):
            raise CaptureError(f"{self.path}: no fleet: a table of something else") from None

    def refresh(self) -> None:
        """Sees what others have committed since."""
        for table in self._tables.values():
            table.update_incremental()

    def query(self, sql: str) -> pa.Table:
        """The result of SQL (DataFusion) over the five tables, whole batches only.

        Raises `ValueError` for SQL that cannot be run.
        """
        result = pa.Table.from_batches(list(self.batches(sql)))
        plain = [
            field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field
            for field in result.schema
        ]
        return result.cast(pa.schema(plain))

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The same, some rows at a time; a first batch without any tells the columns."""
        builder = QueryBuilder()
        views = []
        for name in tables():
            table = self._table(name)
            if table is not None:
                builder.register(f"all_{name}", table)
            views.append(f"{name} AS ({_view(name, table)})")
        try:
            reader = pa.RecordBatchReader.from_stream(
                builder.execute(f"WITH {', '.join(views)} {sql}")
            )
            yield pa.RecordBatch.from_pylist([], reader.schema)
            yield from reader
        except (DeltaError, pa.ArrowException) as error:
            raise ValueError(_line(error)) from None

    def _table(self, name: str) -> DeltaTable | None:
        if name not in self._tables:
            try:
                self._tables[name] = DeltaTable(self._uri(name), storage_options=self._options)
            except TableNotFoundError:
                return None
        return self._tables[name]

    def _uri(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"


class Writer(Lake):
    """The one run that may write."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = uuid.uuid4().hex[:8]
        self._number = 0

    def begin(self, scope: Scope) -> None:
        """Takes the fleet over, and removes what a run that died has left of a batch."""
        captures = self._table("captures")
        if captures is None:
            captures = self._create("captures", json.dumps(scope._asdict()))
        elif difference := self.scope.differs(scope):
            raise OutputError(f"{self.path}: scanned with {difference}: name a new folder")
        last = captures.history(1)[0]
        was_running = last.get(STATE, "running") == "running"
        if was_running and is_url(self.path) and last.get("run"):
            at = datetime.fromtimestamp(last["timestamp"] / 1000, UTC)
            if datetime.now(UTC) - at < LEASE:
                raise _taken(self.path, f", last at {at:%H:%M:%S} UTC")
        self.beat()
        if was_running:
            self._sweep()

    def beat(self) -> None:
        """Tells others that this run is alive. Raises `OutputError` if another has come in."""
        self._commit(schema("captures").empty_table(), "running")

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
        with _told(self.path, OutputError):
            for name in DETAILS:
                if name in rows and rows[name].num_rows:
                    self._append(name, _in_batch(rows[name], batch))
        self._commit(_in_batch(rows["captures"], batch), "running", _gone(replaced, tried, batch))
        if replaced:
            with _told(self.path, OutputError):
                self._delete(f"set IN ({quoted(replaced)})")

    def end(self, keep: timedelta | None) -> None:
        """Drops days that are older than `keep`, makes few files of many, and lets go."""
        with _told(self.path, OutputError):
            if keep is not None:
                oldest = (datetime.now(UTC) - keep).date()
                self._delete(f"day < '{oldest}'", names=DETAILS[1:])
            for name in tables():
                self._tidy(name)
        self._commit(schema("captures").empty_table(), "ended")

    def _tidy(self, name: str) -> None:
        table = self._table(name)
        if table is None:
            return
        paths = table.file_uris()
        days = {os.path.dirname(path) for path in paths}
        if len(paths) > MOST_SMALL_FILES * max(1, len(days)):
            table.optimize.compact()
        hours = int(KEEP_FILES.total_seconds() // 3600)
        table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)

    def _sweep(self) -> None:
        """Details of batches and sets that `captures` does not know."""
        whole = self.query("SELECT DISTINCT batch, set FROM captures")
        known = set(zip(*(whole[name].to_pylist() for name in ("batch", "set")), strict=True))
        for name in DETAILS:
            if (table := self._table(name)) is None:
                continue
            found = QueryBuilder().register(name, table)
            rows = pa.table(found.execute(f"SELECT DISTINCT batch, set FROM {name}").read_all())
            for batch, set_id in zip(
                *(rows[column].to_pylist() for column in ("batch", "set")), strict=True
            ):
                if (batch, set_id) not in known:
                    self._delete(f"batch = '{batch}' AND set = '{set_id}'", names=[name])

    def _delete(self, predicate: str, names: Sequence[str] = DETAILS) -> None:
        for name in names:
            if (table := self._table(name)) is not None:
                table.delete(predicate)

    def _append(self, name: str, rows: pa.Table) -> None:
        table = self._table(name) or self._create(name)
        write_deltalake(table, rows, mode="append", schema_mode="merge")

    def _commit(self, rows: pa.Table, state: str, gone: str = "") -> None:
        told = CommitProperties({STATE: state, "run": self._run}, max_commit_retries=ONCE)
        with _told(self.path, OutputError):
            captures = self._table("captures")
            assert captures is not None
            if gone:
                write_deltalake(
                    captures,
                    rows,
                    mode="overwrite",
                    predicate=gone,
                    schema_mode="merge",
                    commit_properties=told,
                )
            else:
                write_deltalake(
                    captures, rows, mode="append", schema_mode="merge", commit_properties=told
                )

    def _create(self, name: str, description: str | None = None) -> DeltaTable:
        days = None if name == "captures" else ["day"]
        with _told(self.path, OutputError):
            self._tables[name] = DeltaTable.create(
                self._uri(name),
                schema(name),
                partition_by=days,
                description=description,
                storage_options=self._options,
            )
        return self._tables[name]


@contextlib.contextmanager
def writing(path: str, scope: Scope) -> Iterator[Writer]:
    """The fleet, to be added to. Raises `OutputError`, also while another run writes into it."""
    with contextlib.ExitStack() as held:
        if not is_url(path):
            held.enter_context(_alone(path))
        writer = Writer(path)
        with _told(path, OutputError):
            writer.begin(scope)
        yield writer


def check(path: str, scope: Scope) -> None:
    """Raises `OutputError` for a place where `writing` would fail; writes nothing."""
    if not is_url(path):
        _check_folder(path)
    lake = Lake(path)
    with _told(path, OutputError):
        if lake._table("captures") is not None and (difference := lake.scope.differs(scope)):
            raise OutputError(f"{path}: scanned with {difference}: name a new folder")


def storage_options(path: str) -> dict[str, str]:
    """What an object store needs; credentials come from the environment."""
    if not path.startswith(("s3://", "s3a://")):
        return {}
    # A commit is refused if there is one of its number.
    options = {"conditional_put": "etag"}
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        options["allow_http"] = "true"
    return options


def _check_folder(path: str) -> None:
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
            raise _taken(path) from None
        yield


def _taken(path: str, told: str = "") -> OutputError:
    return OutputError(f"{path}: another run writes into it{told}")


@contextlib.contextmanager
def _told(path: str, kind: type[NagleScanError]) -> Iterator[None]:
    """What Delta raises, in one line."""
    try:
        yield
    except CommitFailedError:
        raise _taken(path) from None
    except SchemaMismatchError as error:
        raise kind(f"{path}: a table of something else: {_line(error)}") from None
    except (DeltaError, OSError) as error:
        raise kind(f"{path}: {_line(error)}") from None


def _line(error: BaseException) -> str:
    """The innermost reason; of a store its own code, as in `NoSuchBucket`."""
    told = str(error)
    if code := STORE_CODE.search(told):
        return " ".join(WORD.findall(code[1])).lower()
    reasons = [line.rpartition(ARROW)[2] for line in told.splitlines() if ARROW in line]
    return printable((reasons or [told.partition("\n")[0]])[-1].strip())


def _view(name: str, table: DeltaTable | None) -> str:
    """Rows of whole batches, with the columns that a later version has added."""
    there = set() if table is None else {field.name for field in table.schema().fields}
    missing = [
        f"arrow_cast(NULL, '{SQL_KINDS[field.kind]}') AS {field.name}"
        for field in tables()[name]
        if field.name not in there
    ]
    if table is None:
        return f"SELECT {', '.join(missing)} WHERE FALSE"
    rows = f"SELECT {', '.join(['t.*', *missing])} FROM all_{name} t"
    if name == "captures":
        return rows
    return f"{rows} LEFT SEMI JOIN all_captures c ON t.batch = c.batch AND t.set = c.set"


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


def quoted(texts: Iterable[str]) -> str:
    """As a list in SQL."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
