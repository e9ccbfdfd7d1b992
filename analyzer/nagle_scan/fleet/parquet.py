"""Parquet files as a dataset has them: how they are written, and which there are."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.fleet import tables
from nagle_scan.fleet.journal import Change, is_changing
from nagle_scan.system import files

FAILURES = "failures.parquet"
RUNS = "runs.parquet"
PATIENCE_S, PAUSE_S = 10.0, 0.1
"""With a change that is under way."""
T = TypeVar("T")
SCHEMA = "day=none/schema.parquet"
"""In each table, without a row: see `dataset`."""
ROWS_IN_GROUP = 1 << 14
"""So few that a reader who looks for some sets can skip most of a part."""


@contextlib.contextmanager
def reading(path: str, kind: type[NagleScanError]) -> Iterator[None]:
    """Raises `kind` if files of the dataset are damaged, or are none of it."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        told = files.reason_of(error) if isinstance(error, OSError) else str(error)
        raise kind(f"{path}: a damaged dataset: {told.partition(chr(10))[0]}") from None


def settled(path: str, read: Callable[[], T]) -> T:
    """What `read` gives of a folder in which no change is half done, before it or meanwhile.

    Raises `CaptureError`, also if that takes too long: a run was killed then.
    """
    for _ in range(round(PATIENCE_S / PAUSE_S)):
        before = _last_change(path)
        try:
            with reading(path, CaptureError):
                result = read()
        except CaptureError:
            if not is_changing(path) and _last_change(path) == before:
                raise
        else:
            if not is_changing(path) and _last_change(path) == before:
                return result
        time.sleep(PAUSE_S)
    raise CaptureError(f"{path}: a run was cut off while it wrote: the next one ends that")


def _last_change(path: str) -> int:
    """Each writes all lists."""
    try:
        return os.stat(os.path.join(path, RUNS)).st_mtime_ns
    except FileNotFoundError:
        return 0


def files_of(path: str, table: str) -> dict[str, list[str]]:
    """The files of a table, relative to the folder, by part."""
    found: dict[str, list[str]] = defaultdict(list)
    folder = os.path.join(path, table)
    for day in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        for name in sorted(os.listdir(os.path.join(folder, day))):
            file = f"{table}/{day}/{name}"
            if name.endswith(".parquet") and file != f"{table}/{SCHEMA}":
                found[name.removesuffix(".parquet").partition("-")[0]].append(file)
    return found


def captures(path: str, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
    """These columns of the captures for which `where` is true, or of all."""
    # It imports pandas.
    import pyarrow.dataset as ds

    folder = os.path.join(path, "captures")
    if not os.path.isdir(folder):
        return pa.table({name: [] for name in columns})
    return ds.dataset(folder, format="parquet").to_table(list(columns), where)


def add(
    change: Change, path: str, name: str, part: str, table: pa.Table, gone: Collection[str]
) -> None:
    """Writes rows of a table to a part, in the place of those of the sets that are `gone`."""
    if not os.path.exists(os.path.join(path, name, SCHEMA)):
        write(change, f"{name}/{SCHEMA}", table.slice(0, 0).drop_columns("day"))
    of_gone = {f"{part}-{set_id}.parquet" for set_id in gone}
    before = []
    for file in files_of(path, name).get(part, []) if gone else ():
        if os.path.basename(file) == f"{part}.parquet":
            before.append(file)
        elif os.path.basename(file) in of_gone:
            change.remove(file)
    if before:
        with reading(path, OutputError):
            old = [_read(path, file).select(table.column_names) for file in before]
        kept = [_without(each, gone) for each in old]
        both = pa.concat_tables([*kept, table.cast(kept[0].schema)])
        table = both.take(pc.sort_indices(both, [("set", "ascending")]))
    written = set()
    for day, rows in _by_day(table):
        file = f"{name}/day={day}/{part}.parquet"
        write(change, file, rows)
        written.add(file)
    for file in before:
        if file not in written:
            change.remove(file)


def add_files(
    change: Change, name: str, part: str, set_id: str, of_day: Mapping[str, bytes]
) -> None:
    """Adds rows of a set to a part that are `encoded` already."""
    for day, content in of_day.items():
        with change.file(f"{name}/day={day}/{part}-{set_id}.parquet") as file:
            file.write(content)


def _read(path: str, file: str) -> pa.Table:
    """A file of a part, with the day that its folder tells."""
    table = pq.ParquetFile(os.path.join(path, file)).read()
    day = file.split("/")[1].removeprefix("day=")
    number = tables.NO_DAY if day == "none" else int(np.datetime64(day, "D").astype(np.int64))
    return table.append_column("day", pa.array(np.full(len(table), number, np.int32)))


def _without(table: pa.Table, sets: Collection[str]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["set"], pa.array(sorted(sets), pa.string()))))


def _by_day(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each day; they stay in their order."""
    rows, days = table, _numbers(table["day"])
    if (np.diff(days) < 0).any():
        rows = table.take(pc.sort_indices(table, [("day", "ascending")]))
        days = _numbers(rows["day"])
    begins = np.flatnonzero(np.diff(days, prepend=np.nan)).tolist()
    rows = rows.drop_columns("day")
    for begin, end in pairwise([*begins, len(days)]):
        number = int(days[begin])
        day = "none" if number == tables.NO_DAY else str(np.datetime64(number, "D"))
        yield day, rows.slice(begin, end - begin)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int32]:
    """`to_numpy` would import pandas, which a worker has no room for."""
    chunks = [np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)]
    return np.concatenate(chunks) if chunks else np.empty(0, np.int32)


def encoded(table: pa.Table) -> dict[str, bytes]:
    """The files of a table, by day."""
    made = {}
    for day, rows in _by_day(table):
        sink = pa.BufferOutputStream()
        _encode(rows, sink)
        made[day] = sink.getvalue().to_pybytes()
    return made


def write(change: Change, name: str, table: pa.Table) -> None:
    """A file."""
    with change.file(name) as file:
        _encode(table, file)


def _encode(table: pa.Table, into: IO[bytes] | pa.NativeFile) -> None:
    """Measured: encoded by kind, numbers take half the time that dictionaries of them take."""
    texts, encodings = [], {}
    for column in table.schema:
        kind = column.type
        if pa.types.is_floating(kind):
            encodings[column.name] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
            encodings[column.name] = "DELTA_BINARY_PACKED"
        elif not pa.types.is_boolean(kind):
            texts.append(column.name)
    pq.write_table(
        table.unify_dictionaries(),
        into,
        compression="zstd",
        row_group_size=ROWS_IN_GROUP,
        use_dictionary=texts,
        column_encoding=encodings,
        # Else readers would be told of Arrow's dictionaries: to them it is text.
        store_schema=False,
    )


def rows(path: str, name: str) -> list[dict[str, Any]]:
    """Of a small file; none if it is not there."""
    file = os.path.join(path, name)
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist() if os.path.exists(file) else []
    return rows
