"""Which files are new, which the table knows, and which are one capture."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nagle_scan.api import captures
from nagle_scan.fleet import inputs
from nagle_scan.fleet.table import python_rows
from nagle_scan.fleet.work import Failure, File, Place, Set, Settings, made

if TYPE_CHECKING:
    from arro3.core import Table as Answer

KNOWN = (
    'SELECT host, path, size, modified, first_ns, "set", error IS NOT NULL AS failed, '
    "coalesce(final, false) AS final, attempts FROM captures"
)
Open: TypeAlias = Callable[[Any, Sequence[File]], Iterable[tuple[File, Any]]]
"""Calls `inputs.dated` or `inputs.ends` where the files are; nothing for those of a lost host."""
TORN = "it grew, but other files of its capture are gone: what came since cannot be read"


class Plan(NamedTuple):
    """What is to be done."""

    sets: list[Set]
    failures: list[Failure]
    known: int
    """Files that are as they were, or copies of others."""
    no_captures: int
    """Files that are known to be no captures: told by the run that found them."""
    notes: list[str]


class _Row(NamedTuple):
    """A row of `captures`."""

    host: str
    path: str
    size: int
    modified: str
    first_ns: int | None
    set: str
    failed: bool
    final: bool
    attempts: int


class Known:
    """The files that a table has. Of most only a number is kept as a Python object."""

    def __init__(self, rows: Answer) -> None:
        self._rows = rows
        self._stamps: set[int] = set()
        self.failed: dict[Place, _Row] = {}
        """What could not be read."""
        self.lost: set[str] = set()
        """Sets of which not all rows are left."""
        for row in map(_Row._make, python_rows(rows)):
            if row.failed:
                self.failed[row[:2]] = row
                self.lost |= set() if row.attempts else {row.set}
            if row.final or not row.failed:
                self._stamps.add(hash(row[:4]))

    def is_known(self, at: Place, file: File) -> bool:
        """Is it as it was, so that it need not be opened?"""
        return bool(file.modified) and hash((*at, file.size, file.modified)) in self._stamps

    def has_lost(self, at: Place) -> bool:
        """Are rows gone of what is there?"""
        return at in self.failed and not self.failed[at].attempts

    def where(self, name: str, wanted: Collection[object]) -> Iterator[_Row]:
        """Rows of what was read, with one of these."""
        columns: Any = self._rows.columns if wanted else ()
        at = _Row._fields.index(name)
        for values in zip(*columns, strict=True):
            if values[at].as_py() in wanted:
                row = _Row(*(value.as_py() for value in values))
                yield from () if row.failed else (row,)


def plan(
    found: Iterable[File], known: Known, settings: Settings, open: Open, again: bool = False
) -> Plan:
    """What is to be read of the files that were found; `again`: also what is known."""
    there = {settings.place(file): file for file in found}
    as_before = {at for at, file in there.items() if known.is_known(at, file)}
    none = sum(at in known.failed for at in as_before)
    failures: list[Failure] = []
    fresh: dict[Place, File] = {}
    unknown = [one for at, one in there.items() if again or at not in as_before]
    for _, told in open(inputs.dated, unknown):
        if isinstance(told, Failure):
            failures.append(told)
        else:
            fresh[settings.place(told)] = told
    before = {(*row[:2], row.first_ns): row for row in known.where("path", {at[1] for at in fresh})}
    grown: dict[str, dict[Place, File]] = {}
    new: dict[Place, File] = {}
    same = 0
    for at, file in fresh.items():
        row = before.get((*at, file.first_ns)) or before.get((*at, None))
        if row is None:
            new[at] = file
        elif again or row.size != file.size:
            grown.setdefault(row.set, {})[at] = file
        else:
            same += 1
    copies = _copies(new, known, there, open)
    rotated = captures.rotated(
        [file for at, file in new.items() if at not in copies],
        attrgetter("shown"),
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
    done = 0 if again else len(as_before) - none
    return Plan(sets, failures, done + same + len(copies), 0 if again else none, notes)


def _copies(
    new: dict[Place, File], known: Known, there: dict[Place, File], open: Open
) -> set[Place]:
    """Files of the same size, first frame and ends as another. Of one that is not there as it was,
    the only such file is the new name."""
    alike: dict[tuple[int, int | None], dict[Place, File]] = {}
    for at, file in new.items():
        if file.first_ns is not None:
            alike.setdefault((file.size, file.first_ns), {})[at] = file
    twins: dict[tuple[int, int | None], list[File | None]] = {}
    for row in known.where("first_ns", {first_ns for _, first_ns in alike}):
        if (row.size, row.first_ns) not in alike:
            continue
        twin = there.get(row[:2]) or inputs.of_path(row.path)
        is_as_it_was = (twin.size, twin.modified) == (row.size, row.modified)
        twins.setdefault((row.size, row.first_ns), []).append(twin if is_as_it_was else None)
    compared = {file for files in twins.values() for file in files if file is not None}
    for same, files in alike.items():
        compared |= set(files.values()) if same in twins or len(files) > 1 else set()
    ends = dict(open(inputs.ends, list(compared)))
    copies: set[Place] = set()
    for same, files in alike.items():
        seen = {ends.get(twin) for twin in twins.get(same, ()) if twin is not None}
        others = {ends.get(file) for file in files.values()} - seen
        if None in twins.get(same, ()) and len(others) == 1:
            seen |= others
        for at, file in files.items():
            if ends.get(file) in seen - {"", None}:
                copies.add(at)
            seen.add(ends.get(file))
    return copies
