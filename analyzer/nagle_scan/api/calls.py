"""Traces of system calls, as `strace` writes them, for the engine."""

from __future__ import annotations

import os
from collections.abc import Iterable

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.system import files

Path = str | os.PathLike[str]


def read(given: Path | Iterable[Path], progress: _core.Progress) -> _core.Calls:
    """Reads a trace: one file, several, or a folder of them as `strace -ff` writes it.

    Raises `TypeError` for what is no path, `CaptureError` for what holds no call.
    """
    some = [given] if isinstance(given, str | os.PathLike) else list(given)
    for path in some:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"calls are paths of traces, not {type(path).__name__}")
    paths = [one for path in some for one in _files(files.utf8_name(path, CaptureError))]
    return _core.read_calls(paths, progress)


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
    if not found:
        raise CaptureError(f"{path}: an empty folder")
    return [files.utf8_name(one, CaptureError) for one in found]
