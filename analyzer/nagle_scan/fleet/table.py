"""The rows of a fleet, asked in SQL: of each set, those of the newest batch count."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import duckdb

from nagle_scan.errors import CaptureError
from nagle_scan.fleet.fields import CHANGES, COMMIT, SQL_TYPES, tables, written
from nagle_scan.fleet.folder import Folder, name_of
from nagle_scan.fleet.work import Settings, digits
from nagle_scan.words.wording import count, printable

CONFIG = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""Nothing from the network but the fleet, and no name of Python's in SQL."""
OF_SQL = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError)
"""Errors of whoever asks."""
AT_ONCE = 1000
"""Rows of an answer that are fetched at once."""
BATCH_BITS = 20
"""Random bits of a batch's number: two runs that write in one millisecond still differ."""
IN_USE = (
    f'SELECT DISTINCT filename, "set" FROM every_{COMMIT} SEMI JOIN newest USING ("set", batch)'
)
ABOUT = "SELECT file_name, decode(value) FROM parquet_kv_metadata({}) WHERE decode(key) = '{}'"


class Scope(NamedTuple):
    """How all captures of a fleet are scanned: results of others would not add up."""

    filter: str | None
    min_wait_ms: float
    key: str | None
    """A fingerprint of it."""

    @classmethod
    def of(cls, settings: Settings) -> Scope:
        """The scope of a run. A filter may name an address."""
        options, key = settings.options, settings.key
        min_wait_ms = float(options.min_wait_ms)
        if key is None:
            return cls(options.filter, min_wait_ms, None)
        filter = options.filter and _print(options.filter, key)
        return cls(filter, min_wait_ms, _print("a fleet", key))

    def differs(self, other: Scope) -> str:
        """The filter, limit or key that the fleet was made with, if it is another; else empty."""
        if self.filter != other.filter:
            return f"a filter {self.filter!r}" if self.filter else "no filter"
        if self.min_wait_ms != other.min_wait_ms:
            return f"--min-wait {self.min_wait_ms:g}"
        if self.key != other.key:
            return "another key" if self.key and other.key else "a key" if self.key else "no key"
        return ""


def _print(text: str, key: bytes) -> str:
    return blake2b(text.encode(), key=key, digest_size=8).hexdigest()


class Commit(NamedTuple):
    """A batch as its file of captures describes it."""

    scope: Scope
    files: dict[str, int]
    """The sizes of the other files of the batch, by name."""

    @property
    def text(self) -> str:
        """The commit as its file holds it."""
        return json.dumps({**self._asdict(), "scope": self.scope._asdict()})

    @classmethod
    def read(cls, text: str) -> Commit:
        """Raises `ValueError`, `TypeError`, `KeyError` for anything but a commit's `text`."""
        about = json.loads(text)
        return cls(Scope(**about["scope"]), dict(about["files"]))


