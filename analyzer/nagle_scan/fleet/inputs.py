"""Which files are named: paths, folders, globs, lists, and URLs of any file system of fsspec."""

from __future__ import annotations

import codecs
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from operator import attrgetter
from typing import Any

from nagle_scan.api import captures
from nagle_scan.errors import CaptureError
from nagle_scan.fleet.remote import access, is_url, local_path, reason, remote, shown, version
from nagle_scan.fleet.work import Located
from nagle_scan.system import files

STDIN = "-"


class NothingError(CaptureError):
    """There is nothing of that name; another host may have it."""


def find(
    named: Sequence[str], list_file: str | None = None, notes: list[str] | None = None
) -> list[Located]:
    """Each file once, in the order in which they are named; local ones with absolute paths.

    Folders and globs stand for the captures in them, by name or, where a local name does not tell,
    by content. `list_file` has a name in each line; `#` begins a comment, `-` is standard input.
    What else a user must know goes into `notes`.

    Raises `CaptureError` for what is named directly and is not there or cannot be read, for a glob
    and a list that name nothing, and for a URL that nothing here opens. A file in a list that is
    not there is found all the same: `identity.of` tells why it cannot be read. So is a folder
    within what was named that cannot be listed.
    """
    told = [] if notes is None else notes
    more = [] if list_file is None else listed(list_file)
    every = [of_name(name, told) for name in named]
    every += [of_name(name, told, is_listed=True) for name in more]
    return list({one.url: one for found in every for one in found}.values())


def listed(path: str) -> list[str]:
    """The names in a list. Raises `CaptureError`."""
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


def of_name(name: str, notes: list[str], is_listed: bool = False) -> list[Located]:
    """What one name of a call or of a list stands for. Raises as `find`."""
    local = local_path(name)
    if local is None:
        return _remote(name, notes, is_listed)
    path = os.path.abspath(local)
    if not os.path.lexists(path) and glob.has_magic(local):
        return _matching(local, notes)
    if not is_listed:
        if is_gone(path):
            raise NothingError(f"{path}: cannot read: no such file or directory")
        captures.check_there(path)
        if not os.access(path, os.R_OK):
            raise CaptureError(f"{path}: cannot read: permission denied")
    if not os.path.isdir(path):
        return [_located(path)]
    closed: list[str] = []
    found = _captures(path, _below(path, closed), closed, notes)
    if not found:
        raise NothingError(f"{path}: a folder without captures")
    return found


def place(name: str) -> str:
    """As messages have it: an absolute path, or a URL without what gives access to it."""
    local = local_path(name)
    return shown(name) if local is None else os.path.abspath(local)


def is_gone(path: str) -> bool:
    """Is nothing of that name there? Not so where nobody can tell, as of a URL."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return not is_url(path) and isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def _located(path: str) -> Located:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return Located(path)
    return Located(path, size=status.st_size, modified=str(status.st_mtime_ns))


def _captures(
    shown: str, paths: Iterable[str], closed: Iterable[str], notes: list[str]
) -> list[Located]:
    """Those of the paths, and the folders that cannot be listed; what is left out is noted."""
    found, others = [], 0
    for path in paths:
        one = _located(path)
        # A name that tells saves opening the file.
        if (one.size > 0 and captures.has_capture_name(path)) or captures.may_be_capture(path):
            found.append(one)
        else:
            others += 1
    if others:
        notes.append(captures.left_out(shown, others))
    return [*found, *map(Located, closed)]


def _matching(local: str, notes: list[str]) -> list[Located]:
    """What a glob matches. A folder stands for all captures in it, as do two stars at the end."""
    pattern = os.path.abspath(local)
    parts = pattern.split(os.sep)[1:]
    while parts[-1] == "**":
        parts.pop()
    closed: list[str] = []
    every = list(_expanded(os.sep, parts, closed))
    paths = dict.fromkeys(
        path for one in every for path in (_below(one, closed) if os.path.isdir(one) else [one])
    )
    found = _captures(pattern, paths, dict.fromkeys(closed), notes)
    if not found:
        raise NothingError(f"{pattern}: {'no capture' if every else 'no file'} matches")
    return found


def _expanded(folder: str, parts: Sequence[str], closed: list[str]) -> Iterator[str]:
    """Two stars stand for any folders, also none; they follow no links."""
    if not parts:
        yield folder
        return
    name, *rest = parts
    if name == "**":
        yield from _expanded(folder, rest, closed)
        for entry in _entries(folder, closed):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _expanded(entry.path, parts, closed)
    elif glob.has_magic(name):
        for entry in _entries(folder, closed):
            if fnmatch(entry.name, name) and entry.name.startswith(".") <= name.startswith("."):
                yield from _expanded(entry.path, rest, closed)
    elif not is_gone(path := os.path.join(folder, name)):
        yield from _expanded(path, rest, closed)


def _below(folder: str, closed: list[str]) -> Iterator[str]:
    """All files below it. Links to folders are not followed."""
    for entry in _entries(folder, closed):
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, closed)
        elif not (entry.is_symlink() and os.path.isdir(entry.path)):
            yield entry.path


def _entries(folder: str, closed: list[str]) -> list[os.DirEntry[str]]:
    """By name. A folder that cannot be listed is `closed`."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=attrgetter("name"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        closed.append(folder)
        return []


def _remote(url: str, notes: list[str], is_listed: bool) -> list[Located]:
    place = remote(url)
    is_glob = _has_magic(url)
    is_one = not is_glob and not url.endswith("/")
    if is_one and is_listed:
        return [Located(shown(url), access(url))]
    try:
        place.fs.invalidate_cache()
        if is_one and (about := place.fs.info(place.path))["type"] != "directory":
            return [_told(url, about)]
        every = (place.fs.glob if is_glob else place.fs.find)(place.path, detail=True)
    except Exception as error:
        # File systems raise what they like.
        raise CaptureError(f"{shown(url)}: cannot read: {reason(error, url)}") from None
    paths = sorted(path for path, about in every.items() if about["type"] == "file")
    found = [path for path in paths if captures.has_capture_name(path)]
    if not found:
        empty = f"{'no capture' if paths else 'no file'} matches"
        raise NothingError(f"{shown(url)}: {empty if is_glob else 'a folder without captures'}")
    if len(found) < len(paths):
        notes.append(captures.left_out(shown(url), len(paths) - len(found)))
    return [_told(place.url_of(path), every[path]) for path in found]


def _told(url: str, about: Mapping[str, Any]) -> Located:
    size = about.get("size")
    return Located(shown(url), access(url), -1 if size is None else size, version(about))


def _has_magic(url: str) -> bool:
    """A question mark begins the query of a URL, also where fsspec would take it for a letter."""
    return glob.has_magic(shown(url).replace("?", "").partition("://")[2])
