"""Files of a folder that appear, change and vanish together, whatever happens meanwhile.

Each is written aside, in `.new`. Once all are whole, `.new/commit.json` says which names they get:
from then on the change has happened. A process that dies before leaves what nobody reads; what one
that dies later has not done is done when the folder is opened next.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from nagle_scan.errors import OutputError
from nagle_scan.system.files import reason_of

ASIDE = ".new"
COMMIT = "commit.json"
SYNCED_AT_ONCE = 16


def is_changing(folder: str) -> bool:
    """Has a change happened of which not all files have their names yet?"""
    return os.path.exists(os.path.join(folder, ASIDE, COMMIT))


class Change:
    """What is to appear and to vanish; names are relative to the folder."""

    def __init__(self, aside: str) -> None:
        self.aside = aside
        self.has_happened = False
        """Also if giving names failed afterwards: `recover` ends it."""
        self.moved: list[tuple[str, str]] = []
        self.removed: list[str] = []

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[IO[bytes]]:
        """To be written: it becomes `name`, in the place of what has that name."""
        source = f"{len(self.moved)}"
        with open(os.path.join(self.aside, source), "wb") as file:
            yield file
        self.moved.append((source, name))

    def sync(self) -> None:
        """All that was written outlasts a power failure. Side by side, a disk does it together."""
        with ThreadPoolExecutor(SYNCED_AT_ONCE) as pool:
            for _ in pool.map(
                _sync, [os.path.join(self.aside, source) for source, _ in self.moved]
            ):
                pass

    def remove(self, name: str) -> None:
        """It vanishes after the others have appeared."""
        self.removed.append(name)


class Journal:
    """A folder, in which one process at a time makes changes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._aside = os.path.join(folder, ASIDE)
        self._commit = os.path.join(self._aside, COMMIT)

    def recover(self) -> None:
        """Ends the change that was cut off, if it had happened, and removes what had not.

        Raises `OutputError`.
        """
        with self._told():
            if os.path.exists(self._commit):
                self._do(*self._told_there())
            if os.path.exists(self._aside):
                shutil.rmtree(self._aside)

    def _told_there(self) -> tuple[list[tuple[str, str]], list[str]]:
        try:
            with open(self._commit, encoding="utf-8") as file:
                told = json.load(file)
            return [(source, name) for source, name in told["moved"]], [*told["removed"]]
        except (ValueError, TypeError, LookupError):
            raise OutputError(
                f"{self._commit}: damaged, so nobody can end the change that was cut off"
            ) from None

    @contextlib.contextmanager
    def change(self) -> Iterator[Change]:
        """All that the block writes and removes happens at its end, or nothing of it.

        Files appear in the order in which they were written. Raises `OutputError`, also for an
        `OSError` in the block.
        """
        self.recover()
        with self._told():
            os.mkdir(self._aside)
            try:
                change = Change(self._aside)
                yield change
                self._write_commit(change)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._commit)
                # A full disk has room again at once.
                shutil.rmtree(self._aside, ignore_errors=True)
                raise
            change.has_happened = True
            self._do(change.moved, change.removed)
            shutil.rmtree(self._aside)

    def _write_commit(self, change: Change) -> None:
        change.sync()
        whole = f"{self._commit}.part"
        with open(whole, "w", encoding="utf-8") as file:
            json.dump({"moved": change.moved, "removed": change.removed}, file)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self._aside)
        os.replace(whole, self._commit)
        _sync_folder(self._aside)

    def _do(self, moved: list[tuple[str, str]], removed: list[str]) -> None:
        """Can be done again after it was cut off anywhere."""
        changed = set()
        for source, name in moved:
            path, target = os.path.join(self._aside, source), os.path.join(self.folder, name)
            changed |= {os.path.dirname(target), os.path.dirname(os.path.dirname(target))}
            if os.path.exists(path):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.replace(path, target)
        for name in removed:
            target = os.path.join(self.folder, name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(target))
        for folder in changed:
            _sync_folder(folder)
        if os.path.exists(self._commit):
            os.unlink(self._commit)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot write: {reason_of(error)}") from None


def _sync_folder(folder: str) -> None:
    """Makes new names last, even if the power fails; some file systems cannot."""
    with contextlib.suppress(OSError):
        _sync(folder)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
