"""What goes between the coordinator and its workers. All of it can be pickled."""

from __future__ import annotations

from typing import NamedTuple


class Secret(str):
    """Text that neither a log nor a traceback shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Dots: distributed logs the arguments of a task that fails."""
        return "'...'" if self else "''"


def on_host(host: str, path: str) -> str:
    """A file as the user is told of it; `host` is empty if all have it."""
    return f"{host}:{path}" if host else path


class Capture(NamedTuple):
    """A file that is to be read."""

    url: str
    """An absolute local path, or a URL that fsspec opens, without what gives access to it."""
    host: str
    """The host whose workers have it; empty if all have."""
    size: int
    """Bytes as stored."""
    content: str
    """Tells its content: see `identity`."""
    head: str
    """Tells its first bytes: of a file that grew they stay."""
    first_ns: int | None
    """Time of its first frame; `None` if it has none."""
    access: Secret = Secret()
    """The URL with user, password or query, if it has any. Never shown, never kept."""

    @property
    def shown(self) -> str:
        """As the user is told of it."""
        return on_host(self.host, self.url)


class Job(NamedTuple):
    """A capture set: files that are read as one capture, in this order."""

    id: str
    """Tells the content of all."""
    name: str
    captures: tuple[Capture, ...]
    replaces: str = ""
    """The set in the dataset that it takes the place of, because a file of it grew."""

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
    run: int = 0
    """In the dataset."""

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
    files: dict[str, dict[str, bytes]]
    """The rows of large tables as Parquet files, by day; their streams have none."""
    incomplete: int = 0
    """Files that were not read to their end: they are damaged or cut off."""

    @property
    def size(self) -> int:
        """Bytes of all."""
        files = (file for days in self.files.values() for file in days.values())
        return sum(map(len, (*self.tables.values(), *files)))


class Failure(NamedTuple):
    """What could not be scanned, and why."""

    path: str
    set: str
    """Empty if it was never part of one."""
    reason: str
    attempts: int


class Known(NamedTuple):
    """A file that the dataset has."""

    capture: Capture
    set: str


class Ledger(NamedTuple):
    """What the dataset has."""

    set_of: dict[str, str]
    """Of a content, the set."""
    at: dict[str, Known]
    """What was last found under a name (`Capture.shown`)."""
    members: dict[str, tuple[Capture, ...]]
    """Of a set, its captures in their order."""
