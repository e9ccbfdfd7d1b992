"""Which of many files are one capture: those that one rotation wrote, unless told otherwise."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import count as count_from
from typing import NamedTuple

from nagle_scan import _core, files
from nagle_scan.errors import CaptureError
from nagle_scan.wording import count, file_name, printable

MERGE, SEPARATE = "merge", "separate"

COMPRESSED = re.compile(r"\.(gz|zst)$", re.IGNORECASE)
DUMPCAP = re.compile(r"_\d{5}_\d{14}(?=\.|$)")
"""`dumpcap -b`: name_00001_20261123120000.pcapng."""
TIME = re.compile(r"(?<!\d)20\d\d-?[01]\d-?[0-3]\d[-_T. ]?[0-2]\d[-:_.]?[0-5]\d([-:_.]?[0-6]\d)?")
"""`tcpdump -G 60 -w name-%Y%m%d-%H%M%S.pcap` and the like."""
EPOCH = re.compile(r"(?<!\d)1\d{9}(?!\d)")
"""`-w name-%s.pcap`."""
COUNTER = re.compile(r"(?<=\.pcap)\d+$|(?<=\.pcapng)\d+$|(?<=\.cap)\d+$|(?<=\.dmp)\d+$")
"""`tcpdump -C 100 -w name.pcap`: name.pcap, name.pcap1, name.pcap2."""


CAPTURE_NAME = re.compile(r"\.(pcap|pcapng|cap|dmp)\d*(\.(gz|zst|xz|bz2))?$", re.IGNORECASE)


class CaptureSet(NamedTuple):
    """Files that are read as one capture."""

    name: str
    stem: str
    """What its result files are called, before their suffix; no two the same."""
    paths: list[str]


class Grouped(NamedTuple):
    """What is to be read."""

    sets: list[CaptureSet]
    notes: list[str]
    """What a user must know of the files; without full stops."""


def grouped(named: Sequence[str], how: str | None = None) -> Grouped:
    """The captures in the order in which they are named; folders stand for the captures in them.

    `how`: all in one (`MERGE`), each on its own (`SEPARATE`), or as their names and first frames
    tell. Raises `CaptureError` for a folder without captures and for what is not there.
    """
    notes: list[str] = []
    paths = list(_distinct(list(_files(named, notes)), notes))
    if how == MERGE:
        parts = [paths]
    elif how == SEPARATE:
        parts = [[path] for path in paths]
    else:
        parts = list(_rotated(paths))
    return Grouped(list(_named(parts)), notes)


def numbered(sets: Sequence[CaptureSet]) -> list[CaptureSet]:
    """The same captures by number: a name may hold an address, a host or a person."""
    return [
        CaptureSet(f"capture-{number}", f"capture-{number}", capture.paths)
        for number, capture in enumerate(sets, 1)
    ]


def _named(parts: Sequence[list[str]]) -> Iterator[CaptureSet]:
    used: set[str] = set()
    for paths in parts:
        name = "stdin" if paths[0] == "-" else printable(file_name(paths[0]))
        stems = (name if number == 1 else f"{name}-{number}" for number in count_from(1))
        stem = next(stem for stem in stems if stem not in used)
        used.add(stem)
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield CaptureSet(paths[0] + more, stem, paths)


def _files(named: Sequence[str], notes: list[str]) -> Iterator[str]:
    for path in named:
        _check_there(path)
        if not os.path.isdir(path):
            yield path
            continue
        every = list(_within(path, notes))
        found = [file for file in every if _may_be_capture(file)]
        if not found:
            raise CaptureError(f"{path}: a folder without captures")
        if len(found) < len(every):
            rest = count(len(every) - len(found), "other file")
            notes.append(f"{printable(path)}: {rest} left out")
        yield from found


def _within(path: str, notes: list[str]) -> Iterator[str]:
    """All files below a folder, in the order of their names."""

    def skip(error: OSError) -> None:
        notes.append(f"{printable(str(error.filename))}: {files.reason_of(error)}: left out")

    for folder, _, names in sorted(os.walk(path, onerror=skip)):
        yield from (os.path.join(folder, name) for name in sorted(names))


def _may_be_capture(path: str) -> bool:
    """By its name, by its content, or because nobody can tell: then its row says why.

    A pipe in a folder is none: nobody may ever write into it.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        return False
    if CAPTURE_NAME.search(path):
        return True
    return os.path.isfile(path) and (not os.access(path, os.R_OK) or _first_ns(path) is not None)


def _check_there(path: str) -> None:
    """A mistyped name must not cost a long scan of the others."""
    try:
        if path != "-":
            os.stat(path)
    except OSError as error:
        raise CaptureError(f"{path}: cannot read: {files.reason_of(error)}") from None


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


def _rotated(paths: Sequence[str]) -> Iterator[list[str]]:
    """Sets of one rotated name whose files begin at different times; all others on their own."""
    sets: dict[str, list[str]] = {}
    for path in paths:
        sets.setdefault(_rotated_name(path), []).append(path)
    for members in sets.values():
        begin_ns = [_first_ns(path) for path in members] if len(members) > 1 else []
        # An empty file may be the last of a set.
        known_ns = [first_ns for first_ns in begin_ns if first_ns is not None]
        if known_ns and len(set(known_ns)) == len(known_ns):
            yield members
        else:
            yield from ([path] for path in members)


def _rotated_name(path: str) -> str:
    """The path without what a rotation counts or dates; the path itself if that is nothing."""
    folder, name = os.path.split(path)
    name = COMPRESSED.sub("", name)
    for pattern in (DUMPCAP, TIME, EPOCH, COUNTER):
        name = pattern.sub("*" if pattern in (TIME, EPOCH) else "", name)
    return os.path.join(folder, name)


def _first_ns(path: str) -> int | None:
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return _core.first_time_ns(path)
