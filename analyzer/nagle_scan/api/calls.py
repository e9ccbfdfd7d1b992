"""Traces of system calls, as `strace` writes them, for the engine."""

from __future__ import annotations

import os
from collections.abc import Iterable

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.system import addr2line, files

Path = str | os.PathLike[str]
MOST_FILES = 60_000
SPARE_FILES = 100


def read(given: Path | Iterable[Path], progress: _core.Progress) -> _core.Calls:
    """Reads a trace: one file, several, or a folder of them as `strace -ff` writes it.

    Raises `TypeError` for anything but a path, `CaptureError` for a file without calls.
    """
    if not isinstance(given, str | os.PathLike | Iterable) or isinstance(given, bytes):
        raise TypeError(f"calls are paths of traces, not {type(given).__name__}")
    some = [given] if isinstance(given, str | os.PathLike) else list(given)
    for path in some:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"calls are paths of traces, not {type(path).__name__}")
    paths = [one for path in some for one in _files(files.utf8_name(path, CaptureError))]
    # A file that is named twice is read once.
    paths = list({os.path.realpath(path) if path != "-" else path: path for path in paths}.values())
    if not 0 < len(paths) <= MOST_FILES:
        raise CaptureError(f"a trace has 1 to {MOST_FILES:,} files, not {len(paths):,}")
    _allow_open_files(len(paths))

    def look_up(frames: list[addr2line.Frame], began_ns: int | None) -> list[list[addr2line.Line]]:
        return addr2line.lines(frames, began_ns, paths)

    return _core.read_calls(paths, progress, look_up)


def _allow_open_files(count: int) -> None:
    """All files of `strace -ff` are read side by side."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
    if not found:
        raise CaptureError(f"{path}: an empty folder")
    return [files.utf8_name(one, CaptureError) for one in found]
