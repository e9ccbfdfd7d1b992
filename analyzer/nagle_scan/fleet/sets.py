"""Which files are new, which the fleet knows, and which are one capture."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from nagle_scan.api import captures
from nagle_scan.fleet import inputs
from nagle_scan.fleet.table import Scope, Table
from nagle_scan.fleet.work import Failure, File, Place, Set, Settings, made

READ = 'SELECT host, path, size, modified, first_ns, ends, "set" FROM captures WHERE error IS NULL'
FAILED = (
    "SELECT host, path, size, modified, attempts, coalesce(final, false) AS final "
    "FROM captures WHERE error IS NOT NULL"
)
TORN = "it grew, but other files of its capture are gone: what came since cannot be read"


class Plan(NamedTuple):
    """The work of a run."""

    sets: list[Set]
    failures: list[Failure]
    known: int
    """Files that are unchanged, or copies of others."""
    no_captures: int
    """Files that are known to be no captures: the run that found them has said so."""
    notes: list[str]
    copies: Collection[Place]


class _Row(NamedTuple):
    """A file that was read."""

    host: str
    path: str
    size: int
    modified: str
    first_ns: int | None
    ends: str
    set: str


class Known:
    """The files that a fleet has. Of most only a hash is kept: there may be millions."""

    def __init__(self, table: Table, scope: Scope) -> None:
        self._table, self.scope = table, scope
        self.failed: dict[Place, int] = {}
        """How often each file that could not be read was tried."""
        self.no_captures: set[Place] = set()
        self._stamps = {hash(row[:4]) for row in table.answer(READ)}
        for row in table.each(FAILED):
            at = row["host"], row["path"]
            self.failed[at] = row["attempts"]
            if row["final"]:
                self.no_captures.add(at)
                self._stamps.add(hash((*at, row["size"], row["modified"])))

    def is_known(self, at: Place, file: File) -> bool:
        """Is it unchanged, so that it need not be opened?"""
        return bool(file.modified) and hash((*at, file.size, file.modified)) in self._stamps

    def where(self, name: str, wanted: Collection[str | int | None]) -> Iterator[_Row]:
        """Rows with one of these."""
        asked = f'{READ} AND "{name}" IN (SELECT unnest(?))'
        return map(_Row._make, self._table.answer(asked, [list(wanted)]) if wanted else ())


def plan(found: Iterable[File], known: Known, settings: Settings) -> Plan:
    """The work that is left for the files that were found."""
    there = {settings.place(file): file for file in found}
    as_before = {at for at, file in there.items() if known.is_known(at, file)}
    opened = inputs.dated(one for at, one in there.items() if at not in as_before)
    failures = [one for one in opened if isinstance(one, Failure)]
    fresh = {settings.place(one): one for one in opened if isinstance(one, File)}
    before = {(*row[:2], row.first_ns): row for row in known.where("path", {at[1] for at in fresh})}
    grown: dict[str, dict[Place, File]] = {}
    new: dict[Place, File] = {}
    unchanged = len(as_before - known.no_captures)
    for at, file in fresh.items():
        row = before.get((*at, file.first_ns)) or before.get((*at, None))
        if row is None:
            new[at] = file
        elif row.size != file.size:
            grown.setdefault(row.set, {})[at] = file
        else:
            unchanged += 1
    copies = _copies(new, known, settings)
    rotated = captures.rotated(
        [file for at, file in new.items() if at not in copies],
        attrgetter("path"),
        attrgetter("first_ns"),
    )
    sets = [made(one, settings) for one in rotated]
    members: dict[str, list[_Row]] = {}
    for row in known.where("set", grown):
        members.setdefault(row.set, []).append(row)
    for id, longer in grown.items():
        others = [row for row in members[id] if row[:2] not in longer]
        if all(row[:2] in as_before for row in others):
            kept = [there[row[:2]]._replace(first_ns=row.first_ns) for row in others]
            sets.append(made([*longer.values(), *kept], settings, id))
        else:
            failures += (Failure(file, TORN) for file in longer.values())
    notes = [f"{len(copies):,} copies of other captures: read once"] if len(copies) > 1 else []
    no_captures = len(as_before & known.no_captures)
    return Plan(sets, failures, unchanged + len(copies), no_captures, notes, copies)


def _copies(new: dict[Place, File], known: Known, settings: Settings) -> Collection[Place]:
    """Files with the size, first frame and ends of another: under a new name, on another host."""
    alike: dict[tuple[int, int | None], list[Place]] = {}
    for at, file in new.items():
        if file.first_ns is not None:
            alike.setdefault((file.size, file.first_ns), []).append(at)
    seen: dict[tuple[int, int | None], set[str]] = {}
    for row in known.where("first_ns", {first_ns for _, first_ns in alike}):
        seen.setdefault((row.size, row.first_ns), set()).add(row.ends)
    asked = [
        (same, at)
        for same, places in alike.items()
        if same in seen or len(places) > 1
        for at in places
    ]
    every = inputs.ends([new[at] for _, at in asked], settings.key)
    copies = set()
    for (same, at), ends in zip(asked, every, strict=True):
        if ends in seen.setdefault(same, set()) and ends:
            copies.add(at)
        seen[same].add(ends)
    return copies
