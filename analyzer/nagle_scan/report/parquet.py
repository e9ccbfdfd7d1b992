"""`-o stalls.parquet`: the DataFrame of the stalls. Needs pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nagle_scan.system import files

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from nagle_scan.report.options import Options
    from nagle_scan.result import Result


def write(result: Result, path: str, options: Options) -> None:
    """Writes the table. Raises `OutputError`."""
    import pyarrow.parquet as pq

    del options
    # By its name, pyarrow would delete what cannot be written, be it a device.
    with files.whole(path) as name, open(name, "wb") as file:
        pq.write_table(table(result.stalls), file)


def table(frame: pd.DataFrame) -> pa.Table:
    """With the index as a column, if it is a number with a name."""
    import pyarrow as pa

    has_number = frame.index.name is not None
    return pa.Table.from_pandas(frame.reset_index() if has_number else frame, preserve_index=False)
