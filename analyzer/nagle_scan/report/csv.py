"""`-o stalls.csv`: one row per stall, written by the engine."""

from __future__ import annotations

from nagle_scan.outputs import Options
from nagle_scan.results import Scan


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes the stalls. Raises `OutputError`."""
    del options
    scan.to_csv(path)
