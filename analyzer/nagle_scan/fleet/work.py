"""Orders and results that go between a run and its workers. All of it can be pickled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Any, NamedTuple, TypeAlias

from nagle_scan import _core
from nagle_scan.api.names import Label
from nagle_scan.result.options import ScanOptions

Place: TypeAlias = tuple[str, str]
"""Host and path, as the table has them."""
DIGITS = 32
"""Hexadecimal digits of a SHA-256 that name a set or a file: 128 bits."""
NO_CAPTURE = "not a capture file"
"""Beginning of the reasons that stay true until the file changes."""
NAME_LEN = 8
"""Bytes of what stands for a path: no two of a billion captures are likely to share it."""


class Secret(str):
    """Text that neither a log nor a traceback shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Dots: distributed logs the arguments of a task that fails."""
        return "'...'" if self else "''"


class Settings(NamedTuple):
    """How every set is scanned."""

    version: str
    options: ScanOptions = ScanOptions()
    key: bytes | None = None
    """Replaces addresses before anything leaves the worker."""
    everything: bool = False
    """Also waits that are no stalls, possible stalls, and connections without any."""
    labels: Mapping[str, Label] = {}
    """By address (`10.0.0.5`) or by address and port (`10.0.0.5:80`, `[fe80::1]:80`)."""

    @classmethod
    def of(
        cls,
        options: ScanOptions,
        key: bytes | None,
        everything: bool,
        labels: Mapping[str, Label],
    ) -> Settings:
        """Settings of this version. A key leaves no names with an address in them."""
        if key is not None:
            labels = {at: label.without_addresses for at, label in labels.items()}
        return cls(_core.VERSION, options, key, everything, labels)

    def __repr__(self) -> str:
        """Without the key."""
        return f"Settings({self.version!r}, {self.options})"

    def place(self, file: File) -> Place:
        """The place of a file; a key hashes it: host and path may tell an address or a person."""
        # A name that is not UTF-8 is written so as well.
        path = file.path.encode(errors="backslashreplace")
        if self.key is None:
            return file.host, path.decode()
        place = file.host.encode() + b":" + path
        return "", f"capture-{blake2b(place, digest_size=NAME_LEN, key=self.key).hexdigest()}"


class File(NamedTuple):
    """A file that was found."""

    path: str
    """An absolute local path, or a URL that fsspec opens, without a query."""
    host: str = ""
    """The host with the disk that it is on; empty for a URL."""
    size: int = -1
    """Bytes as stored; -1 if unknown."""
    modified: str = ""
    """When it was modified (ns since the epoch), or what a store calls its version (ETag)."""
    first_ns: int | None = None
    """Time of its first frame, once it was opened; `None` if it has none."""
    access: Secret = Secret()
    """The URL with its query, if it has one. Never shown, never kept."""

    @property
    def source(self) -> str:
        """The path or URL that opens it."""
        return self.access or self.path


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


def made(files: Iterable[File], settings: Settings, replaces: str = "") -> Set:
    """A set of these. Its name stays the same when one of them grows."""
    ordered = sorted(files, key=lambda one: (one.first_ns is None, one.first_ns or 0))
    places = json.dumps([(*settings.place(one), one.first_ns) for one in ordered])
    return Set(digits(places.encode()), tuple(ordered), replaces)


def failure_id(place: Place) -> str:
    """The set that stands for a file which could not be read."""
    return digits(json.dumps(["failure", *place]).encode())


def digits(content: bytes) -> str:
    """The name of a set or a file, from what it holds."""
    return sha256(content).hexdigest()[:DIGITS]


class Scanned(NamedTuple):
    """The findings of a worker in some sets; never payload."""

    sets: tuple[Set, ...] = ()
    """Sets that were read, with the files that could be."""
    rows: Mapping[str, Mapping[str, list[Any]]] = {}
    """Columns by the kind of rows."""
    failures: tuple[Failure, ...] = ()
