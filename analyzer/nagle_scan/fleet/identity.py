"""What a file holds, told by its size and its ends, whatever its name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b, sha256
from typing import IO, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.fleet.remote import Remote, blocks, is_url, reason, remote
from nagle_scan.fleet.work import Capture, Failure, Secret
from nagle_scan.system import files

END_LEN = 1 << 16
"""Of each end: usual snap lengths let no record be longer, so it holds the first and the last."""
FIRST_LEN = 3 << 16
"""Read of a remote file for its first frame: a zstd block has 128 KiB (RFC 8878, 3.1.1.2.4)."""
HEAD_LENS = tuple(1 << power for power in range(6, 17))
"""A file that grew has the same first bytes, as far as they went: 64, 128, ... `END_LEN`."""
DIGITS = 32
"""Of a SHA-256, in hex: 128 bits. Processors of today compute it three times as fast as BLAKE2b."""
HEAD_DIGITS = 8
"""Of each hash of a head."""
AT_ONCE = 32


class Located(NamedTuple):
    """A file that was found."""

    url: str
    """A local path, or a URL without what gives access to it."""
    access: Secret = Secret()
    """See `Capture.access`."""


class _Ends(NamedTuple):
    size: int
    start: bytes
    """At least the first `END_LEN` bytes, if there are so many."""
    end: bytes
    """The last bytes: at most `END_LEN`, none of the first `END_LEN`."""
    file: tuple[int, int] | None = None
    """Device and inode of a local file, whatever its name."""


class Seen:
    """What passes by, from the first byte of a file to its last."""

    def __init__(self) -> None:
        self.ends = _Ends(0, b"", b"")

    def add(self, block: bytes) -> None:
        """The next bytes."""
        size, start, end, _ = self.ends
        end += block[max(0, END_LEN - size, len(block) - END_LEN) :]
        start += block[: FIRST_LEN - len(start)]
        self.ends = _Ends(size + len(block), start, end[-END_LEN:])

    @property
    def content(self) -> str:
        """`Capture.content` of what came."""
        return _ids(self.ends)[0]


def of(located: Located) -> Capture | Failure:
    """Its content and the time of its first frame. A file is opened, never waited for."""
    return _read(located)[0]


def keyed(capture: Capture, key: bytes | None) -> Capture:
    """With a key, what tells the content tells it to those only who have the key.

    The first bytes of a capture hold the addresses of its first packet: who tried all addresses
    would find the one for which a plain hash fits. What is equal, or begins the same, still is so.
    """
    if key is None:
        return capture
    head = capture.head
    return capture._replace(
        content=_under(key, capture.content, DIGITS),
        head="".join(
            _under(key, head[at : at + HEAD_DIGITS], HEAD_DIGITS)
            for at in range(0, len(head), HEAD_DIGITS)
        ),
    )


def _under(key: bytes, told: str, digits: int) -> str:
    return blake2b(told.encode(), digest_size=digits // 2, key=key).hexdigest()


def holds(before: Capture, now: Capture) -> bool:
    """Is all that was there before there still, as far as ends, sizes and first frames tell?"""
    return now.content == before.content or grew(before, now)


def grew(before: Capture, now: Capture) -> bool:
    """Longer, and all that was there before seems to be there still."""
    return (
        now.size > before.size
        and now.head.startswith(before.head)
        and before.first_ns in (None, now.first_ns)
    )


def of_all(located: Sequence[Located]) -> Iterator[Capture | Failure]:
    """`of` each, in their order, side by side: a file of a network takes some round trips.

    A file that grows meanwhile has one content, whatever names lead to it.
    """
    first: dict[tuple[int, int], Capture] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one, file in pool.map(_read, located):
            if isinstance(one, Failure) or file is None:
                yield one
                continue
            other = first.setdefault(file, one)
            # The number of a file that is gone may be given to another.
            is_same = holds(one, other) or holds(other, one)
            yield other._replace(url=one.url) if is_same else one


def failed(place: str, why: str) -> Failure:
    """The failure of a path or URL, in words that can be written whatever its bytes are."""
    told = why.removeprefix(f"{place}: ")
    return Failure(place.encode(errors="backslashreplace").decode(), "", told, 1)


def _read(located: Located) -> tuple[Capture | Failure, tuple[int, int] | None]:
    """What is there, and which local file it is."""
    try:
        ends, first_ns = _remote(located) if is_url(located.url) else _local(located.url)
    except CaptureError as error:
        return failed(located.url, str(error)), None
    except Exception as error:
        # What a file system raises is its own affair; many other files wait.
        return failed(located.url, reason(error, located.access or located.url)), None
    content, head = _ids(ends)
    capture = Capture(located.url, "", ends.size, content, head, first_ns, located.access)
    return capture, ends.file


def _local(path: str) -> tuple[_Ends, int | None]:
    files.utf8_name(path, CaptureError)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("a folder, pipe or device, which a fleet does not read")
        size = status.st_size
        # Nothing of what it gets meanwhile.
        start = os.pread(descriptor, min(END_LEN, size), 0)
        begin = max(END_LEN, size - END_LEN)
        end = os.pread(descriptor, size - begin, begin) if size > begin else b""
    finally:
        os.close(descriptor)
    file = status.st_dev, status.st_ino
    return _Ends(size, start, end, file), _core.first_time_ns(path)


def _remote(located: Located) -> tuple[_Ends, int | None]:
    place = remote(located.access or located.url)
    try:
        ends = _ends(place)
    except ValueError:
        # A server without ranges: all of it tells where it ends.
        ends = _through(place)
    return ends, _core.first_time_of_bytes(ends.start)


def _ends(place: Remote) -> _Ends:
    """Raises `ValueError` if a part cannot be had alone."""
    size = place.fs.info(place.path)["size"]
    if size is None:
        raise ValueError("of unknown size")
    asked = {"block_size": FIRST_LEN, "cache_type": "none", "size": size}
    with place.fs.open(place.path, "rb", **asked) as file:
        start = _exactly(file, min(size, FIRST_LEN))
        end = b""
        if size > END_LEN:
            begin = max(END_LEN, size - END_LEN)
            file.seek(begin)
            end = _exactly(file, size - begin)
    return _Ends(size, start, end)


def _exactly(file: IO[bytes], length: int) -> bytes:
    read = b""
    while len(read) < length and (part := file.read(length - len(read))):
        read += part
    if len(read) < length:
        raise EOFError(f"ends {length - len(read):,} bytes too early")
    return read


def _through(place: Remote) -> _Ends:
    seen = Seen()
    for block in blocks(place):
        seen.add(block)
    return seen.ends


def _ids(ends: _Ends) -> tuple[str, str]:
    """Of the content; and of the first bytes, which begins as that of a file that grew since."""
    start = ends.start[:END_LEN]
    told = sha256()
    head, done = "", 0
    for length in HEAD_LENS:
        if length > len(start):
            break
        told.update(start[done:length])
        head += told.hexdigest()[:HEAD_DIGITS]
        done = length
    told.update(start[done:])
    told.update(ends.end)
    told.update(ends.size.to_bytes(8))
    return told.hexdigest()[:DIGITS], head
