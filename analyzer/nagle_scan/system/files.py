"""Result files appear whole or not at all, so that nobody reads half a report."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from _thread import allocate_lock
from collections.abc import Iterable, Iterator

from nagle_scan.errors import NagleScanError, OutputError

TEMPORARY = "nagle-scan-"
"""Prefix of the names of temporary files and folders."""

MARKS = {
    ".html": b'<meta name="generator" content="nagle-scan ',
    ".json": b'{"schema":"nagle-scan/',
    ".csv": b"capture,verdict,stalls_certain,",
    ".md": b"\nnagle-scan ",
}
"""Marks that a folder's reports have near their beginning, and a ticket near its end."""
MARKED_BYTES = 4096

_half_written: set[str] = set()
_may_change = allocate_lock()
"""A lock for making, renaming and removing them; it is kept when the process ends."""


def utf8_name(path: str | os.PathLike[str], error: type[NagleScanError]) -> str:
    """A path as the engine takes it, `~` expanded, in UTF-8; Python passes other bytes as lone
    surrogates."""
    name = os.path.expanduser(os.fspath(path))
    try:
        name.encode()
    except UnicodeEncodeError:
        raise error(f"{name!a}: the name is not UTF-8") from None
    return name


def missing(packages: Iterable[str]) -> list[str]:
    """The packages that are not installed."""
    from importlib.util import find_spec

    return [name for name in packages if find_spec(name) is None]


def reason_of(error: OSError | ValueError) -> str:
    """The system's words, as messages end with them."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def make_folder(path: str) -> None:
    """Makes it unless it is there. Raises `OutputError`."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {reason_of(error)}") from None


def check_ours(path: str) -> None:
    """Raises `OutputError` for a link, and for a file without the mark of a report: it is a user's
    own, and has a name that nobody chose to have replaced."""
    what = ""
    if os.path.islink(path):
        what = "it is a link"
    elif os.path.isfile(path):
        with open(path, "rb") as file:
            head = file.read(MARKED_BYTES)
            file.seek(max(os.path.getsize(path) - MARKED_BYTES, 0))
            shown = file.read() if path.endswith(".md") else head
        if MARKS[os.path.splitext(path)[1]] not in shown:
            what = "nagle-scan did not make it"
    if what:
        raise OutputError(f"{path}: {what}: remove it to have it replaced, or name another folder")


def replace(path: str, content: bytes) -> None:
    """Writes `content` to `path`, at once; `-` is standard output. Raises `OutputError`."""
    if path == "-":
        _print(content)
        return
    with whole(path) as name, open(name, "wb") as file:
        file.write(content)


def _print(content: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        return
    except OSError as error:
        raise OutputError(f"standard output: cannot write: {reason_of(error)}") from None


@contextlib.contextmanager
def whole(path: str) -> Iterator[str]:
    """A temporary name to write to; it becomes `path` when the `with` block succeeds.

    An existing file is replaced, never written into: through a hard link it may be a capture.
    Raises `OutputError`, also for an `OSError` in the block.
    """
    if path == "-":
        yield path
        return
    target = os.path.realpath(path)
    name = target
    try:
        # A pipe or a device is written to directly.
        if not os.path.exists(target) or os.path.isfile(target):
            name = _temporary(target)
        yield name
        if name != target:
            with _may_change:
                os.replace(name, target)
                _half_written.discard(name)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {reason_of(error)}") from None
    except OutputError as error:
        # The engine only knows the temporary name.
        raise OutputError(str(error).replace(name, path, 1)) from None
    finally:
        if name != target:
            with _may_change:
                _remove(name)


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder while the `with` block runs. Raises `OutputError`, also for an `OSError` in it."""
    import tempfile

    try:
        with tempfile.TemporaryDirectory(prefix=TEMPORARY) as folder:
            yield folder
    except OSError as error:
        raise OutputError(f"temporary folder: cannot write: {reason_of(error)}") from None


def _remove(name: str) -> None:
    if name in _half_written:
        with contextlib.suppress(OSError):
            os.unlink(name)
        _half_written.discard(name)


@atexit.register
def _remove_all() -> None:
    """For a process that ends before its files are whole: nothing can be begun afterwards."""
    if _half_written:
        # A file system that hangs must not keep the process.
        _may_change.acquire(timeout=1.0)
        for name in list(_half_written):
            _remove(name)


def _temporary(target: str) -> str:
    """A new file in the same folder, with the permissions that `target` has or would get."""
    name = os.path.join(os.path.dirname(target), f".nagle-scan-{os.urandom(6).hex()}")
    with _may_change:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _half_written.add(name)
    try:
        if os.path.exists(target):
            os.fchmod(descriptor, os.stat(target).st_mode & 0o777)
    finally:
        os.close(descriptor)
    return name
