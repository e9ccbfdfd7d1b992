"""Captures as the engine takes them, by path: what has none is kept in a temporary file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import IO, Any

from nagle_scan.errors import CaptureError
from nagle_scan.system import files
from nagle_scan.words.wording import printable

Bytes = bytes | bytearray | memoryview
FOLDER = "a folder: scan_each yields a scan of each of its captures, scan_fleet sums them up"
Path = str | os.PathLike[str]
Capture = Path | Bytes | IO[bytes]


def on_disk(
    given: Capture | Iterable[Capture],
) -> tuple[list[str], dict[str, str], list[object]]:
    """Paths of captures, what those without a path are called, and the files that these paths read.

    Raises `TypeError` for anything but a capture, `CaptureError` for a name that is not UTF-8.
    """
    paths: list[str] = []
    labels: dict[str, str] = {}
    spooled: list[object] = []
    for capture in _several(given):
        if isinstance(capture, (str, os.PathLike)):
            paths.append(files.utf8_name(capture, CaptureError))
            if os.path.isdir(paths[-1]):
                raise CaptureError(f"{paths[-1]}: {FOLDER}")
            continue
        name = getattr(capture, "name", None)
        label = printable(name) if isinstance(name, str) else "<bytes>"
        path, file = _by_descriptor(capture) or _spooled(capture, label)
        paths.append(path)
        labels[path] = label
        spooled.append(file)
    return paths, labels, spooled


def as_paths(path_or_paths: Path | Iterable[Path]) -> list[str]:
    """Raises `TypeError` for anything but a path, `CaptureError` for a name that is not UTF-8."""
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    if not isinstance(path_or_paths, Iterable) or isinstance(path_or_paths, bytes):
        kind = type(path_or_paths).__name__
        raise TypeError(f"a capture is a path (str or os.PathLike), or several, not {kind}")
    return [files.utf8_name(path, CaptureError) for path in path_or_paths]


def _is_one(given: object) -> bool:
    return isinstance(given, str | os.PathLike | Bytes) or hasattr(given, "read")


def _several(given: Any) -> list[Any]:  # noqa: ANN401
    captures = [given] if _is_one(given) or not isinstance(given, Iterable) else list(given)
    for capture in captures:
        if not _is_one(capture):
            kind = type(capture).__name__
            raise TypeError(
                "a capture is a path (str or os.PathLike), bytes or a binary file object, or "
                f"several, not {kind}"
            )
    return captures


def _by_descriptor(capture: Bytes | IO[bytes]) -> tuple[str, IO[bytes]] | None:
    """Linux: a path of an open file at its beginning, so that it need not be copied; and a file.

    On macOS all who open such a path share one place in the file.
    """
    from io import BufferedReader, FileIO

    if not (isinstance(capture, BufferedReader) and isinstance(capture.raw, FileIO)):
        return None
    if not stat.S_ISREG(os.fstat(capture.fileno()).st_mode) or capture.tell():
        return None
    file = os.fdopen(os.dup(capture.fileno()), "rb")
    path = f"/proc/self/fd/{file.fileno()}"
    return (path, file) if os.access(path, os.R_OK) else None


def _spooled(capture: Bytes | IO[bytes], label: str) -> tuple[str, IO[bytes]]:
    """A path, and its file, which vanishes with the last reference to it."""
    import shutil
    import tempfile
    from io import BytesIO

    source = BytesIO(bytes(capture)) if isinstance(capture, Bytes) else capture
    file = tempfile.NamedTemporaryFile(prefix=files.TEMPORARY)  # noqa: SIM115
    try:
        shutil.copyfileobj(source, file, 1 << 20)
        file.flush()
    except (TypeError, UnicodeDecodeError):
        raise TypeError(f"{label}: a capture is read as bytes: open it with 'rb'") from None
    except OSError as error:
        raise CaptureError(f"{label}: {files.reason_of(error)}") from None
    return file.name, file
