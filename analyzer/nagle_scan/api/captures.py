"""Which of many files are one capture: those that one rotation wrote, by default."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from itertools import count as count_from
from operator import attrgetter
from typing import NamedTuple, TypeVar

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.system import files
from nagle_scan.words.wording import count, file_name, printable

COMPRESSED = r"(?i)\.(gz|zst)$"
DUMPCAP = r"_\d{5}_\d{14}(?=\.|$)"
"""`dumpcap -b`: name_00001_20261123120000.pcapng."""
TIME = r"(?<!\d)20\d\d-?[01]\d-?[0-3]\d[-_T. ]?[0-2]\d[-:_.]?[0-5]\d([-:_.]?[0-6]\d)?"
"""`tcpdump -G 60 -w name-%Y%m%d-%H%M%S.pcap` and the like."""
EPOCH = r"(?<!\d)1\d{9}(?!\d)"
"""`-w name-%s.pcap`."""
TIME_OF_DAY = r"(?<=[-_])[0-2]\d[0-5]\d[0-6]\d(?=\.)"
"""`-w name-%H%M%S.pcap`."""
DATE = r"(?<=cap|dmp)\.20\d\d-?[01]\d-?[0-3]\d$"
"""`logrotate` with `dateext`: name.pcap.2026-11-26."""
COUNTER = r"(?<=\.pcap)\d+$|(?<=\.pcapng)\d+$|(?<=\.cap)\d+$|(?<=\.dmp)\d+$|_\d{5}(?=\.)"
"""`tcpdump -C 100 -w name.pcap`: name.pcap, name.pcap1, name.pcap2; others: name_00001.pcap."""


CAPTURE_NAME = r"(?i)\.(pcap|pcapng|cap|dmp)\d*(\.20\d\d-?\d\d-?\d\d)?(\.(gz|zst|xz|bz2))?$"


_File = TypeVar("_File")


class CaptureSet(NamedTuple):
    """Files that are read as one capture."""

    name: str
    stem: str
    """The name of its result files, before their suffix; no two the same."""
    paths: list[str]


class Grouped(NamedTuple):
    """Captures to read."""

    sets: list[CaptureSet]
    notes: list[str]
    """Facts about the files that a user must know; without full stops."""


def grouped(named: Sequence[str], merge: bool = False) -> Grouped:
    """The captures in the order in which they are named; folders stand for the captures in them.

    All in one if `merge`, else as their names and first frames tell. Raises `CaptureError` for a
    folder without captures and for what is not there.
    """
    notes: list[str] = []
    paths = list(_distinct(list(_files(named, notes)), notes))
    parts = [paths] if merge or len(paths) == 1 else list(rotated(paths, str, _first_ns))
    return Grouped(list(_named(parts)), notes)


def are_one_rotation(sets: Sequence[CaptureSet]) -> bool:
    """Are all files named like those of one rotation?"""
    return len({rotated_name(path) for capture in sets for path in capture.paths}) == 1


def numbered(sets: Sequence[CaptureSet]) -> list[CaptureSet]:
    """Captures named by their numbers: a name may hold an address, a host or a person."""
    return [
        CaptureSet(f"capture-{number}", f"capture-{number}", capture.paths)
        for number, capture in enumerate(sets, 1)
    ]


def below(folder: str, closed: list[OSError]) -> Iterator[str]:
    """All files below it. Links to folders are not followed; what cannot be listed is `closed`."""
    for entry in entries(folder, closed):
        if entry.is_dir(follow_symlinks=False):
            yield from below(entry.path, closed)
        elif not (entry.is_symlink() and os.path.isdir(entry.path)):
            yield entry.path


def entries(folder: str, closed: list[OSError]) -> list[os.DirEntry[str]]:
    """Entries of a folder, by name."""
    try:
        with os.scandir(folder) as listed:
            return sorted(listed, key=attrgetter("name"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        closed.append(error)
        return []


def left_out(path: str, others: int) -> str:
    """The note on files that are no captures."""
    return f"{printable(path)}: {count(others, 'other file')} left out"


def check_there(path: str) -> None:
    """Raises `CaptureError`: a mistyped name must not cost a long scan of the others."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: cannot read: {files.reason_of(error)}") from None


