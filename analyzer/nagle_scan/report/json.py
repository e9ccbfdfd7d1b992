"""`-o result.json`: the output contract, written by the engine."""

from __future__ import annotations

from nagle_scan.outputs import Options
from nagle_scan.results import Scan


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes schema `nagle-scan/1`. Raises `OutputError`."""
    del options
    scan.to_json(path)
