"""Captures as the engine takes them, by path: what is no file is kept in a temporary one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any

from nagle_scan.errors import CaptureError
from nagle_scan.system import files
from nagle_scan.words.wording import printable

Bytes = bytes | bytearray | memoryview
Capture = str | os.PathLike[str] | Bytes | IO[bytes]


def on_disk(
    given: Capture | Iterable[Capture],
) -> tuple[list[str], dict[str, str], list[object]]:
    """Paths of captures, what those in temporary files are called, and these files.

    Raises `TypeError` for what is no capture, `CaptureError` for a name that is not UTF-8.
    """
    paths: list[str] = []
    labels: dict[str, str] = {}
    spooled: list[object] = []
    for capture in _several(given):
        if isinstance(capture, (str, os.PathLike)):
            paths.append(files.utf8_name(capture, CaptureError))
            continue
        label, file = _spooled(capture)
        paths.append(file.name)
        labels[file.name] = label
        spooled.append(file)
    return paths, labels, spooled


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


def _spooled(capture: Bytes | IO[bytes]) -> tuple[str, IO[bytes]]:
    """What it is called, and a file that vanishes with its last reference."""
    import shutil
    import tempfile
    from io import BytesIO

    from nagle_scan.system import leftovers

    name = getattr(capture, "name", None)
    label = printable(name) if isinstance(name, str) else "<bytes>"
    source = BytesIO(bytes(capture)) if isinstance(capture, Bytes) else capture
    leftovers.clear()
    file = tempfile.NamedTemporaryFile(prefix=leftovers.PREFIX)  # noqa: SIM115
    files.lock(file.fileno())
    try:
        shutil.copyfileobj(source, file, 1 << 20)
        file.flush()
    except (TypeError, UnicodeDecodeError):
        raise TypeError(f"{label}: a capture is read as bytes: open it with 'rb'") from None
    except OSError as error:
        raise CaptureError(f"{label}: {files.reason_of(error)}") from None
    return label, file
