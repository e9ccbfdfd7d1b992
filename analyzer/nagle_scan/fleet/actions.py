"""Files of the table as actions of a commit: added, removed, or anew without some rows.

Arrow takes longer to load than a run that finds nothing new: the writer imports this only to write.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

import pyarrow as pa
from deltalake.transaction import AddAction, RemoveAction

from nagle_scan.fleet import parquet, storage
from nagle_scan.fleet.parquet import Part
from nagle_scan.fleet.table import Table, quoted

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
MOST_QUOTED = 1000
"""Values in a list of SQL: DataFusion overflows its stack at some 100,000."""
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


def without(table: Table, replaced: Collection[str], tried: Collection[str]) -> Iterator[Action]:
    """Files anew without the rows of these sets, and of failures at these paths."""
    found: set[Part] = {("captures", None)} if tried else set()
    sets = sorted(replaced)
    for at in range(0, len(sets), MOST_QUOTED):
        these = quoted(sets[at : at + MOST_QUOTED])
        sql = f'SELECT DISTINCT kind, day FROM fleet WHERE "set" IN ({these})'
        found |= {(row["kind"], row["day"]) for row in table.rows(sql)}
    for one in table.files() if found else ():
        if (one["partition.kind"], one["partition.day"]) in found:
            yield from _anew(table.path, one, replaced, tried)


def _anew(
    path: str, one: Named, replaced: Collection[str], tried: Collection[str]
) -> Iterator[Action]:
    rows = parquet.read(storage.content(path, one["path"]))
    names = [name for name in ("set", "path", "error") if name in rows.schema.names]
    kept = [
        at
        for at, row in enumerate(rows.select(names).to_pylist())
        if row["set"] not in replaced and not (row.get("error") and row["path"] in tried)
    ]
    if len(kept) < len(rows):
        yield removed(one)
        part = one["partition.kind"], one["partition.day"]
        yield from added(path, {part: rows.take(kept)} if kept else {})


def _values(kind: str, day: date | None) -> dict[str, str | None]:
    return {"kind": kind, "day": None if day is None else str(day)}


def _now_ms() -> int:
    return int(time.time() * 1000)
