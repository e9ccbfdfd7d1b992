"""The parts of a dataset, added up. What each adds up to is kept: a run reads the new ones only.

    .sums/services.parquet     and the other tables of `sums.Adding`, by part
    .sums/parts.parquet        which files of each part they are of

They can be removed at any time: then all parts are read again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from nagle_scan.fleet import parquet
from nagle_scan.fleet.sums import NAMES, OF_CONNECTIONS, OF_STALLS, Adding, Sums

REPLACED = "replaced.parquet"
"""By run and server: what sets had added that were scanned again since, as a file of them grew.
They count for the later run now, which is still compared with all that the run before added."""
KEPT = ".sums"
PARTS = "parts"
READ_TOGETHER = 8 << 20
"""Bytes of parts that are read at once: pandas takes some 30 ms for each time."""
Tables: TypeAlias = "dict[str, pd.DataFrame]"


class Part(NamedTuple):
    """Its name and files, relative to the folder."""

    name: str
    connections: list[str]
    stalls: list[str]


def of(path: str) -> Sums:
    """What all of the dataset in the folder `path` adds up to."""
    adding = Adding()
    every = _every(path)
    adding.add_sums(_by_part(path, every, _told(path, every), _kept(path)))
    for rows in replaced(path):
        adding.add_runs(rows)
    return adding.sums()


def to_keep(path: str) -> dict[str, pa.Table]:
    """What all parts add up to, by file; nothing if that is kept already."""
    every = _every(path)
    told, kept = _told(path, every), _kept(path)
    if told == _told_then(kept):
        return {}
    tables = _by_part(path, every, told, kept)
    tables[PARTS] = pd.DataFrame({"part": list(told), "files": list(told.values())}, dtype="str")
    return {
        _file(name): pa.Table.from_pandas(rows, preserve_index=False)
        for name, rows in tables.items()
    }


def of_sets(path: str, part: str, sets: Collection[str]) -> pd.DataFrame:
    """By run and server, what these sets of a part add up to."""
    adding = Adding()
    connections, stalls = _rows(path, [one for one in _every(path) if one.name == part])
    adding.add(connections[connections["set"].isin(sets)], stalls)
    return adding.tables()["runs"]


def replaced(path: str) -> list[pd.DataFrame]:
    """What `REPLACED` has, if it is there."""
    file = os.path.join(path, REPLACED)
    return [pd.read_parquet(file)] if os.path.exists(file) else []


def _every(path: str) -> list[Part]:
    of_stalls = parquet.files_of(path, "stalls")
    return [
        Part(name, files, of_stalls.get(name, []))
        for name, files in parquet.files_of(path, "connections").items()
    ]


def _by_part(path: str, every: Sequence[Part], told: Mapping[str, str], kept: Tables) -> Tables:
    """Sums of each part; read are those of which no sums are kept."""
    adding = Adding(["part"])
    then = _told_then(kept)
    known = {part for part, files in told.items() if then.get(part) == files}
    if known:
        adding.add_sums({name: kept[name][kept[name]["part"].isin(known)] for name in NAMES})
    for parts in _together(path, [part for part in every if part.name not in known]):
        adding.add(*_rows(path, parts))
    return adding.tables()


def _told(path: str, every: Sequence[Part]) -> dict[str, str]:
    """Of each part, what tells its files: a set that is scanned again changes them."""
    return {
        part.name: sha256("\n".join(_stamps(path, part)).encode()).hexdigest() for part in every
    }


def _stamps(path: str, part: Part) -> Iterator[str]:
    for file in (*part.connections, *part.stalls):
        status = os.stat(os.path.join(path, file))
        yield f"{file} {status.st_size} {status.st_mtime_ns}"


def _kept(path: str) -> Tables:
    """All tables; none if one of them is not there, or damaged."""
    try:
        return {name: pd.read_parquet(os.path.join(path, _file(name))) for name in (*NAMES, PARTS)}
    except (pa.ArrowException, OSError):
        return {}


def _told_then(kept: Tables) -> dict[str, str]:
    """Of each part of which sums are kept, what `_told` said of it then."""
    return dict(kept[PARTS].itertuples(index=False, name=None)) if kept else {}


def _file(name: str) -> str:
    return f"{KEPT}/{name}.parquet"


def _together(path: str, parts: Sequence[Part]) -> Iterator[list[Part]]:
    """So many parts as are read at once."""
    batch: list[Part] = []
    size = 0
    for part in parts:
        files = (*part.connections, *part.stalls)
        more = sum(os.path.getsize(os.path.join(path, file)) for file in files)
        if batch and size + more > READ_TOGETHER:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += more
    if batch:
        yield batch


def _rows(path: str, parts: Sequence[Part]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Connections and stalls, with their parts."""
    connections = [(file, part.name) for part in parts for file in part.connections]
    stalls = [(file, part.name) for part in parts for file in part.stalls]
    return (
        _read(path, "connections", OF_CONNECTIONS, connections),
        _read(path, "stalls", OF_STALLS, stalls),
    )


def _read(
    path: str, name: str, columns: list[str], files: Sequence[tuple[str, str]]
) -> pd.DataFrame:
    tables = []
    # The first has no row, but all columns.
    for file, part in ((f"{name}/{parquet.SCHEMA}", ""), *files):
        table = pq.ParquetFile(os.path.join(path, file)).read(columns)
        tables.append(table.append_column("part", pa.array([part] * len(table), pa.string())))
    rows: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return rows
