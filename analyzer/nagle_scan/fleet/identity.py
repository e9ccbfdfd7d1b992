"""What a file holds, told by its size and its ends, whatever its name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b, sha256
from io import FileIO
from typing import IO, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.fleet.remote import Remote, is_url, reason, remote, version
from nagle_scan.fleet.work import Capture, Failure, Located
from nagle_scan.system import files

END_LEN = 1 << 16
"""Of each end: usual snap lengths let no record be longer, so it holds the first and the last."""
FIRST_LEN = 3 << 16
"""Read of a remote file for its first frame: a zstd block has 128 KiB (RFC 8878, 3.1.1.2.4)."""
DIGITS = 32
"""Of a SHA-256, in hex: 128 bits. Processors of today compute it three times as fast as BLAKE2b."""
AT_ONCE = 32


class Ends(NamedTuple):
    """What is read of a file."""

    size: int
    modified: str
    start: bytes
    """At least the first `END_LEN` bytes, if there are so many."""
    end: bytes
    """The last bytes: at most `END_LEN`, none of the first `END_LEN`."""

    @property
    def content(self) -> str:
        """See `Capture.content`."""
        told = sha256(self.size.to_bytes(8))
        told.update(self.start[:END_LEN])
        told.update(self.end)
        return told.hexdigest()[:DIGITS]

    def head(self, length: int = END_LEN) -> str:
        """A hash of the first `length` bytes, at most `END_LEN`."""
        return sha256(self.start[: min(length, END_LEN)]).hexdigest()[:DIGITS]


def of(located: Located) -> Capture | Failure:
    """Its content and the time of its first frame. A file is opened, never waited for."""
    try:
        ends = _ends(located)
        first_ns = _first_ns(located, ends)
    except CaptureError as error:
        return failed(located, str(error))
    except Exception as error:
        # What a file system raises is its own affair; many other files wait.
        return failed(located, reason(error, located.access or located.url))
    told = ends.size, ends.modified, ends.content, ends.head()
    return Capture(located.url, "", *told, first_ns, located.access)


def of_all(located: Iterable[Located]) -> Iterator[Capture | Failure]:
    """`of` each, in their order, side by side: a file of a network takes some round trips."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(of, located)


def grew(before: Capture, located: Located, key: bytes | None = None) -> bool:
    """Is it longer now, and does it begin as before? Reads it; false also if it cannot be read.

    `before` is as `keyed` made it.
    """
    try:
        ends = _ends(located)
        is_same_frame = before.first_ns in (None, _first_ns(located, ends))
    except Exception:
        return False
    return is_same_frame and _begins(ends, before, key)


def still_holds(before: Capture, located: Located) -> bool:
    """Is it the same, or the same with more behind it? Also if it cannot be read any more."""
    try:
        ends = _ends(located)
        if ends.content == before.content:
            return True
        return _begins(ends, before) and before.first_ns == _first_ns(located, ends)
    except Exception:
        return True


def _begins(ends: Ends, before: Capture, key: bytes | None = None) -> bool:
    """Is it longer, and begins as before?"""
    return ends.size > before.size and _under(key, ends.head(before.size)) == before.head


def keyed(capture: Capture, key: bytes | None) -> Capture:
    """With a key, what tells the content tells it to those only who have the key.

    The first bytes of a capture hold the addresses of its first packet: who tried all addresses
    would find the one for which a plain hash fits.
    """
    return capture._replace(content=_under(key, capture.content), head=_under(key, capture.head))


def _under(key: bytes | None, told: str) -> str:
    return blake2b(told.encode(), digest_size=DIGITS // 2, key=key).hexdigest() if key else told


def failed(located: Located, why: str) -> Failure:
    """The failure of a file, in words that can be written whatever the bytes of its name are."""
    path = located.url.encode(errors="backslashreplace").decode()
    why = why.removeprefix(f"{located.url}: ")
    return Failure(path, why, size=located.size, modified=located.modified)


def _first_ns(located: Located, ends: Ends) -> int | None:
    if is_url(located.url):
        return _core.first_time_of_bytes(ends.start)
    return _core.first_time_ns(located.url)


def _ends(located: Located) -> Ends:
    if is_url(located.url):
        return _of_remote(remote(located.access or located.url))
    files.utf8_name(located.url, CaptureError)
    descriptor = os.open(located.url, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("a folder, pipe or device, which a fleet does not read")
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return _of_file(file, about.st_size, str(about.st_mtime_ns), END_LEN)
    finally:
        os.close(descriptor)


def _of_remote(place: Remote) -> Ends:
    about = place.fs.info(place.path)
    size = about["size"]
    try:
        if size is None:
            raise ValueError
        asked = {"block_size": FIRST_LEN, "cache_type": "none", "size": size}
        with place.fs.open(place.path, "rb", **asked) as file:
            return _of_file(file, size, version(about), FIRST_LEN)
    except ValueError:
        raise OSError("the server sends whole files only, or does not tell their size") from None


def _of_file(file: IO[bytes] | FileIO, size: int, modified: str, first_len: int) -> Ends:
    start = _exactly(file, min(size, first_len))
    begin = max(END_LEN, size - END_LEN)
    file.seek(begin)
    return Ends(size, modified, start, _exactly(file, size - begin))


def _exactly(file: IO[bytes] | FileIO, length: int) -> bytes:
    read = b""
    while len(read) < length and (part := file.read(length - len(read))):
        read += part
    if len(read) < length:
        raise EOFError(f"ends {length - len(read):,} bytes too early")
    return read
