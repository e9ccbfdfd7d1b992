"""`-o stalls.csv`: one row per stall, written by the engine."""

from __future__ import annotations

from nagle_scan import files
from nagle_scan.report.formats import Options
from nagle_scan.result import Result


def write(result: Result, path: str, options: Options) -> None:
    """Writes the stalls. Raises `OutputError`."""
    del options  # It takes none.
    with files.whole(path) as name:
        result.core.write_csv(name)
