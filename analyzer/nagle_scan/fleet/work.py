"""What goes between the coordinator and its workers. All of it can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nagle_scan.api.names import Label


class Secret(str):
    """Text that neither a log nor a traceback shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Dots: distributed logs the arguments of a task that fails."""
        return "'...'" if self else "''"


def on_host(host: str, path: str) -> str:
    """A file as the user is told of it; `host` is empty if all have it."""
    return f"{host}:{path}" if host else path


class Located(NamedTuple):
    """A file that was found; it is not opened yet."""

    url: str
    """An absolute local path, or a URL that fsspec opens, without what gives access to it."""
    access: Secret = Secret()
    """The URL with user, password or query, if it has any. Never shown, never kept."""
    size: int = -1
    """Bytes as stored; -1 if unknown."""
    modified: str = ""
    """When it was modified (ns since the epoch), or what a store calls its version (ETag)."""


class Capture(NamedTuple):
    """A file that is to be read."""

    url: str
    host: str
    """The host whose workers have it; empty if all have."""
    size: int
    modified: str
    content: str
    """Tells its content: a hash of its size, its first and its last 64 KiB."""
    head: str
    """A hash of its first 64 KiB, or of all of it if it is shorter."""
    first_ns: int | None
    """Time of its first frame; `None` if it has none."""
    access: Secret = Secret()

    @property
    def shown(self) -> str:
        """As the user is told of it."""
        return on_host(self.host, self.url)


class Job(NamedTuple):
    """A capture set: files that are read as one capture, in this order."""

    id: str
    """Tells the content of all."""
    captures: tuple[Capture, ...]
    replaces: str = ""
    """The set in the fleet that it takes the place of, because a file of it grew."""

    @property
    def size(self) -> int:
        """Bytes as stored, of all."""
        return sum(capture.size for capture in self.captures)


class Settings(NamedTuple):
    """How every set is scanned."""

    version: str
    filter: str | None
    min_wait_ms: float
    key: bytes | None = None
    """Replaces addresses before anything leaves the worker."""
    everything: bool = False
    """Also waits that are no stalls, possible stalls, and connections without any."""
    labels: Mapping[str, Label] = {}
    """By address (`10.0.0.5`) or by address and port (`10.0.0.5:80`, `[fe80::1]:80`)."""

    def __repr__(self) -> str:
        """Without the key: distributed logs the arguments of a task that fails."""
        told = f"version={self.version!r}, filter={self.filter!r}, min_wait_ms={self.min_wait_ms}"
        return f"Settings({told}, key={'None' if self.key is None else '...'})"


class Answer(NamedTuple):
    """What a worker found in a set: tables, never payload."""

    set: str
    tables: dict[str, bytes]
    """Arrow IPC streams by name: see `tables`."""
    packets: int
    verdict: str
    incomplete: int = 0
    """Files that were not read to their end: they are damaged or cut off."""


class Failure(NamedTuple):
    """A file that could not be read, and why."""

    path: str
    reason: str
    host: str = ""
    size: int = -1
    modified: str = ""
    set: str = ""
    """Empty if it was never part of one."""
    attempts: int = 1
    is_final: bool = False
    """Is it no capture? The same file is not tried again."""

    @property
    def shown(self) -> str:
        """As the user is told of it."""
        return on_host(self.host, self.path)


class Scanned(NamedTuple):
    """What became of a set."""

    job: Job
    """With the captures that could be read."""
    answer: Answer | None
    """`None` if that was none of them, or too few to take the place of an old result."""
    failures: tuple[Failure, ...] = ()
    """The others."""
