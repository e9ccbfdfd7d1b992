"""Rows of a kind in Arrow, and as the content of a Parquet file.

Arrow takes longer to load than a run that finds nothing new: only what writes needs it. Arrays are
made of their bytes, since `pyarrow.array` would load pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nagle_scan.fleet import fields

ARROW = {
    fields.TEXT: pa.string(),
    fields.INTEGER: pa.int64(),
    fields.NUMBER: pa.float64(),
    fields.BOOL: pa.bool_(),
    fields.TIME: pa.timestamp("us", tz="UTC"),
    fields.DAY: pa.date32(),
    fields.INTEGERS: pa.list_(pa.int64()),
}
WIDTHS = {fields.NUMBER: np.float64, fields.DAY: np.int32}
"""Types of numbers in numpy; all others are 64-bit integers."""
RISING = (fields.INTEGER, fields.TIME)
"""Kinds with values that rise from row to row, as frames and times do; others repeat them."""
ABOUT = "nagle-scan"
"""The key of what a commit says of itself."""
Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Plain lists by name: times in us and days since the epoch."""


@cache
def schema(kind: str) -> pa.Schema:
    """The columns of a file."""
    return pa.schema([pa.field(field.name, ARROW[field.kind]) for field in fields.written(kind)])


def rows(kind: str, columns: Columns, batch: int = 0) -> pa.Table:
    """Rows of a kind; a column that is missing is null."""
    number = len(next(iter(columns.values()), ()))
    made = {**columns, fields.BATCH.name: [batch] * number}
    arrays = [
        _array(field.kind, made.get(field.name) or [None] * number)
        for field in fields.written(kind)
    ]
    return pa.Table.from_arrays(arrays, schema=schema(kind))


def _array(kind: str, values: Sequence[Any]) -> pa.Array:
    number = len(values)
    is_there = np.fromiter((value is not None for value in values), bool, number)
    known = None if is_there.all() else pa.py_buffer(np.packbits(is_there, bitorder="little"))
    if kind == fields.BOOL:
        bits = np.packbits(np.fromiter(map(bool, values), bool, number), bitorder="little")
        content = [pa.py_buffer(bits)]
    elif kind == fields.TEXT:
        texts = [(value or "").encode() for value in values]
        content = [_ends(texts), pa.py_buffer(b"".join(texts))]
    elif kind == fields.INTEGERS:
        lists = [value or () for value in values]
        within = _array(fields.INTEGER, list(chain.from_iterable(lists)))
        return pa.Array.from_buffers(ARROW[kind], number, [known, _ends(lists)], children=[within])
    else:
        plain = np.fromiter((value or 0 for value in values), WIDTHS.get(kind, np.int64), number)
        content = [pa.py_buffer(plain)]
    return pa.Array.from_buffers(ARROW[kind], number, [known, *content])


def _ends(each: Iterable[Sequence[Any]]) -> pa.Buffer:
    ends = list(accumulate(map(len, each), initial=0))
    return pa.py_buffer(np.array(ends, np.int32))


def content(kind: str, parts: Sequence[pa.Table], about: str = "") -> bytes:
    """A file with these rows; `about` is what a commit says of itself.

    It has no statistics: for each column they take more room than a night's rows."""
    rising = [field.name for field in fields.written(kind) if field.kind in RISING]
    names = schema(kind).names
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema(kind),
        compression="zstd",
        compression_level=5,
        store_schema=False,
        write_statistics=False,
        write_page_checksum=True,
        use_dictionary=[name for name in names if name not in rising],
        column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    ) as writer:
        # One group of rows: equal values of many sets are then stored once. An answer of SQL
        # may call the same type by another name.
        writer.write_table(
            pa.concat_tables([schema(kind).empty_table(), *parts]).cast(schema(kind))
        )
        if about:
            writer.add_key_value_metadata({ABOUT: about})
    written: bytes = sink.getvalue().to_pybytes()
    return written
