"""Result files: which module writes which format, by the suffix of the file's name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nagle_scan.results import Scan

FORMATS = {
    ".json": "nagle_scan.report.json",
    ".csv": "nagle_scan.report.csv",
    ".html": "nagle_scan.report.html",
    ".md": "nagle_scan.report.markdown",
    ".pcapng": "nagle_scan.report.evidence",
    ".png": "nagle_scan.timeline.file",
    ".svg": "nagle_scan.timeline.file",
    ".pdf": "nagle_scan.timeline.file",
}
"""Module by suffix. Each has `write(scan, path, options)`; imported when it is needed."""

BY_ENGINE = frozenset({".json", ".csv"})
"""Formats that the engine writes, without the interpreter lock."""

READ_AGAIN = frozenset({".pcapng"})
"""Formats that hold frames, for which the captures are read a second time."""

CANNOT_READ_AGAIN = (
    "the frames are read a second time, which standard input and pipes do not allow: save the "
    "capture to a file first"
)


class Options(NamedTuple):
    """What the caller asked for and every format must respect."""

    min_wait_ms: float
    baseline: Scan | None = None
    """The same service before a change, to be set beside the scan."""
    payload: bool = False


def suffix(path: str) -> str:
    """The suffix that tells the format, in lower case."""
    return os.path.splitext(path)[1].lower()


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes `scan` to `path` in the format of its suffix, one of `FORMATS`."""
    import_module(FORMATS[suffix(path)]).write(scan, path, options)
