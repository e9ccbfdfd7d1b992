"""Temporary files and folders: what a killed run left is removed by the next.

Each is locked as long as its process lives: what is old and not locked was left behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator

from nagle_scan.errors import OutputError
from nagle_scan.system import files

PREFIX = "nagle-scan-tmp-"
NEW_S = 60.0
"""What is newer may not be locked yet."""


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """A temporary folder while the `with` block runs. Raises `OutputError` if none can be made."""
    clear()
    try:
        made = tempfile.TemporaryDirectory(prefix=PREFIX)
    except OSError as error:
        raise OutputError(f"no temporary folder can be made: {files.reason_of(error)}") from None
    with made as name, files.locked(name):
        yield name


def clear() -> None:
    """Removes what killed runs of this user left."""
    if os.name != "posix":
        return
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            found = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError):
            _remove_if_left(path)


def _remove_if_left(path: str) -> None:
    about = os.lstat(path)
    if about.st_uid != os.getuid() or time.time() - about.st_mtime < NEW_S:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        files.lock(descriptor)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    finally:
        os.close(descriptor)
