"""Whole files or none: a reader never meets half a report."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from nagle_scan import _core


def replace(path: str, content: bytes) -> None:
    """Writes `content` to `path`, at once. Raises `OutputError`."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            # A pipe or a device: nothing to replace.
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        raise _core.OutputError(f"{path}: cannot write: {str(error.strerror).lower()}") from None


def _replace(target: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=".nagle-scan-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(_mode(target))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions that an ordinary write would leave."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
