"""Which files are new, which the fleet knows, and which are one capture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from nagle_scan.api import captures as grouping
from nagle_scan.fleet import identity
from nagle_scan.fleet.tables import place
from nagle_scan.fleet.work import Capture, Failure, Job, Located
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from nagle_scan.fleet.lake import Lake

Place: TypeAlias = tuple[str, str]
"""Host and path, as the tables have them."""
ROWS = """SELECT host, path, size, modified, content, head, first_ns, set, error, final, attempts
FROM captures ORDER BY scanned"""
SET_DIGITS = 32
"""Of a SHA-256, in hex: 128 bits."""
MOST_COPIES = 3
"""Notes on files that are read once under several names."""


Found: TypeAlias = tuple[str, Located]
"""A file, and the only host that has it; empty if all workers have it."""


class Opener(Protocol):
    """Opens files where they are."""

    def identified(self, found: Sequence[Found]) -> Iterator[Capture | Failure]:
        """As `identity.of`."""

    def grown(self, pairs: Sequence[tuple[Place, Capture, Found]]) -> Iterator[Place]:
        """Those that `identity.grew`."""


class Plan(NamedTuple):
    """What is to be done."""

    jobs: list[Job]
    failures: list[Failure]
    """Files that grew while others of their capture are gone."""
    notes: list[str]


class Known:
    """The files that a fleet has; a few hundred bytes each."""

    def __init__(self, lake: Lake, key: bytes | None) -> None:
        self._key = key
        rows = lake.query(ROWS)
        self._columns = {name: rows[name].combine_chunks() for name in rows.column_names}
        places = zip(rows["host"].to_pylist(), rows["path"].to_pylist(), strict=True)
        self._files: dict[Place, int] = {}
        self._failed: dict[Place, int] = {}
        for row, (at, error) in enumerate(zip(places, self._columns["error"], strict=True)):
            # A ring that went round had several files of a name: the last one counts.
            (self._failed if error.is_valid else self._files)[at] = row
        self._contents = set(filter(None, rows["content"].to_pylist()))

    def place(self, host: str, url: str) -> Place:
        """Of a file, as the tables have it."""
        return place(host, url, self._key)

    def is_known(self, at: Place, one: Located) -> bool:
        """Is it as it was, so that it need not be opened?"""
        return at in self._files and self._is_same(self._files[at], one)

    def is_no_capture(self, at: Place, one: Located) -> bool:
        """Was it none, and has not changed since?"""
        row = self._failed.get(at)
        return row is not None and self._at(row, "final") and self._is_same(row, one)

    @property
    def failures(self) -> Iterable[Place]:
        """Of what could not be read."""
        return self._failed

    def attempts(self, at: Place) -> int:
        """How often it could not be read."""
        row = self._failed.get(at)
        return 0 if row is None else int(self._at(row, "attempts"))

    def has_content(self, capture: Capture) -> bool:
        """Is it known, whatever its name? Captures without frames are all alike."""
        content = identity.keyed(capture, self._key).content
        return capture.first_ns is not None and content in self._contents

    def before(self, at: Place) -> Capture | None:
        """What was at a place."""
        return self._capture(self._files[at]) if at in self._files else None

    def set_of(self, at: Place) -> str:
        """The set of the file at a place."""
        return str(self._at(self._files[at], "set"))

    def members(self, set_id: str) -> Sequence[Place]:
        """The places of the files of a set."""
        return self._by_set[set_id]

    @cached_property
    def _by_set(self) -> dict[str, list[Place]]:
        by_set: dict[str, list[Place]] = {}
        for at, row in self._files.items():
            by_set.setdefault(self._at(row, "set"), []).append(at)
        return by_set

    def _is_same(self, row: int, one: Located) -> bool:
        told = self._at(row, "size"), self._at(row, "modified")
        return bool(one.modified) and told == (one.size, one.modified)

    def _capture(self, row: int) -> Capture:
        names = ("path", "host", "size", "modified", "content", "head", "first_ns")
        return Capture(*(self._at(row, name) for name in names))

    def _at(self, row: int, name: str) -> Any:  # noqa: ANN401
        return self._columns[name][row].as_py()


def plan(
    fresh: Sequence[Capture], known: Known, there: Mapping[Place, Found], opener: Opener
) -> Plan:
    """What is to be read of the files that were opened; `there` are all files that were found."""
    copies: list[str] = []
    new: dict[Place, Capture] = {}
    first: dict[str, Capture] = {}
    for capture in fresh:
        if known.has_content(capture):
            continue
        same = capture if capture.first_ns is None else first.setdefault(capture.content, capture)
        if same is not capture:
            copies.append(f"{printable(capture.shown)} is {printable(same.shown)} again: read once")
        else:
            new[known.place(capture.host, capture.url)] = capture
    before = {at: known.before(at) for at in new}
    longer = [(at, one, there[at]) for at, one in before.items() if one and one.size < new[at].size]
    grown: dict[str, dict[Place, Capture]] = {}
    for at in opener.grown(longer):
        grown.setdefault(known.set_of(at), {})[at] = new.pop(at)
    rotated = grouping.rotated(list(new.values()), attrgetter("shown"), attrgetter("first_ns"))
    jobs = [_job(members) for members in rotated]
    failures: list[Failure] = []
    for set_id, captures in grown.items():
        others = [at for at in known.members(set_id) if at not in captures]
        if all(at in there and known.is_known(at, there[at][1]) for at in others):
            again = opener.identified([there[at] for at in others])
            members = [one for one in again if isinstance(one, Capture)]
            jobs.append(_job([*captures.values(), *members], set_id))
        else:
            failures += (_torn(one, set_id) for one in captures.values())
    return Plan(jobs, failures, list(_cut(copies)))


def _torn(grown: Capture, set_id: str) -> Failure:
    why = "it grew, but other files of its capture are gone: what came since cannot be read"
    return Failure(grown.url, why, grown.host, grown.size, grown.modified, set_id)


def _cut(copies: Sequence[str]) -> Iterator[str]:
    """An archive may hold a copy of everything."""
    yield from copies[:MOST_COPIES]
    if (more := len(copies) - MOST_COPIES) > 0:
        yield f"{count(more, 'more file')} with the content of another: read once"


def _job(members: Iterable[Capture], replaces: str = "") -> Job:
    ordered = sorted(members, key=lambda one: (one.first_ns is None, one.first_ns or 0))
    told = sha256()
    for capture in ordered:
        told.update(capture.content.encode())
        if capture.first_ns is None:
            told.update(capture.shown.encode())
    return Job(told.hexdigest()[:SET_DIGITS], tuple(ordered), replaces)
