"""From names to files: what is found, its first frame, and something that the engine reads."""

from __future__ import annotations

import codecs
import glob
import os
import socket
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import cache
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from nagle_scan import _core
from nagle_scan.api import captures
from nagle_scan.errors import CaptureError
from nagle_scan.fleet import remote
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.work import Failure, File, Secret
from nagle_scan.system import files

STDIN = "-"
HOST = "NAGLE_SCAN_HOST"
"""Variable with the name of this machine, for a container that has another one."""
NO_CAPTURES = "a folder without captures"
FIRST_LEN = 3 << 16
"""Bytes of a remote file with its first frame: a zstd block has 128 KiB (RFC 8878, 3.1.1.2.4)."""
AT_ONCE = 32
"""Files of a network that are opened at the same time."""
_Answer = TypeVar("_Answer")
END_LEN = 1 << 16
"""Bytes at each end of a file that tell it apart."""


class TransportError(CaptureError):
    """A capture did not come to its end. What was read of it must not pass for the whole."""


class Found(NamedTuple):
    """Files found under the names that were given."""

    files: dict[str, File]
    """Files by path; local ones are absolute."""
    failures: list[Failure]
    """Folders that cannot be listed, below those that were named."""
    notes: list[str]


def find(names: Sequence[str], listed: Sequence[str] = ()) -> Found:
    """Each file once, in the order in which they are named.

    Folders and patterns stand for the captures in them, by name or, where a local name does not
    tell, by content. Raises `CaptureError` for what is named and is not there or cannot be read,
    and for a pattern that matches nothing; of names in a list only the latter.
    """
    found = Found({}, [], [])
    for number, name in enumerate((*names, *listed)):
        if is_url(name) and remote.scheme(name) != "file":
            _add_remote(name, found)
        else:
            path = unquote(name.partition("://")[2]) if is_url(name) else name
            _add_local(os.path.abspath(path), found, is_listed=number >= len(names))
    return found


def names_in(path: str) -> list[str]:
    """The names in a list: one in each line, `#` begins a comment. Raises `CaptureError`."""
    name = "standard input" if path == STDIN else path
    try:
        with open(0 if path == STDIN else path, "rb", closefd=path != STDIN) as file:
            # Windows marks the beginning of a text.
            content = file.read().removeprefix(codecs.BOM_UTF8)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{name}: cannot read: {files.reason_of(error)}") from None
    lines = [os.fsdecode(line).strip("\r") for line in content.split(b"\n")]
    names = [line for line in lines if line.strip() and not line.startswith("#")]
    if not names:
        raise CaptureError(f"{name}: a list without names")
    return names


def _add_local(path: str, found: Found, is_listed: bool) -> None:
    closed: list[OSError] = []
    if glob.has_magic(path) and not os.path.lexists(path):
        every = list(_expanded(os.sep, path.split(os.sep)[1:], closed))
        nothing = f"{path}: {'no capture' if every else 'no file'} matches"
    elif os.path.isdir(path):
        _check(path)
        every, nothing = [path], f"{path}: {NO_CAPTURES}"
    else:
        if not is_listed:
            _check(path)
        found.files[path] = of_path(path)
        return
    captured = {
        one: captures.may_be_capture(one)
        for each in every
        for one in (captures.below(each, closed) if os.path.isdir(each) else [each])
    }
    found.files.update((one, of_path(one)) for one, is_one in captured.items() if is_one)
    reasons = {error.filename: files.reason_of(error) for error in closed}
    found.failures.extend(Failure(File(one, host()), why) for one, why in reasons.items())
    _note(path, captured, closed, nothing, found)


def _note(
    path: str, captured: Mapping[str, bool], closed: Collection[OSError], nothing: str, found: Found
) -> None:
    if not any(captured.values()) and not closed:
        raise CaptureError(nothing)
    if others := list(captured.values()).count(False):
        found.notes.append(captures.left_out(path, others))


def _check(path: str) -> None:
    if is_gone(path):
        raise CaptureError(f"{path}: cannot read: no such file or directory")
    captures.check_there(path)
    if not os.access(path, os.R_OK):
        raise CaptureError(f"{path}: cannot read: permission denied")


def is_gone(path: str) -> bool:
    """Is nothing of that name there? A URL, or a path that cannot be asked for, counts as there."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return not is_url(path) and isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


@cache
def host() -> str:
    """The name of this machine: files of the same name on several are different captures."""
    return os.environ.get(HOST) or socket.gethostname()


def of_path(path: str) -> File:
    """A local file. One that is not there is found all the same: `dated` tells why."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return File(path, host())
    return File(path, host(), status.st_size, str(status.st_mtime_ns))


def _expanded(folder: str, parts: Sequence[str], closed: list[OSError]) -> Iterator[str]:
    """Paths that match a pattern. Two stars are any folders, or none; they follow no links."""
    if not parts:
        yield folder
        return
    name, *rest = parts
    if name == "**":
        yield from _expanded(folder, rest, closed)
        for entry in captures.entries(folder, closed) if rest else ():
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _expanded(entry.path, parts, closed)
    elif glob.has_magic(name):
        for entry in captures.entries(folder, closed):
            if fnmatch(entry.name, name) and entry.name.startswith(".") <= name.startswith("."):
                yield from _expanded(entry.path, rest, closed)
    elif not is_gone(path := os.path.join(folder, name)):
        yield from _expanded(path, rest, closed)


