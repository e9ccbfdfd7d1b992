"""What was found in a capture set, as Arrow tables. Workers build them, so without pandas.

Columns are those of the DataFrames of `nagle_scan.Scan`, with the same names, units and meanings;
`set` comes first. Unknown numbers (NaN there) are null, categories are text. `day` (int32: days
since 1970-01-01 UTC, `NO_DAY` where the capture tells no date) becomes the folder of the row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from nagle_scan import _core
from nagle_scan.fleet import identity
from nagle_scan.report import verdicts
from nagle_scan.words.wording import sentence_start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan.fleet.work import Capture, Job, Settings

WITHOUT_CAPTURES = ("stalls", "connections", "waits", "servers")
NAMES = (*WITHOUT_CAPTURES, "captures")
DAY_OF = {"stalls": "time_ns", "connections": "first_ns", "waits": "time_ns"}
"""The column that tells the day of a row; servers have that of the set's first frame."""
DAY_NS = 86_400_000_000_000
NO_DAY = -(1 << 31)
MOST_DAYS = 1000
"""A table of a set with more has all its rows on the first: a broken clock must not make a folder
for each."""
UTC_NS = pa.timestamp("ns", tz="UTC")
KINDS = {
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.float64): pa.float64(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.uint8): pa.uint8(),
}
Column: TypeAlias = "NDArray[Any] | list[str] | tuple[NDArray[Any], list[str]]"
"""As the engine gives it: numbers, texts, or codes of a category and its names."""
NAME_LEN = 8
"""Bytes of what stands for a path: no two of a billion captures are likely to share it."""


def of(scan: _core.Scan, job: Job, settings: Settings) -> dict[str, pa.Table]:
    """The tables of `NAMES`; every column is there even if a table has no row.

    `scan` must have been anonymized if there is a key: names of captures are replaced here.
    """
    summary = scan.summary()
    captures = _captures(scan, summary, job, settings)
    begin = _day(summary.first_ns) if summary.has_dates and summary.packets else NO_DAY
    tables = {
        name: _table(name, scan.columns(name), job.id, summary.has_dates, begin)
        for name in WITHOUT_CAPTURES
    }
    return {**tables, "captures": captures}


def with_run(table: pa.Table, run: int) -> pa.Table:
    """Behind the set, the run that added it."""
    at = table.schema.get_field_index("set") + 1
    return table.add_column(at, "run", _array(np.full(len(table), run, np.int64)))


def to_bytes(tables: dict[str, pa.Table]) -> dict[str, bytes]:
    """As Arrow IPC streams."""
    return {name: _stream(table) for name, table in tables.items()}


