"""Which files are new, which the fleet knows, and which are one capture."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from nagle_scan.api import captures as grouping
from nagle_scan.fleet import identity
from nagle_scan.fleet.lake import quoted
from nagle_scan.fleet.tables import place
from nagle_scan.fleet.work import Capture, Failure, Job, Located
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from nagle_scan.fleet.lake import Lake

Place: TypeAlias = tuple[str, str]
"""Host and path, as the tables have them."""
SET_DIGITS = 32
"""Of a SHA-256, in hex: 128 bits."""
FEW = 10_000
"""Texts that are asked for at once."""
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
    known: int
    """Files with a content that the fleet has."""
    notes: list[str]


class Known:
    """The files that a fleet has. Of most only a number is kept: there may be a million."""

    def __init__(self, lake: Lake, key: bytes | None) -> None:
        self._lake = lake
        self.key = key
        self._stamps: set[int] = set()
        self._failed: dict[Place, tuple[int, bool]] = {}
        """Attempts, and whether it is no capture."""
        columns = "host, path, size, modified, error IS NOT NULL, attempts, final"
        for host, path, size, modified, failed, attempts, final in self._rows(columns):
            if failed:
                self._failed[host, path] = attempts, bool(final)
            if final or not failed:
                self._stamps.add(hash((host, path, size, modified)))

    def place(self, host: str, url: str) -> Place:
        """Of a file, as the tables have it."""
        return place(host, url, self.key)

    def is_known(self, at: Place, one: Located) -> bool:
        """Is it as it was, so that it need not be opened?"""
        return bool(one.modified) and hash((*at, one.size, one.modified)) in self._stamps

    def is_no_capture(self, at: Place) -> bool:
        """Was it none?"""
        return self._failed.get(at, (0, False))[1]

    @property
    def failures(self) -> Iterable[Place]:
        """Of what could not be read."""
        return self._failed

    def attempts(self, at: Place) -> int:
        """How often it could not be read."""
        return self._failed.get(at, (0, False))[0]

    def contents(self, wanted: set[str]) -> set[str]:
        """Those that the fleet has."""
        return {content for (content,) in self._rows("content", "content", wanted)}

    def before(self, wanted: Collection[Place]) -> dict[Place, tuple[str, Capture]]:
        """What was at these places, and its set. A ring had several files of a name: the last."""
        columns = "path, host, size, modified, content, head, first_ns, set, scanned"
        found: dict[Place, tuple[Any, ...]] = {}
        for row in self._rows(columns, "path", {path for _, path in wanted}):
            at = row[1], row[0]
            if row[-2] and at in wanted and (at not in found or found[at][-1] < row[-1]):
                found[at] = row
        return {at: (row[-2], Capture(*row[:-2])) for at, row in found.items()}

    def members(self, sets: Collection[str]) -> dict[str, list[Place]]:
        """The places of the files of these sets."""
        found: dict[str, list[Place]] = {}
        for set_id, host, path, error in self._rows("set, host, path, error", "set", sets):
            if error is None:
                found.setdefault(set_id, []).append((host, path))
        return found

    def _rows(
        self, columns: str, key: str = "", wanted: Collection[str] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of `captures`, some at a time; with a key, those whose text is one of `wanted`."""
        texts = sorted(wanted)
        parts = [texts[at : at + FEW] for at in range(0, len(texts), FEW)] if key else [[]]
        for part in parts:
            which = f"WHERE {key} IN ({quoted(part)})" if key else ""
            for batch in self._lake.batches(f"SELECT {columns} FROM captures {which}"):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def plan(
    fresh: Sequence[Capture], known: Known, there: Mapping[Place, Found], opener: Opener
) -> Plan:
    """What is to be read of the files that were opened; `there` are all files that were found."""
    copies: list[str] = []
    new: dict[Place, Capture] = {}
    first: dict[str, Capture] = {}
    content_of = {one: identity.keyed(one, known.key).content for one in fresh}
    contents = known.contents({content_of[one] for one in fresh if one.first_ns is not None})
    for capture in fresh:
        if content_of[capture] in contents:
            continue
        same = capture if capture.first_ns is None else first.setdefault(capture.content, capture)
        if same is not capture:
            copies.append(f"{printable(capture.shown)} is {printable(same.shown)} again: read once")
        else:
            new[known.place(capture.host, capture.url)] = capture
    before = known.before(new)
    longer = [(at, one, there[at]) for at, (_, one) in before.items() if one.size < new[at].size]
    grown: dict[str, dict[Place, Capture]] = {}
    for at in opener.grown(longer):
        grown.setdefault(before[at][0], {})[at] = new.pop(at)
    rotated = grouping.rotated(list(new.values()), attrgetter("shown"), attrgetter("first_ns"))
    jobs = [_job(members) for members in rotated]
    failures: list[Failure] = []
    members = known.members(grown) if grown else {}
    for set_id, captures in grown.items():
        others = [at for at in members[set_id] if at not in captures]
        are_there = all(at in there and known.is_known(at, there[at][1]) for at in others)
        again = opener.identified([there[at] for at in others]) if are_there else iter(())
        read = [one for one in again if isinstance(one, Capture)]
        if len(read) == len(others):
            jobs.append(_job([*captures.values(), *read], set_id))
        else:
            failures += (_torn(one, set_id) for one in captures.values())
    with_known = sum(content_of[one] in contents for one in fresh)
    return Plan(jobs, failures, with_known, list(_cut(copies)))


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
