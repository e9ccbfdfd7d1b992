"""Result files: which module writes which format, by the suffix of the file's name."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nagle_scan.results import Scan

FORMATS = {
    ".json": "nagle_scan.report.json",
    ".csv": "nagle_scan.report.csv",
    ".html": "nagle_scan.report.html",
    ".png": "nagle_scan.timeline.file",
    ".svg": "nagle_scan.timeline.file",
    ".pdf": "nagle_scan.timeline.file",
}
"""Module by suffix. Each has `write(scan, path, options)`; imported when it is needed."""


class Options(NamedTuple):
    """What the caller asked for and every format must respect."""

    min_wait_ms: float


def suffix(path: str) -> str:
    """The suffix that tells the format, in lower case."""
    return PurePath(path).suffix.lower()


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes `scan` to `path` in the format of its suffix, one of `FORMATS`."""
    import_module(FORMATS[suffix(path)]).write(scan, path, options)
