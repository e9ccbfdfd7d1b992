"""The Delta tables of a fleet, to be asked. What is in a detail table counts if its `batch` and
`set` are in `captures`, and `query` shows only that."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    SchemaMismatchError,
    TableNotFoundError,
)

from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.fleet.fields import DETAILS, SQL_KINDS, tables
from nagle_scan.fleet.remote import is_url
from nagle_scan.words.wording import printable

if TYPE_CHECKING:
    from nagle_scan.fleet.work import Settings

STATE, RUNNING, ENDED = "nagle-scan", "running", "ended"
"""In the information of each commit to `captures`; `ENDED` is that of a run's last one."""
STORE_CODE = re.compile(r"<Code>(\w+)</Code>")
WORD = re.compile("[A-Z][a-z]*")
NO_NAME = re.compile(r"[\x00-\x1f\x7f#?\[\]^|\\]|%[0-9A-Fa-f]{2}")
"""delta-rs takes a path for a URL: with these it writes elsewhere, or panics."""
ARROW = "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS}\x1b[0m"
"""delta-rs writes it before the cause of an error."""


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


class Lake:
    """The tables in a folder (a path, `s3://`, `gs://` or `az://`)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.options = storage_options(path)
        self._tables: dict[str, DeltaTable] = {}

    @classmethod
    def open(cls, path: str) -> Lake:
        """To read. Raises `CaptureError` for what is no fleet."""
        check_name(path, CaptureError)
        lake = cls(path)
        with told(path, CaptureError):
            if lake.table("captures") is None:
                raise CaptureError(f"{path}: no fleet")
            lake.scope  # noqa: B018
        return lake

    @property
    def scope(self) -> Scope:
        """Raises `CaptureError` for a table that is not of a fleet."""
        table = self.table("captures")
        assert table is not None
        try:
            return Scope(**json.loads(table.metadata().description))
        except (TypeError, ValueError):
            raise CaptureError(f"{self.path}: no fleet: a table of something else") from None

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
            table = self.table(name)
            if table is not None:
                builder.register(f"all_{name}", table)
            views.append(f"{name} AS ({_view(name, table, self._is_whole)})")
        try:
            reader = pa.RecordBatchReader.from_stream(
                builder.execute(f"WITH {', '.join(views)} {sql}")
            )
            yield pa.RecordBatch.from_pylist([], reader.schema)
            yield from reader
        except (DeltaError, pa.ArrowException) as error:
            raise ValueError(_line(error)) from None

    @cached_property
    def _is_whole(self) -> bool:
        """Did no run write while the tables were opened, nor leave half of a batch?"""
        captures = self.table("captures")
        for name in DETAILS:
            self.table(name)
        latest = DeltaTable(self.uri("captures"), storage_options=self.options)
        same = captures is not None and captures.version() == latest.version()
        return same and latest.history(1)[0].get(STATE) == ENDED

    def table(self, name: str) -> DeltaTable | None:
        """One of the five; `None` if it is not there."""
        if name not in self._tables:
            try:
                self._tables[name] = DeltaTable(self.uri(name), storage_options=self.options)
            except TableNotFoundError:
                return None
        return self._tables[name]

    def uri(self, name: str) -> str:
        """Its place."""
        return f"{self.path.rstrip('/')}/{name}"


def storage_options(path: str) -> dict[str, str]:
    """What an object store needs; credentials come from the environment."""
    if not path.startswith(("s3://", "s3a://")):
        return {}
    # A commit is refused if there is one of its number.
    options = {"conditional_put": "etag"}
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        options["allow_http"] = "true"
    return options


def check_name(path: str, kind: type[NagleScanError]) -> None:
    """Refuses a folder of which delta-rs would make another."""
    if found := NO_NAME.search(path if is_url(path) else os.path.realpath(path)):
        raise kind(f"{path}: Delta tables cannot be in a folder with {found[0]!a} in its name")


@contextlib.contextmanager
def told(path: str, kind: type[NagleScanError]) -> Iterator[None]:
    """What Delta raises, in one line."""
    try:
        yield
    except CommitFailedError:
        raise taken(path) from None
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


def _view(name: str, table: DeltaTable | None, is_whole: bool) -> str:
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
    if is_whole or name == "captures":
        return rows
    return f"{rows} LEFT SEMI JOIN all_captures c ON t.batch = c.batch AND t.set = c.set"


def quoted(texts: Iterable[str]) -> str:
    """As a list in SQL."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def taken(path: str, more: str = "") -> OutputError:
    """Two runs must not add the same."""
    return OutputError(f"{path}: another run writes into it{more}")
