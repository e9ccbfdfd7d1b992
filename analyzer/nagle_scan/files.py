"""Result files appear whole or not at all, so that nobody reads half a report."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from nagle_scan.errors import NagleScanError, OutputError


def utf8_name(path: str | os.PathLike[str], error: type[NagleScanError]) -> str:
    """A path as the engine takes it, in UTF-8; Python passes other bytes as lone surrogates."""
    name = os.fspath(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise error(f"{name!a}: the name is not UTF-8") from None
    return name


def reason_of(error: OSError) -> str:
    """The system's words, as messages end with them."""
    return (error.strerror or str(error)).lower()


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
        raise OutputError(f"standard output: cannot write: {error.strerror}") from None


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
            os.replace(name, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {reason_of(error)}") from None
    except OutputError as error:
        # The engine only knows the temporary name.
        raise OutputError(str(error).replace(name, path, 1)) from None
    finally:
        if name != target:
            with contextlib.suppress(OSError):
                os.unlink(name)


def _temporary(target: str) -> str:
    """A new file in the same folder, with the permissions that `target` has or would get."""
    name = os.path.join(os.path.dirname(target), f".nagle-scan-{os.urandom(6).hex()}")
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if os.path.exists(target):
            os.fchmod(descriptor, os.stat(target).st_mode & 0o777)
    finally:
        os.close(descriptor)
    return name
