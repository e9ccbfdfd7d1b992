"""`-o stalls.parquet`: the DataFrame of the stalls, waits or exchanges. Needs pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nagle_scan.system import files

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

TABLES = "waits", "exchanges"
"""A file is named by its table; any other is of stalls."""


def write(result: Result, path: str, options: Options) -> None:
    """Writes the table. Raises `OutputError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    del options
    name = path.lower().removesuffix(".parquet")
    which = next((table for table in TABLES if name.endswith(table)), "stalls")
    table = pa.Table.from_pandas(result.table(which), preserve_index=False)
    # By its name, pyarrow would delete what cannot be written, be it a device.
    with files.whole(path) as name, open(name, "wb") as file:
        pq.write_table(table, file)