def _add_remote(url: str, found: Found) -> None:
    url_shown = remote.shown(url)
    # A question mark begins the query of a URL, also where fsspec would take it for a letter.
    is_glob = glob.has_magic(url_shown.replace("?", "").partition("://")[2])
    fs, path = remote.opened(url)
    try:
        fs.invalidate_cache()
        about = None if is_glob or url.endswith("/") else fs.info(path)
        if about is not None and about["type"] != "directory":
            found.files[url_shown] = _of_url(url, about)
            return
        every = (fs.glob if is_glob else fs.find)(path, detail=True)
    except Exception as error:
        # File systems raise what they like.
        raise CaptureError(f"{url_shown}: cannot read: {remote.reason(error, url)}") from None
    paths = sorted(path for path, about in every.items() if about["type"] == "file")
    captured = {path: captures.has_capture_name(path) for path in paths}
    empty = f"{'no capture' if paths else 'no file'} matches"
    _note(url_shown, captured, (), f"{url_shown}: {empty if is_glob else NO_CAPTURES}", found)
    own, whole = path.rstrip("/"), url_shown.rstrip("/")
    begin = whole.removesuffix(own) if whole.endswith(own) else None
    for one in filter(captured.get, paths):
        at = fs.unstrip_protocol(one) if begin is None else begin + one
        found.files[remote.shown(at)] = _of_url(at, every[one])


def _of_url(url: str, about: Mapping[str, Any]) -> File:
    size, shown = about.get("size"), remote.shown(url)
    access = Secret("" if shown == url else url)
    return File(shown, "", -1 if size is None else size, remote.version(about), None, access)


def dated(every: Iterable[File]) -> list[File | Failure]:
    """Each with its first frame. A file is opened, never waited for."""
    return _of_each(_dated, list(every))


def _of_each(ask: Callable[[File], _Answer], every: Sequence[File]) -> list[_Answer]:
    """Answers in order; a file of a network takes some round trips, so many are asked at once."""
    if not any(is_url(file.path) for file in every):
        return [ask(file) for file in every]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, every))


def _dated(file: File) -> File | Failure:
    try:
        if is_url(file.path):
            begin = remote.part(file.source, 0, min(file.size, FIRST_LEN))
            return file._replace(first_ns=_core.first_time_of_bytes(begin))
        files.utf8_name(file.path, CaptureError)
        # A reason that is better than the engine's, and no pipe that waits for a writer.
        descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            about = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("a folder, pipe or device, which a fleet does not read")
        first_ns = _core.first_time_ns(file.path)
        return file._replace(size=about.st_size, modified=str(about.st_mtime_ns), first_ns=first_ns)
    except CaptureError as error:
        return Failure(file, str(error).removeprefix(f"{file.path}: "))
    except Exception as error:
        # A file system may raise anything; many other files wait.
        return Failure(file, remote.reason(error, file.source))


def ends(every: Sequence[File], key: bytes | None) -> list[str]:
    """See `hash_of_ends`; empty for a file that cannot be read."""

    def ends_of(file: File) -> str:
        try:
            return hash_of_ends(file.source, file.size, key)
        except Exception:
            # A file system may raise anything.
            return ""

    return _of_each(ends_of, every)


def hash_of_ends(source: str, size: int, key: bytes | None) -> str:
    """Tells files of the same size and first frame apart: the last frame is in the last part."""
    part = remote.part if is_url(source) else _part
    last = max(min(size, END_LEN), size - END_LEN)
    content = part(source, 0, min(size, END_LEN)) + part(source, last, size)
    return blake2b(content, key=key or b"", digest_size=16).hexdigest()


def _part(path: str, begin: int, end: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


@contextmanager
def readable(file: File) -> Iterator[str]:
    """The path that the engine reads, as often as it likes.

    A remote capture is copied to TMPDIR while the block runs; of a process that is killed nothing
    stays.
    Raises `TransportError` if it cannot be copied, and `CaptureError` at the end of the block if
    it has changed since it was found: a ring that went round meanwhile must not give the old
    capture the frames of the new one, nor may one that had no frame yet count as empty.
    """
    if not is_url(file.path):
        yield file.path
        now = of_path(file.path)
        if now.size < 0 or (now.size, now.modified) == (file.size, file.modified):
            return
        if now.size < file.size or _core.first_time_ns(file.path) != file.first_ns:
            raise CaptureError(f"{file.path}: changed while it was read")
        return
    with TemporaryFile() as copy:
        path = f"/dev/fd/{copy.fileno()}"
        try:
            remote.copy(file.source, copy, file.size)
        except Exception as error:
            why = remote.reason(error, file.source)
            raise TransportError(f"{file.path}: cannot copy: {why}") from None
        if _core.first_time_ns(path) != file.first_ns:
            raise CaptureError(f"{file.path}: changed while it was read")
        yield path
