"""`-o result.json`: the output contract, written by the engine."""

from __future__ import annotations

from nagle_scan.outputs import Options
from nagle_scan.report import files
from nagle_scan.results import Scan


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes schema `nagle-scan/1`. Raises `OutputError`."""
    if options.baseline is None:
        scan.to_json(path)
        return
    from nagle_scan.report import baseline

    with files.whole(path) as name:
        scan.core.write_json(name, baseline.members(options.baseline, scan))
