"""Files below a folder, reached through no link: whoever writes there may swap them at any time."""

import contextlib
import os
from collections.abc import Iterator

from nagle_scan.errors import CaptureError

MOST_STEPS = 500_000
"""Entries, each counted with the folders above it: a root is hardly larger, but may be `/`."""


def opened(folder: str, path: str, flags: int = 0) -> int:
    """A descriptor for reading `path`, which is relative to `folder` and without `..`.

    A pipe does not wait for its writer. Raises `OSError`, also for a link below `folder`.
    """
    # Linux: a folder on the way need not be readable.
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
    *between, name = path.split(os.sep)
    parent = os.open(folder, way)
    try:
        for one in between:
            above, parent = parent, os.open(one, way, dir_fd=parent)
            os.close(above)
        flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(name, flags, dir_fd=parent)
    finally:
        os.close(parent)


def files(folder: str) -> Iterator[tuple[str, int]]:
    """Regular files: the path relative to `folder`, and the time of the last change in ns.

    Raises `CaptureError` for more than `MOST_STEPS`.
    """
    unread, steps = [""], 0
    while unread:
        path = unread.pop()
        for entry in _entries(folder, path):
            name = os.path.join(path, entry.name)
            steps += 1 + name.count(os.sep)
            if steps > MOST_STEPS:
                raise CaptureError("too many files to list: ask for a capture by its name")
            if entry.is_dir(follow_symlinks=False):
                unread.append(name)
            elif entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    yield name, entry.stat(follow_symlinks=False).st_mtime_ns


def _entries(folder: str, path: str) -> Iterator[os.DirEntry[str]]:
    """None of a folder that is closed to us, or gone."""
    with contextlib.ExitStack() as closing:
        try:
            descriptor = opened(folder, path or ".", os.O_DIRECTORY)
            closing.callback(os.close, descriptor)
            entries = closing.enter_context(os.scandir(descriptor))
        except OSError:
            return
        yield from entries
