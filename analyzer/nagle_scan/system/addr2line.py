"""Functions and lines of code at addresses in programs, as `addr2line` of binutils finds them.

A trace may come from anywhere, and what it names is read by a tool that was not made for hostile
files. So it reads only a program that was on this machine, as it is, before the trace was made:
neither a parcel that brings both nor a program that was built again passes. No other command is
ever run.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence

Frame = tuple[str, int, str]
"""A program's file, the address of a call as strace prints it, and its function, empty for none."""
Line = tuple[str, str]
"""A function, and its `file:line`, empty where that is unknown."""
SECONDS = 10
MOST_PROGRAMS, MOST_ADDRESSES, MOST_INLINED = 20, 4000, 16
MOST_BYTES = 10_000_000
"""Bytes of its output that are read."""
MOST_SEGMENTS = 200
LOADED = 1
"""A segment that is in memory."""
NOT_FILES = "/proc/", "/sys/", "/dev/", "/net/"
"""Folders in which a look at a name may do something."""
NS = 1_000_000_000


def lines(frames: Sequence[Frame], began_ns: int | None, traces: Iterable[str]) -> list[list[Line]]:
    """For each frame the functions inlined there, the innermost first, then its own; nothing of a
    program that is not read.

    `began_ns` is when the trace began, if it tells that. Else the program may have come with it.
    """
    found: list[list[Line]] = [[] for _ in frames]
    tool = shutil.which("addr2line")
    if sys.platform != "linux" or tool is None or not os.path.isabs(tool):
        return found
    if began_ns is None or not _is_of_now(began_ns, traces):
        return found
    until = time.monotonic() + SECONDS
    programs = list(dict.fromkeys(frame[0] for frame in frames))[:MOST_PROGRAMS]
    for path in programs:
        own = [at for at, frame in enumerate(frames) if frame[0] == path]
        program = _opened(path, began_ns)
        if program is None:
            continue
        try:
            segments = list(_segments(program))
            asked = {at: _addresses(frames[at][1], segments) for at in own}
            every = list(dict.fromkeys(one for some in asked.values() for one in some))
            known = _known(tool, program, every[:MOST_ADDRESSES], until - time.monotonic())
        except (OSError, OverflowError, struct.error):
            continue
        finally:
            os.close(program)
        for at, addresses in asked.items():
            found[at] = _fitting(frames[at][2], [known.get(one, []) for one in addresses])
    return found


def _is_of_now(began_ns: int, traces: Iterable[str]) -> bool:
    """Was the trace last written after it began, as all are that were not made up?"""
    try:
        return began_ns <= min(os.stat(path).st_ctime_ns for path in traces)
    except (OSError, ValueError):
        return False


def _opened(path: str, began_ns: int) -> int | None:
    """The program as an open file, if it may be read."""
    is_plain = path.startswith("/") and os.path.normpath(path) == path and path.isprintable()
    if not is_plain or path.startswith(NOT_FILES):
        return None
    try:
        if os.path.realpath(path) != path or not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if is_trusted(os.fstat(file), began_ns):
        return file
    os.close(file)
    return None


def is_trusted(about: os.stat_result, began_ns: int) -> bool:
    """A file that only this user, or root, could write, and that is as it was before the trace."""
    is_own = about.st_uid in (0, os.geteuid()) and not about.st_mode & 0o022
    return stat.S_ISREG(about.st_mode) and is_own and about.st_ctime_ns < began_ns


def _segments(file: int) -> Iterator[tuple[int, int, int]]:
    """Where parts of an ELF file are in the file and in memory, and how long they are."""
    head = os.pread(file, 64, 0)
    is_64, order = head[4:5] == b"\2", "<" if head[5:6] == b"\1" else ">"
    begin, size, count = (32, 54, 56) if is_64 else (28, 42, 44)
    (begin,) = struct.unpack_from(order + ("Q" if is_64 else "I"), head, begin)
    size, count = (struct.unpack_from(order + "H", head, at)[0] for at in (size, count))
    for number in range(min(count, MOST_SEGMENTS)):
        entry = os.pread(file, size, begin + number * size)
        if is_64:
            kind, _, offset, address, _, length = struct.unpack_from(order + "IIQQQQ", entry)
        else:
            kind, offset, address, _, length = struct.unpack_from(order + "IIIII", entry)
        if kind == LOADED:
            yield offset, address, length


def _addresses(printed: int, segments: Sequence[tuple[int, int, int]]) -> list[int]:
    """Addresses that strace may mean: by libunwind it prints the place in the file, by libdw that
    behind the begin in memory."""
    own = [
        printed - offset + address
        for offset, address, length in segments
        if offset <= printed < offset + length
    ]
    base = min((address for _, address, _ in segments), default=0) & ~0xFFF
    return list(dict.fromkeys([*own, printed + base]))


def _known(tool: str, file: int, addresses: list[int], seconds: float) -> dict[int, list[Line]]:
    import subprocess

    command = [tool, "-afiC", "-e", f"/dev/fd/{file}", *map(hex, addresses)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[file],
        env={"LC_ALL": "C"},
    ) as running:
        timer = threading.Timer(max(seconds, 0), running.kill)
        timer.start()
        try:
            said = running.stdout.read(MOST_BYTES) if running.stdout else b""
        finally:
            timer.cancel()
            running.kill()
    return _parsed(said.decode(errors="replace").splitlines(), addresses)


def _parsed(said: list[str], addresses: list[int]) -> dict[int, list[Line]]:
    """Each address is repeated, then two lines follow for each function."""
    known: dict[int, list[Line]] = {}
    rest = iter(addresses)
    due, own = next(rest, None), []
    at = 0
    while at + 1 < len(said):
        if due is not None and re.fullmatch(f"0x0*{due:x}", said[at]):
            own = known[due] = []
            due, at = next(rest, None), at + 1
            continue
        place = re.match(r"(?:.*/)?([^/?]+:\d+)", said[at + 1])
        if len(own) < MOST_INLINED and said[at] != "??":
            own.append((said[at], place[1] if place else ""))
        at += 2
    return known


def _fitting(function: str, candidates: Iterable[list[Line]]) -> list[Line]:
    """Lines of the function that strace names: those of another one are of another place."""
    names = set(re.findall(r"\w+", function))
    for found in candidates:
        if found and (not names or names & set(re.findall(r"\w+", found[-1][0]))):
            return found
    return []