def has_capture_name(path: str) -> bool:
    """Is it called as captures are?"""
    return re.search(CAPTURE_NAME, path) is not None


def may_be_capture(path: str) -> bool:
    """By its name, by its content, or because nobody can tell: then its row says why.

    A pipe in a folder is none: nobody may ever write into it.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        return False
    if has_capture_name(path):
        return True
    return os.path.isfile(path) and (not os.access(path, os.R_OK) or _first_ns(path) is not None)


def rotated(
    every: Iterable[_File], name: Callable[[_File], str], first_ns: Callable[[_File], int | None]
) -> Iterator[list[_File]]:
    """Sets of one rotated name, if the files begin at different times; all others on their own.

    `name` is a path or URL; `first_ns` is asked only of files that share a rotated name.
    """
    sets: dict[str, list[_File]] = {}
    for file in every:
        sets.setdefault(rotated_name(name(file)), []).append(file)
    for members in sets.values():
        begin_ns = [first_ns(file) for file in members] if len(members) > 1 else []
        # An empty file may be the last of a set.
        known_ns = [begin for begin in begin_ns if begin is not None]
        if known_ns and len(set(known_ns)) == len(known_ns):
            yield members
        else:
            yield from ([file] for file in members)


def rotated_name(path: str) -> str:
    """The path without what a rotation counts or dates; the path itself if that is nothing."""
    folder, name = os.path.split(path)
    name = re.sub(COMPRESSED, "", name)
    for pattern in (DUMPCAP, TIME, EPOCH, TIME_OF_DAY, DATE, COUNTER):
        name = re.sub(pattern, "" if pattern in (DUMPCAP, COUNTER) else "*", name)
    return os.path.join(folder, name)


def _named(parts: Sequence[list[str]]) -> Iterator[CaptureSet]:
    used: set[str] = set()
    for paths in parts:
        name = "stdin" if paths[0] == "-" else printable(file_name(paths[0]))
        suffix = re.search(CAPTURE_NAME, name)
        end = suffix.start() if suffix else len(name)
        again = (f"{name[:end]}-{number}{name[end:]}" for number in count_from(2))
        stems = chain([name], again)
        stem = next(stem for stem in stems if stem not in used)
        used.add(stem)
        first, more = paths[0], len(paths) - 1
        yield CaptureSet(first + (f" and {more} more" if more else ""), stem, paths)


def _files(named: Sequence[str], notes: list[str]) -> Iterator[str]:
    for path in named:
        if path != "-":
            check_there(path)
        if not os.path.isdir(path):
            yield path
            continue
        closed: list[OSError] = []
        every = list(below(path, closed))
        found = list(filter(may_be_capture, every))
        notes += (
            f"{printable(str(one.filename))}: {files.reason_of(one)}: left out" for one in closed
        )
        if not found:
            if closed:
                where, why = closed[0].filename, files.reason_of(closed[0])
                raise CaptureError(f"{where}: cannot read: {why}")
            raise CaptureError(f"{path}: a folder without captures")
        if others := len(every) - len(found):
            notes.append(left_out(path, others))
        yield from found


def _distinct(paths: Sequence[str], notes: list[str]) -> Iterator[str]:
    """A file that is named twice is one file. Pipes and standard input cannot be."""
    seen: dict[str, str] = {}
    for path in paths:
        file = os.path.realpath(path)
        if file in seen and os.path.isfile(file):
            notes.append(f"{printable(path)} is {printable(seen[file])} again: read once")
            continue
        seen[file] = path
        yield path


def _first_ns(path: str) -> int | None:
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return _core.first_time_ns(path)
