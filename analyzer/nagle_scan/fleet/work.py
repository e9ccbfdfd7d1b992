"""What goes between the coordinator and its workers. All of it can be pickled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from nagle_scan.api.names import Label

SET_DIGITS = 32
"""Of a SHA-256, in hex: 128 bits."""
NO_CAPTURE = "not a capture file"
"""How the engine begins a reason that stays true until the file changes."""


class Secret(str):
    """Text that neither a log nor a traceback shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Dots: distributed logs the arguments of a task that fails."""
        return "'...'" if self else "''"


class Settings(NamedTuple):
    """How every set is scanned."""

    version: str
    filter: str | None
    min_wait_ms: float
    everything: bool = False
    """Also waits that are no stalls, possible stalls, and connections without any."""
    labels: Mapping[str, Label] = {}
    """By address (`10.0.0.5`) or by address and port (`10.0.0.5:80`, `[fe80::1]:80`)."""


class File(NamedTuple):
    """A file that was found."""

    path: str
    """An absolute local path, or a URL that fsspec opens, without a query."""
    size: int = -1
    """Bytes as stored; -1 if unknown."""
    modified: str = ""
    """When it was modified (ns since the epoch), or what a store calls its version (ETag)."""
    first_ns: int | None = None
    """Time of its first frame, once it was opened; `None` if it has none."""
    access: Secret = Secret()
    """The URL with its query, if it has one. Never shown, never kept."""

    @property
    def place(self) -> str:
        """The path as the table has it: in UTF-8, though the name may not be."""
        return self.path.encode(errors="backslashreplace").decode()


class Failure(NamedTuple):
    """A file that could not be read, and why."""

    file: File
    reason: str

    @property
    def is_final(self) -> bool:
        """Is it no capture? The same file is not tried again."""
        return self.reason.startswith(NO_CAPTURE)


class Set(NamedTuple):
    """Files that are read as one capture, in this order."""

    id: str
    files: tuple[File, ...]
    replaces: str = ""
    """The set in the table that it takes the place of."""

    @property
    def size(self) -> int:
        """Bytes as stored, of all."""
        return sum(file.size for file in self.files)


def made(files: Iterable[File], replaces: str = "") -> Set:
    """A set of these. Its name identifies its files, also after one of them grew."""
    ordered = sorted(files, key=lambda one: (one.first_ns is None, one.first_ns or 0))
    told = json.dumps([(one.place, one.first_ns) for one in ordered])
    return Set(sha256(told.encode()).hexdigest()[:SET_DIGITS], tuple(ordered), replaces)


class Scanned(NamedTuple):
    """What a worker found in some sets: rows by their kind, never payload."""

    sets: tuple[Set, ...] = ()
    """Those that were read, with the files that could be."""
    rows: Mapping[str, Mapping[str, list[Any]]] = {}
    packets: int = 0
    verdicts: tuple[str, ...] = ()
    incomplete: int = 0
    """Files that were not read to their end: they are damaged or cut off."""
    failures: tuple[Failure, ...] = ()