def from_bytes(stream: bytes) -> pa.Table:
    """What `to_bytes` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()


def shown(capture: Capture, key: bytes | None) -> tuple[str, str]:
    """Path and host as the tables have them: with a key, both may tell an address or a person."""
    if key is None:
        return capture.url, capture.host
    return hidden(capture.shown, key), ""


def hidden(text: str, key: bytes) -> str:
    """What stands for `text`: always the same with the same key."""
    return f"capture-{blake2b(text.encode(), digest_size=NAME_LEN, key=key).hexdigest()}"


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _table(
    name: str, columns: dict[str, Any], set_id: str, has_dates: bool, begin: int
) -> pa.Table:
    rows = len(next(iter(columns.values())))
    made = {"set": _repeated(set_id, rows)}
    for column, values in columns.items():
        made[column] = _array(values)
        if column.endswith("_ns"):
            made[column.removesuffix("_ns")] = _times(values, has_dates)
    told = DAY_OF.get(name)
    made["day"] = _array(_days(columns[told] if told else None, rows, has_dates, begin))
    return pa.table(made)


def _days(
    time_ns: NDArray[np.int64] | None, rows: int, has_dates: bool, begin: int
) -> NDArray[np.int32]:
    if time_ns is not None and has_dates:
        days = (time_ns // DAY_NS).astype(np.int32)
        if rows <= MOST_DAYS or len(np.unique(days)) <= MOST_DAYS:
            return days
    return np.full(rows, begin, np.int32)


def _captures(scan: _core.Scan, summary: _core.Summary, job: Job, settings: Settings) -> pa.Table:
    """One row for each file. Numbers of the whole set stand in the row of its first file."""
    read = _in_order(json.loads(scan.json_head())["captures"])
    files = sorted(job.captures, key=lambda file: (file.first_ns is None, file.first_ns or 0))
    names = [shown(file, settings.key) for file in files]
    files = [identity.keyed(file, settings.key) for file in files]
    rows = len(files)
    dated = summary.has_dates
    first_ns = [file.first_ns for file in files]
    last_ns = [each["last_ns"] if each["packets"] else None for each in read]
    days = [_day(at) if dated and at is not None else NO_DAY for at in first_ns]
    rest = [None] * (rows - 1)
    columns = {
        "set": _repeated(job.id, rows),
        "file": _integers(range(rows)),
        "path": _texts([path for path, _ in names]),
        "host": _texts([host for _, host in names]),
        "size": _integers([file.size for file in files]),
        "content": _texts([file.content for file in files]),
        "head": _texts([file.head for file in files]),
        "first_ns": _integers(first_ns),
        "first": _integers(first_ns if dated else [None] * rows).view(UTC_NS),
        "last_ns": _integers(last_ns),
        "last": _integers(last_ns if dated else [None] * rows).view(UTC_NS),
        "first_frame": _integers([each["first_frame"] for each in read]),
        "packets": _integers([each["packets"] for each in read]),
        "complete": _array(np.array([each["complete"] for each in read], bool)),
        "warnings": _texts(["\n".join(each["warnings"]) for each in read]),
        "verdict": _repeated(summary.verdict, rows),
        "cannot_tell": _repeated(_cannot_tell(summary), rows),
        "connections": _integers([summary.connections, *rest]),
        "exchanges": _integers([summary.exchanges, *rest]),
        "stalls": _integers([summary.stalls, *rest]),
        "stalled_ms": _array(np.array([summary.stalled_ms, *([np.nan] * len(rest))])),
        "version": _repeated(settings.version, rows),
        "day": _array(np.array(days, np.int32)),
    }
    return pa.table(columns)


def _cannot_tell(summary: _core.Summary) -> str:
    """Why there is no verdict; empty if there is one."""
    if summary.verdict != "inconclusive":
        return ""
    return sentence_start(verdicts.cannot_tell(summary))


def _in_order(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As `_captures` orders the files; those without frames come last."""
    return sorted(read, key=lambda each: (not each["packets"], each["first_ns"] or 0))


def _day(time_ns: int) -> int:
    return time_ns // DAY_NS


def _array(values: Column) -> pa.Array:
    """A column of the engine. `pa.array` would import pandas, which a worker has no room for."""
    if isinstance(values, tuple):
        codes, names = values
        return _coded(codes.astype(np.int32, copy=False), _words(tuple(names)))
    if isinstance(values, list):
        return _texts(values)
    if values.dtype == bool:
        return _of_buffers(pa.bool_(), len(values), None, _bits(values))
    known = ~np.isnan(values) if values.dtype == np.float64 else None
    return _of_buffers(KINDS[values.dtype], len(values), known, pa.py_buffer(values))


def _times(time_ns: NDArray[np.int64], has_dates: bool) -> pa.Array:
    known = None if has_dates else np.zeros(len(time_ns), bool)
    return _of_buffers(UTC_NS, len(time_ns), known, pa.py_buffer(time_ns))


def _integers(values: Sequence[int | None]) -> pa.Array:
    known = np.array([value is not None for value in values], bool)
    numbers = np.array([value or 0 for value in values], np.int64)
    return _of_buffers(pa.int64(), len(values), known, pa.py_buffer(numbers))


@cache
def _words(names: tuple[str, ...]) -> pa.Array:
    """Of a category."""
    return _texts(names)


def _texts(values: Sequence[str]) -> pa.Array:
    encoded = [value.encode() for value in values]
    ends = np.array([*accumulate(map(len, encoded), initial=0)], np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _repeated(text: str, rows: int) -> pa.Array:
    return _coded(np.zeros(rows, np.int32), _texts([text]))


def _coded(codes: NDArray[np.int32], texts: pa.Array) -> pa.Array:
    """Each text once: a third less to send, and half the time to write."""
    return pa.DictionaryArray.from_arrays(_array(codes), texts)


def _of_buffers(
    kind: pa.DataType, rows: int, known: NDArray[np.bool_] | None, content: pa.Buffer
) -> pa.Array:
    # Faster than `all`, for the few rows of a small capture.
    is_known = None if known is None or np.count_nonzero(known) == rows else _bits(known)
    return pa.Array.from_buffers(kind, rows, [is_known, content])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
