"""A scan in passes, for a set of captures that is more than one machine should stream.

`records_of` decodes one capture into records: the segments, without payload, some 10 to 25 bytes
each, in a Parquet file. `track` follows the connections of one of 16 shards through the records of
all captures. `combine` judges what all shards saw: the scan is the one that `scan_captures` gives
for the same captures, frame numbers, stream ids and warnings included.

All captures, and then all shards, can be worked on at the same time, each in another process: the
functions and what they take and return can be pickled. Memory follows the connections, never the
packets. The records are of use to the same version only; whoever has the scan removes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.system import files

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARDS = 16
"""By addresses and ports: each connection is in one of them."""

_SUMMARY = b"nagle-scan"
"""Under this key the file has the summary, too: whose records are these?"""


class FileRecords(NamedTuple):
    """The records of one capture."""

    path: str
    """The Parquet file that has them."""
    label: str
    """What the capture is called."""
    summary: bytes
    """What the engine needs to know of the capture."""
    row_groups: tuple[tuple[int, ...], ...]
    """Of each shard, in the order of their frames."""


def records_of(path: str, label: str, filter: str | None, into: str) -> FileRecords:
    """Decodes the capture `path`, called `label`, and writes its records to the file `into`.

    The path may be a pipe (`/dev/fd/7`), which is read once. `filter` is a BPF expression. The
    file is there whole or not at all. A capture without a header has no records; what that means,
    `combine` knows. Raises `CaptureError` for what cannot be read at all, `FilterError` for a bad
    expression, `OutputError` for a file that cannot be written.
    """
    capture = _core.CaptureRecords(path, label, filter)
    shards: list[list[int]] = [[] for _ in range(SHARDS)]
    written = 0
    with files.whole(into) as name, open(name, "wb") as file, _writer(file) as writer:
        while (batch := capture.next_batch()) is not None:
            shard, columns = batch
            writer.write_table(_table(columns))
            shards[shard].append(written)
            written += 1
        summary = capture.summary()
        writer.add_key_value_metadata({_SUMMARY: summary})
    return FileRecords(into, label, summary, tuple(map(tuple, shards)))


def track(
    shard: int, captures: Sequence[FileRecords], min_wait_ms: float, exchanges: bool = False
) -> bytes:
    """Follows the connections of a shard, 0 to 15, through all captures, for `combine`.

    Captures may come in any order: as in a scan, their first frames decide. `exchanges` keeps each
    exchange. Raises `CaptureError` for records that are missing, damaged or of another capture or
    version.
    """
    tracker = _core.ShardTracker([one.summary for one in captures], shard, min_wait_ms, exchanges)
    for place, capture in enumerate(captures[at] for at in tracker.order):
        if not capture.row_groups[shard]:
            continue
        with _named(capture), pq.ParquetFile(capture.path, **_READING) as file:
            if (file.metadata.metadata or {}).get(_SUMMARY) != capture.summary:
                raise CaptureError("these are the records of another capture")
            for group in capture.row_groups[shard]:
                tracker.take(place, _columns(file.read_row_group(group, use_threads=False)))
    return tracker.end()


def combine(
    captures: Sequence[FileRecords], shards: Sequence[bytes], threads: int | None = None
) -> _core.Scan:
    """The scan of these captures, by what `track` gave for each of the 16 shards, in any order.

    `threads` are those of `scan_captures`. Raises `CaptureError` for parts that are
    damaged, missing or of another scan, and if no capture has a header.
    """
    return _core.combine_shards([one.summary for one in captures], list(shards), threads)


_SCHEMA = pa.schema(
    {
        "time_ns": pa.int64(),
        "frame": pa.uint64(),
        "low_net": pa.uint64(),
        "low_host": pa.uint64(),
        "high_net": pa.uint64(),
        "high_host": pa.uint64(),
        "low_port": pa.uint16(),
        "high_port": pa.uint16(),
        "tunnel": pa.uint64(),
        "facts": pa.uint8(),
        "seq": pa.uint32(),
        "ack": pa.uint32(),
        "len": pa.uint32(),
        "window": pa.uint16(),
        "ip_id": pa.uint16(),
        "flags": pa.uint8(),
        "options": pa.uint8(),
        "tsval": pa.uint32(),
        "detail": pa.uint16(),
    }
)
"""The columns of the engine, in its order."""

_RISING = ("time_ns", "frame")
_MANIFOLD = ("seq", "ack", "ip_id", "tsval", "detail")

_WRITING: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": [name for name in _SCHEMA.names if name not in (*_RISING, *_MANIFOLD)],
    "column_encoding": dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
    "write_statistics": False,
    "write_page_checksum": True,
    "store_schema": False,
}
"""Measured: 12 to 22 bytes a record, 6 million records a second."""

_READING: dict[str, Any] = {"page_checksum_verification": True, "pre_buffer": False}


def _writer(file: BinaryIO) -> pq.ParquetWriter:
    """Of a file that Python opened, so that errors are the system's: pyarrow has other words."""
    return pq.ParquetWriter(file, _SCHEMA, **_WRITING)


def _table(columns: Mapping[str, Any]) -> pa.Table:
    """`pa.array` would import pandas, which a worker has no room for."""
    arrays = [
        pa.Array.from_buffers(
            field.type, len(columns[field.name]), [None, pa.py_buffer(columns[field.name])]
        )
        for field in _SCHEMA
    ]
    return pa.table(arrays, schema=_SCHEMA)


def _columns(table: pa.Table) -> dict[str, Any]:
    if table.schema.names != _SCHEMA.names:
        raise CaptureError("the records are damaged")
    whole = table.combine_chunks()
    # `to_numpy` would import pandas.
    return {name: np.from_dlpack(whole.column(name).chunk(0)) for name in table.schema.names}


@contextmanager
def _named(capture: FileRecords) -> Iterator[None]:
    """Errors name the file, in one line."""
    try:
        yield
    except FileNotFoundError:
        raise CaptureError(f"{capture.path}: the records of {capture.label} are gone") from None
    except (OSError, pa.ArrowException, IndexError):
        raise CaptureError(f"{capture.path}: the records are damaged") from None
    except CaptureError as error:
        raise CaptureError(f"{capture.path}: {error}") from None
