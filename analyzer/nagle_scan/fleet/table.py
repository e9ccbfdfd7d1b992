"""The Delta table of a fleet, partitioned by kind and day. A batch is one commit: all of it is
there, or nothing.

Every commit carries the number of its turn (a transaction of the protocol), so that a second run
is refused, and a mark of its run, by which a commit is found again whose answer was lost. On a
local disk, files, log and folders are synced before a commit counts as written. Nothing is deleted
but by `tidy`, and there only what the log has removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import (
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    QueryBuilder,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.fleet import remote
from nagle_scan.fleet.fields import SQL_KINDS, TIME, schema, tables
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.work import Place, Settings
from nagle_scan.system import files
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from arro3.core import Table as Answer

APP = "nagle-scan"
LOG = "_delta_log"
PARTS = ["kind", "day"]
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
TRIES = 3
"""At a commit."""
MOST_SMALL_FILES = 8
"""Of a kind and day: more are made one."""
MOST_ENTRIES = 20
"""Of the log, behind its last checkpoint."""
RETENTION = timedelta(days=7)
"""A reader that began before may still use a file."""
PACKED: dict[str, Any] = {"compression_level": 5, "store_schema": False, "write_statistics": False}
"""What else would be written of each column takes more than a night's rows of it."""
CONFIGURATION = {
    # Only `tidy` deletes, whenever it comes.
    "delta.enableExpiredLogCleanup": "false",
    "delta.deletedFileRetentionDuration": "interval 10000 days",
}
NO_CHECKPOINT = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
STORES = tuple(f"{scheme}://" for scheme in ("s3", "s3a", "gs", "az", "abfs", "abfss"))
STORE_CODE = re.compile(r"<Code>(\w+)</Code>")
WORD = re.compile("[A-Z][a-z]*")
NO_NAME = re.compile(r"[\x00-\x1f\x7f#?\[\]^|\\]|%[0-9A-Fa-f]{2}")
"""delta-rs takes a path for a URL: with these it writes elsewhere, or panics."""
ARROW = "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS}\x1b[0m"
"""delta-rs writes it before the cause of an error."""
LOST = "its rows in the table are gone"
"""The reason of a file that has to be read again: of no attempt."""
UNKNOWN = "unknown"
"""The path of a set whose row in `captures` is gone."""


class Scope(NamedTuple):
    """How all captures of a fleet are scanned: results of others would not add up."""

    filter: str | None
    min_wait_ms: float
    key: str | None
    """A fingerprint of it."""

    @classmethod
    def of(cls, settings: Settings) -> Scope:
        """That of a run."""
        filter, key = settings.filter, settings.key
        if key is None:
            return cls(filter, settings.min_wait_ms, None)
        # A filter may name an address.
        return cls(filter and _print(filter, key), settings.min_wait_ms, _print("a fleet", key))

    def differs(self, other: Scope) -> str:
        """What the fleet was made with, if it is not the same; else empty."""
        if self.filter != other.filter:
            return f"a filter {self.filter!r}" if self.filter else "no filter"
        if self.min_wait_ms != other.min_wait_ms:
            return f"--min-wait {self.min_wait_ms:g}"
        if self.key != other.key:
            return "another key" if self.key and other.key else "a key" if self.key else "no key"
        return ""


def _print(text: str, key: bytes) -> str:
    return blake2b(text.encode(), key=key, digest_size=8).hexdigest()


