"""Rows of a kind in Arrow, and as the Parquet files of the table.

Arrow takes longer to load than a run that finds nothing new: only what writes needs it. Arrays are
made by arro3, since pyarrow would load pandas for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import accumulate
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from arro3.core import Array, DataType

from nagle_scan.fleet import fields
from nagle_scan.fleet.fields import Field

ARROW = {
    fields.TEXT: pa.string(),
    fields.INTEGER: pa.int64(),
    fields.NUMBER: pa.float64(),
    fields.BOOL: pa.bool_(),
    fields.TIME: pa.timestamp("us", tz="UTC"),
    fields.DAY: pa.date32(),
    fields.INTEGERS: pa.list_(pa.int64()),
}
MADE = {
    fields.TEXT: DataType.string(),
    fields.NUMBER: DataType.float64(),
    fields.BOOL: DataType.bool(),
    fields.DAY: DataType.int32(),
}
"""What arro3 makes; all others are 64-bit integers."""
RISING = (fields.INTEGER, fields.TIME)
"""Frames and times rise from row to row; what else there is of a column is often the same."""
Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Plain lists by name: times in us and days since the epoch."""
Part: TypeAlias = tuple[str, date | None]
"""A partition: kind and day."""


def schema(every: Iterable[Field]) -> pa.Schema:
    """Of these columns."""
    return pa.schema([pa.field(field.name, ARROW[field.kind]) for field in every])


@cache
def schema_of(kind: str) -> pa.Schema:
    """Of a file with rows of a kind; their day is in its path."""
    return schema(field for field in fields.tables()[kind] if field != fields.DATE)


def rows(kind: str, columns: Columns) -> dict[Part, pa.Table]:
    """Rows of a kind by partition; a column that is missing is null."""
    days = columns.get("day", ())
    if len(every := set(days)) < 2:
        return {(kind, _date(day)): _table(kind, columns, len(days)) for day in every}
    places: dict[int | None, list[int]] = {day: [] for day in every}
    for place, day in enumerate(days):
        places[day].append(place)
    return {
        (kind, _date(day)): _table(
            kind, {name: [each[at] for at in own] for name, each in columns.items()}, len(own)
        )
        for day, own in places.items()
    }


def _date(day: int | None) -> date | None:
    return None if day is None else date(1970, 1, 1) + timedelta(days=day)


def _table(kind: str, columns: Columns, number: int) -> pa.Table:
    arrays = [
        _array(field.kind, columns.get(field.name) or [None] * number)
        for field in fields.tables()[kind]
        if field != fields.DATE
    ]
    return pa.Table.from_arrays(arrays, schema=schema_of(kind))


def _array(kind: str, values: Sequence[Any]) -> pa.Array:
    if kind == fields.INTEGERS:
        ends = list(accumulate(map(len, (value or () for value in values)), initial=0))
        begins = [None if value is None else at for at, value in zip(ends, values, strict=False)]
        within = [one for value in values for one in value or ()]
        offsets = pa.array(Array([*begins, ends[-1]], DataType.int32()))
        return pa.ListArray.from_arrays(offsets, _array(fields.INTEGER, within))
    made = pa.array(Array(values, MADE.get(kind, DataType.int64())))
    return made.view(ARROW[kind])


def content(rows: pa.Table) -> pa.Buffer:
    """A file with these rows. What else Parquet would say of each column takes more than a night's
    rows of it."""
    rising = [name for name in rows.schema.names if fields.columns()[name].kind in RISING]
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        compression_level=5,
        store_schema=False,
        write_statistics=False,
        use_dictionary=[name for name in rows.schema.names if name not in rising],
        column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    )
    return sink.getvalue()


def read(source: Any, columns: list[str] | None = None) -> pa.Table:  # noqa: ANN401
    """The rows of a file, or of bytes of one."""
    return pq.ParquetFile(source).read(columns)
