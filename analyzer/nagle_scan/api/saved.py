"""Scans as Parquet files, to be opened again without their captures. Needs pyarrow.

One file holds one row: what was found in a few columns for whoever has many such files, and in
`state` all of it, which only the same version reads. A folder has the tables beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.report import parquet, verdicts
from nagle_scan.report.formats import EXTRAS
from nagle_scan.result import NOT_A_FILE, Result, size_of
from nagle_scan.system import files

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SUFFIX = ".parquet"
SCAN = "scan.parquet"
TABLES = ("connections", "stalls", "waits", "servers", "exchanges")
MOST_BYTES = 1 << 31
"""Of `state`: more does not fit into a value of a Parquet file."""
NO_PYARROW = f"scans are saved as Parquet, which needs pyarrow: pip install {EXTRAS['pyarrow']}"


class About(NamedTuple):
    """What Python knows of a scan beside the engine. Never the key of its addresses."""

    paths: list[str]
    sizes: list[int]
    filter: str | None
    min_wait_ms: float
    has_exchanges: bool
    key_is_random: bool


def about(result: Result) -> About:
    """Of an anonymized scan, neither names nor the filter: both may tell addresses."""
    hidden = result.is_anonymized
    sizes = result.sizes or [NOT_A_FILE if hidden else size_of(path) for path in result.paths]
    return About(
        result.captures,
        list(sizes),
        "" if hidden and result.filter is not None else result.filter,
        float(result.min_wait_ms),
        result.has_exchanges,
        result.key_is_random,
    )


def write(result: Result, path: str) -> None:
    """Writes a file, or a folder with the tables beside it, whole or not at all.

    Raises `OutputError` for a name that ends neither with `.parquet` nor with `/`, and for what
    cannot be written; `ImportError` without pyarrow.
    """
    with _pyarrow():
        import pyarrow.parquet as pq
    if path.endswith(SUFFIX) and not os.path.isdir(path):
        with files.whole(path) as name, open(name, "wb") as file:
            pq.write_table(_row(result), file, **_AS_IT_IS)
        return
    if not (path.endswith(("/", os.sep)) or os.path.isdir(path)):
        raise OutputError(f"{path}: a scan is saved as {SUFFIX} or into a folder ({path}/)")
    files.make_folder(path)
    with contextlib.ExitStack() as together:
        # Each gets its name when all are written, the scan last.
        target = together.enter_context(files.whole(os.path.join(path, SCAN)))
        pq.write_table(_row(result), target, **_AS_IT_IS)
        for table in TABLES:
            if table != "exchanges" or result.has_exchanges:
                target = together.enter_context(files.whole(os.path.join(path, table + SUFFIX)))
                pq.write_table(parquet.table(getattr(result, table)), target)


_AS_IT_IS: dict[str, Any] = {"compression": "none", "use_dictionary": False}
"""The state is compressed already."""


@contextlib.contextmanager
def _pyarrow() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise ImportError(NO_PYARROW) from None


def _row(result: Result) -> pa.Table:
    import pyarrow as pa

    summary, told = result.core.summary(), about(result)
    state = result.core.state()
    if len(state) >= MOST_BYTES:
        raise OutputError("the scan is too large to be saved")
    row = {
        "version": pa.array([_core.VERSION]),
        "verdict": pa.array([summary.verdict]),
        "sentence": pa.array([verdicts.in_one_line(summary)]),
        "packets": pa.array([summary.packets]),
        "connections": pa.array([summary.connections]),
        "stalls": pa.array([summary.stalls]),
        "stalled_ms": pa.array([summary.stalled_ms]),
        "captures": pa.array([told.paths], pa.list_(pa.string())),
        "filter": pa.array([told.filter], pa.string()),
        "min_wait_ms": pa.array([told.min_wait_ms]),
        "about": pa.array([to_json(told)]),
        "state": pa.array([state], pa.binary()),
    }
    return pa.table(row)


def read(path: str) -> tuple[About, bytes]:
    """What `write` wrote, file or folder.

    Raises `CaptureError` for anything else; `ImportError` without pyarrow.
    """
    with _pyarrow():
        import pyarrow as pa
        import pyarrow.parquet as pq
    name = os.path.join(path, SCAN) if os.path.isdir(path) else path
    try:
        if not os.path.isfile(name):
            raise CaptureError(f"{name}: no such file")
        with pq.ParquetFile(name) as file:
            _check(file.metadata, os.path.getsize(name))
            row = file.read(["about", "state"]).to_pylist()[0]
        told, state = from_json(row["about"]), row["state"]
    except (pa.ArrowException, OSError, LookupError, ValueError, TypeError, RecursionError):
        raise CaptureError(f"{name}: not a saved scan") from None
    if not isinstance(state, bytes):
        raise CaptureError(f"{name}: not a saved scan")
    return told, state


def _check(metadata: pq.FileMetaData, size: int) -> None:
    """Raises `ValueError` unless the file has one row that takes no more room than the file."""
    if metadata.num_rows != 1 or metadata.num_row_groups != 1:
        raise ValueError("one row is a scan")
    group = metadata.row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    wanted = [column for column in columns if column.path_in_schema in ("about", "state")]
    if any(column.compression != "UNCOMPRESSED" for column in wanted) or any(
        column.total_uncompressed_size > size for column in wanted
    ):
        raise ValueError("it is not packed")


def to_json(told: About) -> str:
    """As the file has it: columns with lists could claim any length."""
    return json.dumps(told._asdict())


def from_json(text: str) -> About:
    """What `to_json` wrote; `ValueError`, `TypeError` or `RecursionError` for anything else."""
    told = About(**json.loads(text))
    kinds = zip(told, (list, list, (str, type(None)), float, bool, bool), strict=True)
    right = all(isinstance(value, kind) for value, kind in kinds)  # type: ignore[arg-type]
    if not right or len(told.paths) != len(told.sizes):
        raise ValueError("another form")
    if not all(isinstance(path, str) for path in told.paths):
        raise ValueError("a path is a text")
    return told