class Table:
    """A table to be asked. Raises `CaptureError` for what is no fleet."""

    error: type[NagleScanError] = CaptureError

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/") or path
        if found := NO_NAME.search(path if is_url(path) else os.path.realpath(path)):
            named = f"in a folder with {found[0]!a} in its name"
            raise self.error(f"{path}: Delta tables cannot be {named}")
        self.delta = self._opened()

    @property
    def scope(self) -> Scope:
        """Raises for a table of something else, and where there is none."""
        if self.delta is None:
            raise self.error(f"{self.path}: no fleet")
        try:
            return Scope(**json.loads(self.delta.metadata().description))
        except (TypeError, ValueError):
            raise self.error(f"{self.path}: no fleet: a table of something else") from None

    def query(self, sql: str) -> Answer:
        """The result of SQL (DataFusion) over the kinds of rows, each as a table of its own.

        Raises `ValueError` for SQL that cannot be run.
        """
        assert self.delta is not None
        there = {field.name for field in self.delta.schema().fields}
        views = ", ".join(f"{kind} AS ({_view(kind, there)})" for kind in tables())
        try:
            asked = QueryBuilder().register("fleet", self.delta)
            return asked.execute(f"WITH {views} {sql}").read_all()
        except Exception as error:
            raise ValueError(_line(error)) from None

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The same as Python objects."""
        found = self.query(sql)
        return [dict(zip(found.column_names, row, strict=True)) for row in python_rows(found)]

    def _opened(self) -> DeltaTable | None:
        with self._told():
            try:
                return DeltaTable(self.path, storage_options=storage_options(self.path))
            except TableNotFoundError:
                return None

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What Delta raises, in one line."""
        try:
            yield
        except (DeltaError, OSError) as error:
            raise self.error(f"{self.path}: {_line(error)}") from None

    def _files(self) -> list[dict[str, Any]]:
        """What the log names: path, size_bytes, partition.kind and .day, num_records."""
        assert self.delta is not None
        found: list[dict[str, Any]] = pa.table(self.delta.get_add_actions(flatten=True)).to_pylist()
        return found

    def _read(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """A file of the table, without its kind and day."""
        if not is_url(self.path):
            return pq.ParquetFile(f"{self.path}/{name}").read(columns)
        fs, path = remote.opened(self.path)
        return pq.ParquetFile(pa.BufferReader(fs.cat_file(f"{path}/{name}"))).read(columns)


class Writer(Table):
    """The one run that may write. Raises `OutputError`, also while another one writes."""

    error = OutputError

    def __init__(self, path: str) -> None:
        if is_url(path):
            if not path.startswith(STORES):
                raise OutputError(
                    f"{remote.shown(path)}: results go to a folder, s3://, gs://, az://"
                )
            # Raises for a package that is missing.
            remote.opened(path)
        else:
            _check_folder(path)
        super().__init__(path)
        self._begun: dict[str, int] = {}
        """The version before each commit, by its mark."""
        if self.delta is not None:
            self.scope  # noqa: B018

    def check(self, scope: Scope, may_lack: bool = False) -> None:
        """Raises for a fleet that is scanned otherwise, or damaged; writes nothing."""
        if self.delta is None:
            return
        if difference := self.scope.differs(scope):
            raise OutputError(f"{self.path}: scanned with {difference}: name a new folder")
        if may_lack:
            return
        if self._empty_entries():
            raise OutputError(f"{self.path}: damaged: an entry of its log is empty: {REPAIR}")
        if gone := self.gone():
            what = f"{count(len(gone), 'file')} of {len(self._files()):,} gone or cut off"
            raise OutputError(f"{self.path}: damaged: {what}, first {gone[0]['path']}: {REPAIR}")

    def begin(self, scope: Scope) -> None:
        """Makes the table if there is none, and adds columns that are new."""
        columns = {field.name: field for kind in tables() for field in schema(kind)}
        with self._told():
            if self.delta is None:
                write_deltalake(
                    self.path,
                    pa.schema([pa.field("kind", pa.string()), *columns.values()]).empty_table(),
                    partition_by=PARTS,
                    description=json.dumps(scope._asdict()),
                    configuration=CONFIGURATION,
                    storage_options=storage_options(self.path),
                )
                self.delta = self._opened()
                self._sync(0)
            assert self.delta is not None
            there = {field.name for field in self.delta.schema().fields}
            if new := [field for name, field in columns.items() if name not in there]:
                from deltalake import Schema

                wanted = Schema.from_arrow(pa.schema(new)).fields
                self._once(
                    lambda info: self._delta.alter.add_columns(wanted, commit_properties=info)
                )

    def commit(
        self,
        rows: Mapping[str, pa.Table],
        replaced: Collection[str] = (),
        tried: Collection[Place] = (),
        mark: str = "",
    ) -> None:
        """Adds a batch. It takes the place of the sets `replaced`, and of failures at the places
        `tried`. One with the `mark` of a commit that was interrupted is not added twice."""
        with self._told():
            if mark in self._begun and self._is_there(mark):
                return
            actions = self._without(replaced, tried)
            actions += (one for kind, each in rows.items() for one in self._added(kind, each))
            self._act(actions, mark)

    def drop(self, before: date) -> None:
        """Removes stalls, connections and waits of the days before; sums stay."""
        old = [
            one for one in self._files() if one["partition.day"] and one["partition.day"] < before
        ]
        self._act([_remove(one) for one in old if one["partition.kind"] in DETAILS])

    def end(self) -> None:
        """Makes few files of many, and a log that is read at once."""
        days = {(one["partition.kind"], one["partition.day"]) for one in self._files()}
        if len(self._files()) > MOST_SMALL_FILES * max(1, len(days)):
            packed = WriterProperties(compression="ZSTD", compression_level=3)
            self._once(
                lambda info: self._delta.optimize.compact(
                    commit_properties=info,
                    writer_properties=packed,
                    post_commithook_properties=NO_CHECKPOINT,
                )
            )
        names = sorted(self._sizes(LOG))
        last = max((name for name in names if "checkpoint.parquet" in name), default="")
        if sum(name > last for name in names if name.endswith(".json")) > MOST_ENTRIES:
            with self._told():
                self._delta.create_checkpoint()
                self._sync(self._delta.version())

    def sync_page(self, name: str) -> None:
        """It was written beside the table."""
        with self._told():
            self._sync_file(name)

    def is_older(self, name: str) -> bool:
        """Is a file beside the table older than its last commit, or not there?"""
        if is_url(self.path):
            return True
        log = f"{self.path}/{LOG}/{self._delta.version():020}.json"
        with contextlib.suppress(FileNotFoundError):
            return os.stat(f"{self.path}/{name}").st_mtime_ns < os.stat(log).st_mtime_ns
        return True

    def tidy(self) -> int:
        """Deletes files that the log has removed, a week ago or earlier; how many."""
        with self._told():
            hours = int(RETENTION / timedelta(hours=1))
            return len(self._delta.vacuum(hours, dry_run=False, enforce_retention_duration=False))

    def verify(self) -> tuple[int, int]:
        """Reads every row; files and rows. Raises `OutputError` for what cannot be read."""
        rows = 0
        for one in self._files():
            try:
                read = self._read(one["path"]).num_rows
            except Exception as error:
                raise OutputError(f"{self.path}: {one['path']}: {_line(error)}") from None
            if read != one["num_records"]:
                raise OutputError(
                    f"{self.path}: {one['path']}: {read:,} rows of {one['num_records']:,}"
                )
            rows += read
        return len(self._files()), rows

    def gone(self) -> list[dict[str, Any]]:
        """Files that the log names and that are not there with their size."""
        there = self._sizes()
        return [one for one in self._files() if there.get(one["path"]) != one["size_bytes"]]

    def repair(self) -> int:
        """Lets go of files that are gone; captures that may have had rows in them count as not
        read. How many files of captures these are."""
        for name in self._empty_entries():
            self._put(f"{LOG}/{name}", b'{"commitInfo":{}}\n')
        gone = self.gone()
        if not gone:
            return 0
        read = [
            (one, self._read(one["path"]))
            for one in self._files()
            if one["partition.kind"] == "captures" and one not in gone
        ]
        days = {one["partition.day"] for one in gone}
        every = [row for _, rows in read for row in rows.to_pylist() if row["error"] is None]
        sets = {row["set"] for row in every if _is_in(days, row["first"], row["last"])}
        kept = ("set", "path", "host", "size", "modified", "first_ns", "version", "scanned")
        marked = [
            {name: row[name] for name in kept} | {"error": LOST, "attempts": 0, "final": False}
            for row in every
            if row["set"] in sets
        ]
        if any(one["partition.kind"] == "captures" for one in gone):
            left = [self._read(one["path"], ["set"]) for one in self._files() if one not in gone]
            orphans = {id for each in left for id in pc.unique(each["set"]).to_pylist()}
            orphans -= {row["set"] for _, rows in read for row in rows.to_pylist()}
            unknown = {"host": "", "path": UNKNOWN, "error": LOST, "attempts": 0, "final": False}
            marked += ({"set": id, **unknown} for id in orphans)
        rows = pa.Table.from_pylist(marked, schema("captures"))
        actions: list[AddAction | RemoveAction] = [_remove(one) for one in gone]
        for one, held in read:
            actions += self._anew(one, held, sets, ())
        self._act([*actions, *self._added("captures", rows)])
        return len(marked)

    @property
    def _delta(self) -> DeltaTable:
        assert self.delta is not None
        return self.delta

    def _act(self, actions: list[AddAction | RemoveAction], mark: str = "") -> None:
        if actions:
            self._once(
                lambda info: self._delta.create_write_transaction(
                    actions,
                    "append",
                    self._delta.schema(),
                    PARTS,
                    commit_properties=info,
                    post_commithook_properties=NO_CHECKPOINT,
                ),
                mark,
            )

    def _once(self, commit: Any, mark: str = "") -> None:  # noqa: ANN401
        """Commits, and whatever the answer is, looks whether it is there."""
        why, mark = "", mark or uuid.uuid4().hex
        self._begun[mark] = self._delta.version()
        turn = (self._delta.transaction_version(APP) or 0) + 1
        info = CommitProperties({APP: mark}, app_transactions=[Transaction(APP, turn)])
        for attempt in range(TRIES):
            time.sleep(attempt)
            try:
                commit(info)
            except Exception as error:
                why = _line(error)
            if self._is_there(mark):
                return
        raise OutputError(f"{self.path}: {why}")

    def _is_there(self, mark: str) -> bool:
        """Did a commit take effect? Raises `OutputError` if that of another run did."""
        base = self._begun[mark]
        try:
            self.delta = self._opened()
            more = self._delta.version() - base
            entries = self._delta.history(more) if more else []
        except Exception as error:
            unknown = "nobody can tell whether the last batch is written"
            raise OutputError(f"{self.path}: {unknown}: {_line(error)}") from None
        if mark in [entry.get(APP) for entry in entries]:
            self._sync(base + 1)
            return True
        if entries:
            raise OutputError(f"{self.path}: another run writes into it")
        return False

    def _without(
        self, replaced: Collection[str], tried: Collection[Place]
    ) -> list[AddAction | RemoveAction]:
        """Files anew without the rows of these sets, and of failures at these places."""
        if not (replaced or tried):
            return []
        found: set[tuple[str, date | None]] = {("captures", None)} if tried else set()
        if replaced:
            sql = f'SELECT DISTINCT kind, day FROM fleet WHERE "set" IN ({quoted(replaced)})'
            found |= {(row["kind"], row["day"]) for row in self.rows(sql)}
        return [
            action
            for one in self._files()
            if (one["partition.kind"], one["partition.day"]) in found
            for action in self._anew(one, self._read(one["path"]), replaced, tried)
        ]

    def _anew(
        self,
        one: Mapping[str, Any],
        rows: pa.Table,
        replaced: Collection[str],
        tried: Collection[Place],
    ) -> Iterator[AddAction | RemoveAction]:
        goes = pc.is_in(rows["set"], pa.array(list(replaced), pa.string()))
        if one["partition.kind"] == "captures" and tried:
            at = pc.binary_join_element_wise(rows["host"], rows["path"], ":")
            failed = pa.array([":".join(place) for place in tried], pa.string())
            goes = pc.or_(goes, pc.and_(pc.is_in(at, failed), pc.is_valid(rows["error"])))
        if pc.any(goes).as_py():
            yield _remove(one)
            kept = rows.filter(pc.invert(goes))
            yield from self._file(one["partition.kind"], one["partition.day"], kept)

    def _added(self, kind: str, rows: pa.Table) -> Iterator[AddAction]:
        """A file for each day."""
        days = pc.unique(rows["day"]).to_pylist()
        for day in days:
            is_such = pc.is_null(rows["day"]) if day is None else pc.equal(rows["day"], day)
            own = rows if len(days) == 1 else rows.filter(pc.fill_null(is_such, False))
            yield from self._file(kind, day, own.drop_columns(["day"]))

    def _file(self, kind: str, day: date | None, rows: pa.Table) -> Iterator[AddAction]:
        if not len(rows):
            return
        name = f"kind={kind}/day={day or NO_DAY}/{uuid.uuid4().hex}.parquet"
        sink = pa.BufferOutputStream()
        rising = [one.name for one in rows.schema if one.type in (pa.int64(), TIME)]
        pq.write_table(
            rows,
            sink,
            compression="zstd",
            # Numbers of frames and times rise; what else there is of a column is often the same.
            use_dictionary=[name for name in rows.schema.names if name not in rising],
            column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
            **PACKED,
        )
        content = sink.getvalue()
        self._put(name, content)
        parts = {"kind": kind, "day": None if day is None else str(day)}
        stats = json.dumps({"numRecords": len(rows)})
        yield AddAction(name, content.size, parts, int(time.time() * 1000), True, stats)

    def _put(self, name: str, content: Any) -> None:  # noqa: ANN401
        """A new file, synced with its folders."""
        if is_url(self.path):
            fs, path = remote.opened(self.path)
            try:
                fs.pipe_file(f"{path}/{name}", bytes(content))
            except Exception as error:
                raise OutputError(f"{self.path}: {remote.reason(error)}") from None
            return
        path = f"{self.path}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        self._sync_file(name)

    def _sync(self, version: int) -> None:
        """Entries of the log from this version on, and what they added."""
        if is_url(self.path):
            return
        for name in self._sizes(LOG):
            if name[:20].isdigit() and int(name[:20]) < version:
                continue
            self._sync_file(f"{LOG}/{name}")
            if name.endswith(".json"):
                with open(f"{self.path}/{LOG}/{name}", encoding="utf-8") as file:
                    for line in file:
                        if added := json.loads(line).get("add"):
                            self._sync_file(added["path"])

    def _sync_file(self, name: str) -> None:
        """And the folders on the way to it."""
        while not is_url(self.path):
            descriptor = os.open(f"{self.path}/{name}", os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if not name:
                return
            name = os.path.dirname(name)

    def _sizes(self, folder: str = "") -> dict[str, int]:
        """Of all files of the table, or of its log."""
        top = f"{self.path}/{folder}".rstrip("/")
        if is_url(self.path):
            fs, path = remote.opened(top)
            fs.invalidate_cache()
            listed = fs.find(path, detail=True)
            return {name[len(path) + 1 :]: about["size"] for name, about in listed.items()}
        return {
            os.path.relpath(os.path.join(at, name), top): os.path.getsize(os.path.join(at, name))
            for at, _, names in os.walk(top)
            for name in names
        }

    def _empty_entries(self) -> list[str]:
        return sorted(
            name for name, size in self._sizes(LOG).items() if name.endswith(".json") and not size
        )


DETAILS = ("stalls", "connections", "waits")
"""What is kept for some days."""
REPAIR = "put it back, or let go of it with --again"


def _check_folder(path: str) -> None:
    """Raises `OutputError` for one that holds something else, or a link."""
    try:
        there = set(os.listdir(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
    if there and LOG not in there:
        raise OutputError(f"{path}: holds something else: name a new folder")
    for at, folders, names in os.walk(path):
        for name in (*folders, *names):
            if os.path.islink(found := os.path.join(at, name)):
                raise OutputError(f"{found}: a link, which may lead elsewhere: remove it")


def _remove(one: Mapping[str, Any]) -> RemoveAction:
    day = one["partition.day"]
    parts = {"kind": one["partition.kind"], "day": None if day is None else str(day)}
    return RemoveAction(one["path"], True, int(time.time() * 1000), one["size_bytes"], parts)


def _is_in(days: Collection[date | None], first: datetime | None, last: datetime | None) -> bool:
    """May a capture have rows of one of these days?"""
    if first is None or last is None:
        return None in days
    return any(day and first.date() <= day <= last.date() for day in days)


def storage_options(path: str) -> dict[str, str]:
    """What an object store needs; credentials come from the environment."""
    if not path.startswith(("s3://", "s3a://")):
        return {}
    # A commit is refused if there is one of its number.
    options = {"conditional_put": "etag"}
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        options["allow_http"] = "true"
    return options


def _line(error: BaseException) -> str:
    """The innermost reason; of a store its own code, as in `NoSuchBucket`."""
    if isinstance(error, OSError) and error.strerror:
        return files.reason_of(error)
    told = str(error)
    if code := STORE_CODE.search(told):
        return " ".join(WORD.findall(code[1])).lower()
    reasons = [line.rpartition(ARROW)[2] for line in told.splitlines() if ARROW in line]
    return printable((reasons or [told.partition("\n")[0]])[-1].strip())


def _view(kind: str, there: Collection[str]) -> str:
    """Rows of a kind, with the columns that a later version has added."""
    shown = (
        f'"{field.name}"'
        if field.name in there
        else f"arrow_cast(NULL, '{SQL_KINDS[field.kind]}') AS \"{field.name}\""
        for field in tables()[kind]
    )
    return f"SELECT {', '.join(shown)} FROM fleet WHERE kind = '{kind}'"


def python_rows(found: Answer) -> Iterator[tuple[Any, ...]]:
    """The rows of an answer, one at a time: there may be a million."""
    columns: Any = found.columns
    return zip(*((value.as_py() for value in column) for column in columns), strict=True)


def quoted(texts: Iterable[str]) -> str:
    """As a list in SQL."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
