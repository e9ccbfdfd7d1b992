"""The folder of a fleet: on this machine, or in an object store that fsspec reaches.

Its files never change. Each is named by its content, so that writing one again does no harm, two
runs cannot disturb each other, and whoever reads one can tell whether it is whole.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import remote
from nagle_scan.fleet.fields import KINDS
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.work import DIGITS, digits
from nagle_scan.system import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STORES = tuple(f"{scheme}://" for scheme in ("s3", "s3a", "gs", "az", "abfs", "abfss"))
NAME = re.compile(rf"(?:{'|'.join(KINDS)})/[0-9a-f]{{{DIGITS}}}\.parquet")
TURNS = "turns"
"""The folder of files that say whose turn it is to tell."""
HALF = ".written"
"""Suffix of a file on its way; a run that was killed may leave one."""
TURN = re.compile(rf"{TURNS}/[0-9a-f]{{{DIGITS}}}(?:\.[0-9a-f]{{8}}\{HALF})?")
OWN = re.compile(rf"(?:{'|'.join(KINDS)})/[0-9a-f]{{{DIGITS}}}\.parquet.*|{TURN.pattern}")
"""Files that only a fleet has, also on their way or put aside."""
OLDER = "_delta_log"
PAGE = "index.html"
ASIDE = ".damaged"
"""Suffix of a file that is not what its name says."""
CACHE = "/nagle-scan/fleet"
"""The place of files of stores, below the user's cache: they never change."""
CACHED_S = 7 * 86_400.0
"""Files that nobody has used for so long are removed."""
AT_ONCE = 16
"""Files that are in memory at once."""
PAUSES_S = (0.0, 1.0, 2.0)
"""Pauses before the attempts to write into a store."""
MIME = {"ContentType": "text/html"}


class Found(NamedTuple):
    """A file of a fleet."""

    size: int
    written_s: float
    """When it was written, in seconds since the epoch."""


