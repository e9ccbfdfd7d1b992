"""Which files are new, which the table knows, and which are one capture."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nagle_scan.api import captures
from nagle_scan.fleet.table import python_rows
from nagle_scan.fleet.work import Failure, File, Set, made

if TYPE_CHECKING:
    from arro3.core import Table as Answer

KNOWN = (
    'SELECT path, size, modified, first_ns, "set", error IS NOT NULL AS failed, '
    "coalesce(final, false) AS final, attempts FROM captures"
)
Dated: TypeAlias = Callable[[Sequence[File]], Iterable[File | Failure]]
"""Reads the first frame of each."""
TORN = "it grew, but other files of its capture are gone: what came since cannot be read"


class Plan(NamedTuple):
    """What is to be done."""

    sets: list[Set]
    failures: list[Failure]
    known: int
    """Files that are as they were."""
    no_captures: int
    """Files that are known to be no captures: reported by the run that found them."""


class _Row(NamedTuple):
    """A row of `captures`."""

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
        self.failed: dict[str, _Row] = {}
        """What could not be read, by path."""
        for row in map(_Row._make, python_rows(rows)):
            if row.failed:
                self.failed[row.path] = row
            if row.final or not row.failed:
                self._stamps.add(hash(row[:3]))

    def is_known(self, file: File) -> bool:
        """Is it as it was, so that it need not be opened?"""
        return bool(file.modified) and hash((file.place, file.size, file.modified)) in self._stamps

    def where(self, name: str, wanted: Collection[object]) -> Iterator[_Row]:
        """Rows of what was read, with one of these."""
        columns: Any = self._rows.columns if wanted else ()
        at = _Row._fields.index(name)
        for values in zip(*columns, strict=True):
            if values[at].as_py() in wanted:
                row = _Row(*(value.as_py() for value in values))
                yield from () if row.failed else (row,)


def plan(found: Iterable[File], known: Known, dated: Dated) -> Plan:
    """What is to be read of the files that were found."""
    there = {file.place: file for file in found}
    as_before = {at for at, file in there.items() if known.is_known(file)}
    none = sum(at in known.failed for at in as_before)
    told = list(dated([file for at, file in there.items() if at not in as_before]))
    failures = [one for one in told if isinstance(one, Failure)]
    fresh = {one.place: one for one in told if isinstance(one, File)}
    before = {(row.path, row.first_ns): row for row in known.where("path", fresh)}
    grown: dict[str, dict[str, File]] = {}
    new: list[File] = []
    for at, file in fresh.items():
        row = before.get((at, file.first_ns)) or before.get((at, None))
        if row is None:
            new.append(file)
        elif row.size != file.size:
            grown.setdefault(row.set, {})[at] = file
    rotated = captures.rotated(new, attrgetter("path"), attrgetter("first_ns"))
    sets = list(map(made, rotated))
    members: dict[str, list[_Row]] = {}
    for row in known.where("set", grown):
        members.setdefault(row.set, []).append(row)
    for id, longer in grown.items():
        others = [row for row in members[id] if row.path not in longer]
        if all(row.path in as_before for row in others):
            kept = [there[row.path]._replace(first_ns=row.first_ns) for row in others]
            sets.append(made([*longer.values(), *kept], id))
        else:
            failures += (Failure(file, TORN) for file in longer.values())
    same = len(fresh) - len(new) - sum(map(len, grown.values()))
    return Plan(sets, failures, len(as_before) - none + same, none)
