"""Remote captures as something the engine reads: a pipe, into which they are copied."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Thread
from typing import IO

from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import identity
from nagle_scan.fleet.remote import blocks, is_url, reason, remote
from nagle_scan.fleet.work import Capture, Located
from nagle_scan.system import files


class TransportError(CaptureError):
    """A capture did not come to its end. What was read of it must not pass for the whole."""


@contextmanager
def opened(capture: Capture) -> Iterator[str]:
    """The path that the engine reads.

    A remote capture never gets onto a disk. Raises `TransportError` at the end of the block if it
    did not come whole, also in place of a `CaptureError`: what the engine says then is a
    consequence. An engine that stopped early (a damaged capture) has no need of the rest.
    Raises `CaptureError` there if the file is no longer the one that was found.

    Each of many waits for its turn with a pipe, a thread and little memory: no copy needs another,
    so the engine may read them in any order.
    """
    if not is_url(capture.url):
        yield capture.url
        _check_unchanged(capture)
        return
    copy = _Copy(capture)
    copy.start()
    try:
        try:
            yield copy.path
        finally:
            copy.let_go()
            copy.join()
    except CaptureError:
        copy.check()
        raise
    copy.check()
    if not copy.is_whole:
        _check_unchanged(capture)


@contextmanager
def copied(capture: Capture) -> Iterator[str]:
    """A path that can be read again and again: of a remote capture a copy, for so long.

    Raises as `opened`, and `OutputError` if there is no room for the copy.
    """
    if not is_url(capture.url):
        with opened(capture) as path:
            yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(capture.url))
        with opened(capture) as pipe, open(pipe, "rb") as source:
            try:
                with open(path, "wb") as copy:
                    shutil.copyfileobj(source, copy)
            except OSError as error:
                raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
        yield path


def _check_unchanged(capture: Capture) -> None:
    """A ring that went round meanwhile must not give the old capture the frames of the new one.

    Nor may one that had no frame yet count as empty with those that came. Raises `CaptureError`.
    That it grew otherwise, or is gone by now, is no matter.
    """
    located = Located(capture.url, capture.access)
    now = identity.of(located)
    if isinstance(now, Capture) and (
        now.first_ns != capture.first_ns
        or (now.content != capture.content and not identity.grew(capture, located))
    ):
        raise CaptureError(f"{capture.shown}: changed its beginning while it was read")


def _pipe() -> tuple[int, int]:
    """Its ends. A process may have some 256 or 1024 open files, unless it asks for more."""
    import resource  # Windows has none.

    read_end, write_end = os.pipe()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 < soft < 2 * write_end:
        more = 2 * soft if hard == resource.RLIM_INFINITY else min(2 * soft, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
    return read_end, write_end


class _Copy(Thread):
    """Copies a capture into a pipe, as far as somebody reads it."""

    def __init__(self, capture: Capture) -> None:
        super().__init__(name="capture", daemon=True)
        self._capture = capture
        read_end, self._into = _pipe()
        self.path = f"/dev/fd/{read_end}"
        self._read_ends = [read_end]
        self._failed: CaptureError | None = None
        self.is_whole = False
        """Was all of it read?"""

    def let_go(self) -> None:
        """If nobody else has the pipe open, the copy ends at its next write."""
        # Two threads do so; a list gives to one of them.
        with suppress(IndexError):
            os.close(self._read_ends.pop())

    def check(self) -> None:
        """Raises `TransportError` if it failed, `CaptureError` if it copied another capture."""
        if self._failed:
            raise self._failed from None

    def run(self) -> None:
        url = self._capture.access or self._capture.url
        with suppress(BrokenPipeError), open(self._into, "wb") as pipe:
            try:
                self._copy(url, pipe)
            except CaptureError as error:
                self._fail(TransportError, str(error).removeprefix(f"{self._capture.url}: "))
            except Exception as error:
                self._fail(TransportError, f"cannot read: {reason(error, url)}")

    def _fail(self, kind: type[CaptureError], why: str) -> None:
        self._failed = kind(f"{self._capture.shown}: {why}")

    def _copy(self, url: str, pipe: IO[bytes]) -> None:
        """What came after its identity was taken is left to the next run."""
        left = self._capture.size
        # Bytes that a pipe holds.
        held = 16 * os.sysconf("SC_PAGE_SIZE")
        seen = identity.Ends()
        with closing(blocks(remote(url), left)) as parts:
            for part in parts:
                wanted = part[:left]
                try:
                    pipe.write(wanted)
                    pipe.flush()
                except BrokenPipeError:
                    # Nobody reads it any more.
                    return
                seen = seen.then(wanted)
                left -= len(wanted)
                if self._capture.size - left > held:
                    # The engine has opened it. Damaged captures must not wait here for the others.
                    self.let_go()
                if not left:
                    break
        if left:
            raise EOFError(f"ends {left:,} of {self._capture.size:,} bytes too early")
        self.is_whole = True
        if seen.content != self._capture.content:
            # Also if it changed on the way: then its end is not that of its beginning.
            self._fail(CaptureError, "changed while it was read")