class Folder:
    """A place for files. Raises `CaptureError` for what cannot be read, `OutputError` otherwise."""

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/") or path
        self.fs: Any = None
        self._top = self.path
        self._whole: set[str] = set()
        """Files that were read, and hold what their names say."""
        self._cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache") + CACHE
        if is_url(self.path):
            if not self.path.startswith(STORES):
                known = "results go to a folder, s3://, gs://, az://"
                raise OutputError(f"{remote.shown(self.path)}: {known}")
            self.fs, self._top = remote.opened(self.path)

    def check(self) -> None:
        """Raises `OutputError` for a folder that holds something else or cannot be listed."""
        with self._raising(OutputError):
            there = {name.lstrip("/") for name in self._every()}
            if any(name.startswith(f"{OLDER}/") for name in there):
                why = (
                    "a fleet of an earlier version: name a new folder, and scan its captures again"
                )
                raise OutputError(f"{self.path}: {why}")
            is_ours = not there or any(map(OWN.fullmatch, there))
            if PAGE in there and files.MARKS[".html"] not in self.content(PAGE):
                is_ours = False
            if not is_ours:
                raise OutputError(f"{self.path}: holds something else: name a new folder")

    def _every(self) -> Iterator[str]:
        """Files near the top, whoever made them."""
        if self.fs is not None:
            yield from (name for name, _ in self._remote())
            return
        with suppress(FileNotFoundError), os.scandir(self.path) as listed:
            for entry in listed:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and entry.name in (*KINDS, OLDER, TURNS):
                    yield from (f"{entry.name}/{name}" for name in os.listdir(entry.path))
                elif not entry.is_symlink():
                    yield entry.name + "/" * is_folder

    def files(self) -> dict[str, Found]:
        """The files of the fleet that are there, by name (`stalls/1f...parquet`), in order."""
        with self._raising(CaptureError):
            found = self._local() if self.fs is None else self._remote()
            return {name: about for name, about in sorted(found) if NAME.fullmatch(name)}

    def turns(self) -> dict[str, Found]:
        """The files that say whose turn it was."""
        with self._raising(CaptureError):
            found = self._local((TURNS,)) if self.fs is None else self._remote()
            return {name: about for name, about in found if TURN.fullmatch(name)}

    def _local(self, kinds: Iterable[str] = ("", *sorted(KINDS))) -> Iterator[tuple[str, Found]]:
        # Commits first, as a store lists them: the other files of each are then there, too.
        for kind in kinds:
            with suppress(FileNotFoundError), os.scandir(os.path.join(self.path, kind)) as listed:
                for entry in listed:
                    if entry.is_symlink():
                        why = "a link, which may lead elsewhere: remove it"
                        raise CaptureError(f"{entry.path}: {why}")
                    # Another run may have renamed it meanwhile.
                    with suppress(FileNotFoundError):
                        about = entry.stat()
                        yield f"{kind}/{entry.name}", Found(about.st_size, about.st_mtime)

    def _remote(self) -> Iterator[tuple[str, Found]]:
        self.fs.invalidate_cache()
        for path, about in self.fs.find(self._top, detail=True).items():
            times = (
                about[name] for name in remote.WRITTEN if hasattr(about.get(name), "timestamp")
            )
            # A file of unknown age never gets old.
            written_s = next((one.timestamp() for one in times), time.time())
            yield path[len(self._top) + 1 :], Found(about["size"], written_s)

    def place(self, name: str) -> str:
        """The path of a file on this machine: of a store, in the cache."""
        return f"{self.path if self.fs is None else self._cache}/{name}"

    def damaged(self, every: Iterable[str], again: bool = False) -> list[str]:
        """Files that do not hold what their names say.

        Each is read once, before anything else reads it: those of a store into the cache of this
        machine. One that is gone is not damaged. Raises `CaptureError` for one that cannot be
        read: nobody knows whether it is. With `again` those of the cache are read anew, too.
        """
        new = [name for name in every if again or name not in self._whole]
        found = []
        for begin in range(0, len(new), AT_ONCE):
            some = new[begin : begin + AT_ONCE]
            for name, content in self._contents(some, again):
                if digits(content) in name:
                    self._whole.add(name)
                else:
                    found.append(name)
        return found

    def _contents(self, names: Sequence[str], again: bool) -> Iterator[tuple[str, bytes]]:
        """The files that are there, and what they hold."""
        missing = []
        for name in names:
            if again and self.fs is not None:
                missing.append(name)
                continue
            with self._raising(CaptureError), suppress(FileNotFoundError):
                with open(self.place(name), "rb") as file:
                    content = file.read()
                if self.fs is None or digits(content) in name:
                    os.utime(self.place(name)) if self.fs else None
                    yield name, content
                    continue
            missing.append(name)
        if self.fs is None or not missing:
            return
        self._purge()
        with self._raising(CaptureError):
            at = {f"{self._top}/{name}": name for name in missing}
            answers = self.fs.cat(list(at), on_error="return")
            for path, content in answers.items():
                if isinstance(content, FileNotFoundError):
                    continue
                if isinstance(content, Exception):
                    raise content
                if digits(content) in at[path]:
                    self._keep(self.place(at[path]), content)
                yield at[path], content

    def _keep(self, place: str, content: bytes) -> None:
        """In the cache, whole or not at all."""
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        files.replace(place, content)

    def _purge(self) -> None:
        for kind in KINDS:
            with suppress(FileNotFoundError), os.scandir(f"{self._cache}/{kind}") as listed:
                for entry in listed:
                    with suppress(FileNotFoundError):
                        if entry.stat().st_mtime < time.time() - CACHED_S:
                            os.unlink(entry.path)

    def content(self, name: str) -> bytes:
        """The bytes of a file."""
        with self._raising(CaptureError):
            if self.fs is not None:
                read: bytes = self.fs.cat_file(f"{self._top}/{name}")
                return read
            with open(self.place(name), "rb") as file:
                return file.read()

    def is_whole(self, name: str) -> bool:
        """Is a file there, and does it hold what its name says?"""
        return not self.damaged([name]) and name in self._whole

    def put(self, kind: str, content: bytes) -> str:
        """Writes a file, and is done when it is on the disk; its name. Raises `OutputError`."""
        name = name_of_content(kind, content)
        with self._raising(OutputError):
            if self.fs is not None:
                self._send(name, content)
            elif not self.is_whole(name):
                self.put_aside(name)
                self._write(name, content)
        return name

    def create(self, name: str, content: bytes) -> bool:
        """Writes a file that is not there yet; false if it is. Raises `OutputError`."""
        with self._raising(OutputError):
            try:
                if self.fs is not None:
                    self.fs.pipe_file(f"{self._top}/{name}", content, mode="create")
                else:
                    self._write(name, content, is_new=True)
            except FileExistsError:
                return False
        return True

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        with self._raising(OutputError), suppress(FileNotFoundError):
            self.fs.rm_file(f"{self._top}/{name}") if self.fs else os.unlink(self.place(name))

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file that is not named by its content: a page. Raises `OutputError`."""
        with self._raising(OutputError):
            if self.fs is not None:
                self._send(name, content, **(MIME if self.path.startswith("s3") else {}))
            else:
                files.replace(self.place(name), content)
                _sync(self.path)

    def _send(self, name: str, content: bytes, **kind: str) -> None:
        """Sends it again while the answer is an error: it is the same file each time."""
        for pause_s in PAUSES_S:
            time.sleep(pause_s)
            try:
                self.fs.pipe_file(f"{self._top}/{name}", content, **kind)
                return
            except Exception as error:
                # Each file system raises what it likes.
                failed = error
        raise failed

    def _write(self, name: str, content: bytes, is_new: bool = False) -> None:
        place = self.place(name)
        kind = os.path.dirname(place)
        os.makedirs(kind, exist_ok=True)
        half = f"{place}.{os.urandom(4).hex()}{HALF}"
        try:
            with open(half, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            (os.link if is_new else os.rename)(half, place)
        finally:
            with suppress(OSError):
                os.unlink(half)
        for folder in (kind, self.path, os.path.dirname(os.path.abspath(self.path))):
            _sync(folder)

    def put_aside(self, name: str) -> None:
        """Renames a file that is not whole, if it is there."""
        to = f"{name}.{os.urandom(4).hex()}{ASIDE}"
        self._whole.discard(name)
        with self._raising(OutputError), suppress(FileNotFoundError):
            if self.fs is not None:
                self.fs.mv(f"{self._top}/{name}", f"{self._top}/{to}")
            else:
                os.rename(self.place(name), self.place(to))

    def delete(self, name: str) -> None:
        """Deletes a file that holds what its name says: whoever needs it can write it again."""
        if self.is_whole(name):
            self.remove(name)

    @contextmanager
    def _raising(self, kind: type[CaptureError | OutputError]) -> Iterator[None]:
        """Turns any error of a disk or a store into one line."""
        try:
            yield
        except (CaptureError, OutputError):
            raise
        except Exception as error:
            does = "write" if kind is OutputError else "read"
            why = remote.reason(error, self.path)
            raise kind(f"{remote.shown(self.path)}: cannot {does}: {why}") from None


def name_of_content(kind: str, content: bytes) -> str:
    """The name of a file with this content."""
    return f"{kind}/{digits(content)}.parquet"


def name_of(place: str) -> str:
    """The name of a file from its path or URL, however DuckDB writes that."""
    return "/".join(place.split("/")[-2:])


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
