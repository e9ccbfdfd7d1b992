"""Which files are named: paths, folders, globs, lists, and URLs of any file system of fsspec."""

from __future__ import annotations

import codecs
import glob
import os
import sys
from collections.abc import Iterator, Sequence

from nagle_scan.api import captures
from nagle_scan.errors import CaptureError
from nagle_scan.fleet.identity import Located
from nagle_scan.fleet.remote import access, is_url, local_path, reason, remote, shown
from nagle_scan.system import files

STDIN = "-"


class NothingError(CaptureError):
    """There is nothing of that name; another host may have it."""


def find(
    named: Sequence[str], list_file: str | None = None, notes: list[str] | None = None
) -> list[Located]:
    """Each file once, in the order in which they are named; local ones with absolute paths.

    Folders and globs stand for the captures in them, by name or (local ones) content. `list_file`
    has a name in each line; `#` begins a comment, `-` is standard input. What else a user must know
    goes into `notes`.

    Raises `CaptureError` for what is named directly and is not there or cannot be read, for a glob
    and a list that name nothing, and for a URL that nothing here opens. A file in a list that is
    not there is found all the same: `identity.of` tells why it cannot be read. So is a folder
    within what was named that cannot be listed.
    """
    told = [] if notes is None else notes
    found: dict[str, Located] = {}
    for name in named:
        found |= {one.url: one for one in of_name(name, told)}
    if list_file is not None:
        for name in listed(list_file):
            found |= {one.url: one for one in of_name(name, told, is_listed=True)}
    return list(found.values())


def listed(path: str) -> Iterator[str]:
    """The names in a list. Raises `CaptureError`."""
    name = "standard input" if path == STDIN else path
    if path == STDIN and sys.stdin is None:
        raise CaptureError(f"{name}: cannot read: it is closed")
    try:
        with open(
            sys.stdin.fileno() if path == STDIN else path, "rb", closefd=path != STDIN
        ) as file:
            # Windows marks the beginning of a text.
            content = file.read().removeprefix(codecs.BOM_UTF8)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{name}: cannot read: {files.reason_of(error)}") from None
    lines = [os.fsdecode(line).strip("\r") for line in content.split(b"\n")]
    names = [line for line in lines if line.strip() and not line.startswith("#")]
    if not names:
        raise CaptureError(f"{name}: a list without captures")
    yield from names


def place(name: str) -> str:
    """As messages have it: an absolute path, or a URL without what gives access to it."""
    local = local_path(name)
    return shown(name) if local is None else os.path.abspath(local)


def is_gone(path: str) -> bool:
    """Is nothing of that name there? Not so where nobody can tell, as of a URL."""
    if is_url(path):
        return False
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def of_name(name: str, notes: list[str], is_listed: bool = False) -> Iterator[Located]:
    """What one name of a call or of a list stands for. Raises as `find`."""
    local = local_path(name)
    if local is None:
        yield from _remote(name, notes, is_listed)
        return
    path = os.path.abspath(local)
    if not os.path.lexists(path) and glob.has_magic(local):
        yield from _matching(_pattern(local), notes)
        return
    if not is_listed:
        if is_gone(path):
            raise NothingError(f"{path}: cannot read: no such file or directory")
        captures.check_there(path)
        if not os.access(path, os.R_OK):
            raise CaptureError(f"{path}: cannot read: permission denied")
    if os.path.isdir(path):
        yield from _of_folder(path, notes)
    else:
        yield Located(path)


def _of_folder(path: str, notes: list[str]) -> Iterator[Located]:
    folder = captures.of_folder(path)
    if not folder.captures and not folder.closed:
        raise NothingError(f"{path}: a folder without captures")
    if folder.others:
        notes.append(captures.left_out(path, folder.others))
    yield from map(Located, folder.captures)
    yield from (Located(str(error.filename)) for error in folder.closed)


def _pattern(local: str) -> str:
    """Absolute. The working folder is no pattern, whatever its name is."""
    return os.path.normpath(os.path.join(glob.escape(os.getcwd()), local))


def _matching(pattern: str, notes: list[str]) -> Iterator[Located]:
    """What a glob matches; `**` stands for any folders, also none."""
    has_files = os.path.basename(pattern) == "**"
    every = sorted(_paths(os.path.join(pattern, "*") if has_files else pattern))
    folders = [] if has_files else [path for path in every if os.path.isdir(path)]
    paths = [path for path in every if not os.path.isdir(path)]
    found = [path for path in paths if captures.may_be_capture(path)]
    closed = list(_closed(pattern))
    if not found and not folders and not closed:
        raise NothingError(f"{pattern}: {'no capture' if paths else 'no file'} matches")
    if len(found) < len(paths):
        notes.append(captures.left_out(pattern, len(paths) - len(found)))
    yield from map(Located, found)
    for folder in folders:
        yield from _of_folder(folder, notes)
    yield from map(Located, closed)


def _closed(pattern: str) -> Iterator[str]:
    """Folders that the glob had to leave out: they cannot be read."""
    while glob.has_magic(pattern) or not os.path.lexists(pattern):
        needed = os.R_OK | os.X_OK if glob.has_magic(os.path.basename(pattern)) else os.X_OK
        folders = pattern if os.path.basename(pattern) == "**" else os.path.dirname(pattern)
        for path in _paths(os.path.join(folders, "")):
            if not os.access(path, needed):
                yield os.path.abspath(path)
        pattern = os.path.dirname(pattern)


def _paths(pattern: str) -> set[str]:
    """As `glob.glob`, but `**` does not follow links that lead round in circles."""
    top, stars, rest = pattern.partition("/**/")
    if not stars:
        return set(glob.glob(pattern))
    return {
        path
        for start in glob.glob(top or "/")
        for folder in _folders(start)
        for path in _paths(os.path.join(glob.escape(folder), rest))
    }


def _folders(top: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """A folder and all below it that are not hidden."""
    real = os.path.realpath(top)
    if real in above or not os.path.isdir(top):
        return
    yield top
    for path in sorted(glob.glob(os.path.join(glob.escape(top), "*", ""))):
        yield from _folders(path.rstrip("/"), (*above, real))


def _remote(url: str, notes: list[str], is_listed: bool) -> Iterator[Located]:
    place = remote(url)
    try:
        place.fs.invalidate_cache()
        is_glob = _has_magic(url)
        is_one = not is_glob and not url.endswith("/")
        if is_one and (is_listed or place.fs.info(place.path)["type"] != "directory"):
            yield Located(shown(url), access(url))
            return
        files_of = place.fs.glob if is_glob else place.fs.find
        every = files_of(place.path, detail=True)
    except Exception as error:
        # File systems raise what they like.
        raise CaptureError(f"{shown(url)}: cannot read: {reason(error, url)}") from None
    paths = sorted(path for path, about in every.items() if about["type"] == "file")
    found = [path for path in paths if captures.CAPTURE_NAME.search(path)]
    if not found:
        empty = f"{'no capture' if paths else 'no file'} matches"
        raise NothingError(f"{shown(url)}: {empty if is_glob else 'a folder without captures'}")
    if len(found) < len(paths):
        notes.append(captures.left_out(shown(url), len(paths) - len(found)))
    for path in found:
        whole = place.url_of(path)
        yield Located(shown(whole), access(whole))


def _has_magic(url: str) -> bool:
    """A question mark begins the query of a URL, also where fsspec would take it for a letter."""
    return glob.has_magic(shown(url).replace("?", "").partition("://")[2])
