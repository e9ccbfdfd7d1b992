"""Captures as something the engine reads: of a remote one, a copy without a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO

from nagle_scan.errors import CaptureError
from nagle_scan.fleet import identity
from nagle_scan.fleet.remote import is_url, reason, remote
from nagle_scan.fleet.work import Capture, Located


class TransportError(CaptureError):
    """A capture did not come to its end. What was read of it must not pass for the whole."""


@contextmanager
def opened(capture: Capture) -> Iterator[str]:
    """The path that the engine reads, as often as it likes.

    A remote capture is copied to TMPDIR for so long; whoever kills the process, nothing stays.
    Raises `TransportError` if it cannot be copied, and `CaptureError` if it is no longer the one
    that was found: of a local capture at the end of the block.
    """
    if not is_url(capture.url):
        yield capture.url
        _check_unchanged(capture, capture.url)
        return
    with TemporaryFile() as copy:
        path = f"/dev/fd/{copy.fileno()}"
        _fetch(capture, copy, path)
        _check_unchanged(capture, path)
        yield path


def _fetch(capture: Capture, copy: IO[bytes], path: str) -> None:
    """What came after its identity was taken is left to the next run."""
    url = capture.access or capture.url
    place = remote(url)
    try:
        place.fs.get_file(place.path, path)
        if missing := max(0, capture.size - copy.seek(0, 2)):
            raise EOFError(f"ends {missing:,} of {capture.size:,} bytes too early")
    except Exception as error:
        # A connection that broke stays broken: the next attempt gets another.
        place.fs.clear_instance_cache()
        raise TransportError(f"{capture.shown}: cannot copy: {reason(error, url)}") from None
    copy.truncate(capture.size)
    copy.seek(0)


def _check_unchanged(capture: Capture, path: str) -> None:
    """A ring that went round meanwhile must not give the old capture the frames of the new one.

    Nor may one that had no frame yet count as empty with those that came. Raises `CaptureError`.
    That it grew otherwise, or is gone by now, is no matter.
    """
    if not identity.still_holds(capture, Located(path)):
        raise CaptureError(f"{capture.shown}: changed while it was read")