class Table:
    """The folder as it is at one moment. Raises `CaptureError` for what cannot be read."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.files = folder.files()
        self._views: set[str] = set()

    @property
    def is_there(self) -> bool:
        """Has any batch been written?"""
        return bool(self.names(COMMIT))

    def state(self, more: Iterable[str] = ()) -> str:
        """A name of the moment, with `more` files: another one if something was added or told."""
        every = {*self.names(COMMIT), *self.names(CHANGES), *more}
        return digits("\n".join(sorted(every)).encode())

    def names(self, kind: str) -> list[str]:
        """The files of a kind."""
        return [name for name in self.files if name.startswith(f"{kind}/")]

    @cached_property
    def commits(self) -> dict[str, Commit]:
        """Batches as their files of captures describe them, by the name of the file."""
        found = []
        if self.is_there:
            with self.explained():
                sql = ABOUT.format(self._places(self.names(COMMIT)), "nagle-scan")
                found = self.connection.execute(sql).fetchall()
        texts = {name_of(place): text for place, text in found}
        try:
            return {name: Commit.read(texts.get(name, "")) for name in self.names(COMMIT)}
        except (TypeError, ValueError, KeyError, AttributeError):
            raise CaptureError(
                f"{self.folder.path}: no fleet, but files of something else"
            ) from None

    @cached_property
    def in_use(self) -> list[tuple[str, str]]:
        """Files of captures that count, and a set of each."""
        with self.explained():
            found = self.connection.execute(IN_USE).fetchall()
        return [(name_of(place), set_id) for place, set_id in found]

    @property
    def scope(self) -> Scope:
        """Raises `CaptureError` where nothing was written."""
        every = {commit.scope for commit in self.commits.values()}
        if not every:
            raise CaptureError(f"{self.folder.path}: no fleet")
        if len(every) > 1:
            why = "runs with different settings have written into it: name a new folder"
            raise CaptureError(f"{self.folder.path}: {why}")
        return every.pop()

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A database with the newest batch of each set (`newest`). For rows see `asked`."""
        made = duckdb.connect(config={**CONFIG})
        made.execute("SET GLOBAL TimeZone = 'UTC'")
        source = self.source(COMMIT, self.names(COMMIT))
        made.execute(f"CREATE VIEW every_{COMMIT} AS {source}")
        # A row that is gone takes its set away.
        made.execute(
            f'CREATE TABLE newest AS SELECT "set", max(batch) AS batch, '
            f"arg_max(coalesce(gone, false), batch) AS gone FROM every_{COMMIT} GROUP BY 1"
        )
        return made

    def close(self) -> None:
        """Gives memory back; what was read is forgotten."""
        if "connection" in vars(self):
            self.connection.close()
            del self.connection
            self._views.clear()

    def asked(self, sql: str) -> duckdb.DuckDBPyConnection:
        """The connection, with two views for each kind that the SQL names: of the rows that count
        (`stalls`), and of all (`every_stalls`). Files of other kinds are not opened."""
        for kind, columns in tables().items():
            if kind in sql and kind not in self._views:
                names = ", ".join(f'"{field.name}"' for field in columns)
                of = ' SEMI JOIN (FROM newest WHERE NOT gone) USING ("set", batch)'
                of = "" if kind == CHANGES else of
                every = self.source(kind, self.counted(kind))
                made = self.connection
                made.execute(f"CREATE OR REPLACE VIEW every_{kind} AS {every}")
                made.execute(f"CREATE VIEW {kind} AS SELECT {names} FROM every_{kind}{of}")
                self._views.add(kind)
        return self.connection

    def counted(self, kind: str) -> list[str]:
        """The files of a kind in batches that count; any other may be half of a batch."""
        used = {name for name, _ in self.in_use}
        named = {name for one in used for name in self.commits[one].files}
        every = self.names(kind)
        return every if kind in (COMMIT, CHANGES) else [name for name in every if name in named]

    def source(self, kind: str, names: Iterable[str]) -> str:
        """The SQL of all rows of some files, with the columns that a later version has added."""
        nulls = ", ".join(
            f'NULL::{SQL_TYPES[field.kind]} AS "{field.name}"' for field in written(kind)
        )
        none = f"SELECT {nulls}, NULL::VARCHAR AS filename WHERE false"
        if not (places := list(names)):
            return none
        if damaged := self.folder.damaged(places):
            which = f"{count(len(damaged), 'file')} damaged, first {damaged[0]}"
            raise CaptureError(f"{self.folder.path}: {which}: --check puts them aside")
        read = f"read_parquet({self._places(places)}, union_by_name = true, filename = true)"
        return f"{none} UNION ALL BY NAME SELECT * FROM {read}"

    def _places(self, names: Iterable[str]) -> str:
        return f"[{quoted(self.folder.place(name) for name in names)}]"

    def query(self, sql: str) -> duckdb.DuckDBPyRelation:
        """The answer to SQL (DuckDB's). Raises `ValueError` for SQL that cannot be run, and
        `CaptureError` if it is the files that cannot be read."""
        with self.explained():
            return self.asked(sql).sql(sql)

    def answer(self, sql: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The answer to SQL as plain rows, with values for its question marks."""
        with self.explained():
            return self.asked(sql).execute(sql, given).fetchall()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raises any error of the block as its `reason`."""
        try:
            yield
        except Exception as error:
            raise self.reason(error) from None

    def reason(self, error: BaseException) -> CaptureError | ValueError:
        """The error that says who is to blame for an unanswered question."""
        if isinstance(error, CaptureError):
            return error
        lines = str(error).strip().splitlines() or [type(error).__name__]
        if isinstance(error, OF_SQL):
            return ValueError(printable(lines[0]))
        return CaptureError(f"{self.folder.path}: cannot read: {printable(lines[-1])}")

    def each(self, sql: str, given: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        """The rows of an answer, one at a time: there may be a million."""
        with self.explained():
            asked = self.asked(sql).cursor().execute(sql, given)
            names = [column[0] for column in asked.description]
            while some := asked.fetchmany(AT_ONCE):
                yield from (dict(zip(names, row, strict=True)) for row in some)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """All rows of an answer: a few."""
        return list(self.each(sql))

    @cached_property
    def next_batch(self) -> int:
        """The number of a batch that is newer than all there are, whatever the clock says."""
        newest: int = self.answer("SELECT coalesce(max(batch), 0) FROM newest")[0][0]
        now = (time.time_ns() // 1_000_000 << BATCH_BITS) + step()
        return max(now, newest + step())


def step() -> int:
    """The step by which a batch's number grows, when only its order matters."""
    return 1 + secrets.randbelow((1 << BATCH_BITS) - 1)


def quoted(texts: Iterable[str]) -> str:
    """Texts as a list in SQL."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
