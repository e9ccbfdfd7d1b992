"""The Delta table of a fleet, to be asked: partitioned by kind and day."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from nagle_scan.errors import CaptureError, NagleScanError
from nagle_scan.fleet.fields import SQL_TYPES, tables
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.work import Settings
from nagle_scan.system import files
from nagle_scan.words.wording import printable

if TYPE_CHECKING:
    from arro3.core import Table as Answer

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
        """That of a run. A filter may name an address."""
        filter, key = settings.filter, settings.key
        if key is None:
            return cls(filter, settings.min_wait_ms, None)
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
        self._found = self._opened()

    @property
    def is_there(self) -> bool:
        """Is there a table?"""
        return self._found is not None

    @property
    def delta(self) -> DeltaTable:
        """Raises where there is none."""
        if self._found is None:
            raise self.error(f"{self.path}: no fleet")
        return self._found

    @property
    def scope(self) -> Scope:
        """Raises for a table of something else, and where there is none."""
        try:
            return Scope(**json.loads(self.delta.metadata().description))
        except (TypeError, ValueError):
            raise self.error(f"{self.path}: no fleet: a table of something else") from None

    def query(self, sql: str) -> Answer:
        """The result of SQL (DataFusion) over the kinds of rows, each as a table of its own.

        Raises `ValueError` for SQL that cannot be run.
        """
        there = {field.name for field in self.delta.schema().fields}
        views = ", ".join(f"{kind} AS ({_view(kind, there)})" for kind in tables())
        try:
            asked = QueryBuilder().register("fleet", self.delta)
            return asked.execute(f"WITH {views} {sql}").read_all()
        except Exception as error:
            raise ValueError(reason(error)) from None

    def each(self, sql: str) -> Iterator[dict[str, Any]]:
        """The same as Python objects, one row at a time."""
        found = self.query(sql)
        return (dict(zip(found.column_names, row, strict=True)) for row in python_rows(found))

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """All of them, of which there are few."""
        return list(self.each(sql))

    def files(self) -> list[dict[str, Any]]:
        """What the log names: path, size_bytes, num_records, partition.kind and partition.day."""
        found: Any = self.delta.get_add_actions(flatten=True)
        names = found.schema.names
        return [dict(zip(names, row, strict=True)) for row in python_rows(found)]

    def _opened(self) -> DeltaTable | None:
        with self._told():
            try:
                return DeltaTable(self.path, storage_options=storage_options(self.path))
            except TableNotFoundError:
                return None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What Delta raises, in one line."""
        try:
            yield
        except (DeltaError, OSError) as error:
            raise self.error(f"{self.path}: {reason(error)}") from None


def storage_options(path: str) -> dict[str, str]:
    """What an object store needs; credentials come from the environment."""
    if not path.startswith(("s3://", "s3a://")):
        return {}
    # A commit is refused if there is one of its number.
    options = {"conditional_put": "etag"}
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        options["allow_http"] = "true"
    return options


def reason(error: BaseException) -> str:
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
        else f"arrow_cast(NULL, '{SQL_TYPES[field.kind]}') AS \"{field.name}\""
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
