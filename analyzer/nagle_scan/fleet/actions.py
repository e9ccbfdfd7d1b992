"""Files of the table as actions of a commit: added, removed, or anew without some rows.

Arrow takes longer to load than a run that finds nothing new: the writer imports this only to write.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

import pyarrow as pa
from deltalake.transaction import AddAction, RemoveAction

from nagle_scan.fleet import parquet, storage
from nagle_scan.fleet.parquet import Part
from nagle_scan.fleet.table import Table, quoted
from nagle_scan.fleet.work import Place

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
MOST_QUOTED = 1000
"""Values in a list of SQL: DataFusion overflows its stack at some 100,000."""
LOST = "its rows in the table are gone"
"""The reason of a file that has to be read again: of no attempt."""
UNKNOWN = "unknown"
"""The path of a set whose row in `captures` is gone."""
Named: TypeAlias = Mapping[str, Any]
"""A file that the log names: see `Table.files`."""
Action: TypeAlias = AddAction | RemoveAction


def added(path: str, rows: Mapping[Part, pa.Table]) -> Iterator[AddAction]:
    """Files are written and synced, but in no commit yet."""
    for (kind, day), each in rows.items():
        name = f"kind={kind}/day={day or NO_DAY}/{uuid.uuid4().hex}.parquet"
        content = parquet.content(each)
        storage.put(path, name, content)
        stats = json.dumps({"numRecords": len(each)})
        yield AddAction(name, content.size, _values(kind, day), _now_ms(), True, stats)


def removed(one: Named) -> RemoveAction:
    """A file that the table no longer uses."""
    values = _values(one["partition.kind"], one["partition.day"])
    return RemoveAction(one["path"], True, _now_ms(), one["size_bytes"], values)


def without(table: Table, replaced: Collection[str], tried: Collection[Place]) -> Iterator[Action]:
    """Files anew without the rows of these sets, and of failures at these places."""
    found: set[Part] = {("captures", None)} if tried else set()
    sets = sorted(replaced)
    for at in range(0, len(sets), MOST_QUOTED):
        these = quoted(sets[at : at + MOST_QUOTED])
        sql = f'SELECT DISTINCT kind, day FROM fleet WHERE "set" IN ({these})'
        found |= {(row["kind"], row["day"]) for row in table.rows(sql)}
    for one in table.files() if found else ():
        if (one["partition.kind"], one["partition.day"]) in found:
            yield from _anew(table.path, one, read(table.path, one), replaced, tried)


def _anew(
    path: str,
    one: Named,
    rows: pa.Table,
    replaced: Collection[str],
    tried: Collection[Place] = (),
) -> Iterator[Action]:
    names = [name for name in ("set", "host", "path", "error") if name in rows.schema.names]
    kept = [
        at
        for at, row in enumerate(rows.select(names).to_pylist())
        if row["set"] not in replaced
        and not (row.get("error") and (row["host"], row["path"]) in tried)
    ]
    if len(kept) < len(rows):
        yield removed(one)
        part = one["partition.kind"], one["partition.day"]
        yield from added(path, {part: rows.take(kept)} if kept else {})


def read(path: str, one: Named, columns: list[str] | None = None) -> pa.Table:
    """The rows of a file, without their kind and day."""
    return parquet.read(pa.py_buffer(storage.content(path, one["path"])), columns)


def without_gone(
    path: str, gone: Sequence[Named], left: Sequence[Named]
) -> tuple[list[Action], int]:
    """Lets go of files that are gone; captures that may have had rows in them count as not read.
    With the number of files of captures."""
    days = {one["partition.day"] for one in gone}
    actions: list[Action] = [removed(one) for one in gone]
    known, lost = set[str](), list[dict[str, Any]]()
    for one in left:
        if one["partition.kind"] == "captures":
            rows = read(path, one)
            every = rows.to_pylist()
            known |= {row["set"] for row in every}
            were_read = [row for row in every if row["error"] is None]
            sets = {row["set"] for row in were_read if _has_days(row, days)}
            lost += (row for row in were_read if row["set"] in sets)
            actions += _anew(path, one, rows, sets)
    if any(one["partition.kind"] == "captures" for one in gone):
        found = {id for one in left for id in read(path, one, ["set"])["set"].to_pylist()}
        lost += ({"set": id, "file": 0, "host": "", "path": UNKNOWN} for id in found - known)
    kept = ("set", "file", "path", "host", "size", "modified", "first_ns", "version")
    told = {name: [row.get(name) for row in lost] for name in kept}
    told |= {"error": [LOST] * len(lost), "attempts": [0] * len(lost)}
    told |= {"day": [None] * len(lost), "scanned": [_now_ms() * 1000] * len(lost)}
    return [*actions, *added(path, parquet.rows("captures", told))], len(lost)


def _has_days(row: Mapping[str, Any], days: Collection[date | None]) -> bool:
    """May a capture have rows of one of these days?"""
    if row["first"] is None or row["last"] is None:
        return None in days
    return any(day and row["first"].date() <= day <= row["last"].date() for day in days)


def _values(kind: str, day: date | None) -> dict[str, str | None]:
    return {"kind": kind, "day": None if day is None else str(day)}


def _now_ms() -> int:
    return int(time.time() * 1000)
