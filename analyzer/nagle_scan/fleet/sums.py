"""What a dataset adds up to: by server, by host that must change, by hour; in one reading.

It is read some parts at a time, as each set is whole in one: no more than these ever take room.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from nagle_scan.certainty import Total
from nagle_scan.fleet.parquet import files_of
from nagle_scan.gate import CONFIDENCES

SERVER = ["server_addr", "server_port"]
STREAM = ["set", "connection"]
COUNTS = [f"stalls_{word}" for word in CONFIDENCES]
LOSSES = [f"lost_ms_{word}" for word in CONFIDENCES]
SUMS = [name for pair in zip(COUNTS, LOSSES, strict=True) for name in pair]
WORST = 10
"""Connections that are remembered of each server."""
MOST_ROWS = 1_000_000
"""Of sums that are not added up yet."""
READ_TOGETHER = 8 << 20
"""Bytes of parts that are read at once: pandas takes some 30 ms for each time."""
REPLACED = "replaced.parquet"
"""By run and server: what sets had added that were scanned again since, as a file of them grew.
They count for the later run now, which is still compared with all that the run before added."""

_OF_STALLS = [*STREAM, "sender", "confidence", "time", "wait_ms"]
_OF_CONNECTIONS = [*STREAM, "run", "client_addr", "client_port", *SERVER, "exchanges", "conclusive"]
_ADDED = dict.fromkeys(SUMS, "sum")
_RUN = ["run", *SERVER]
_OF_RUN = {"exchanges": "sum", "conclusive": "max", **_ADDED}
_OF_SERVICE = {
    "affected_sets": "sum",
    "connections": "sum",
    "affected_connections": "sum",
    "exchanges": "sum",
    **_ADDED,
    "first_stall": "min",
    "last_stall": "max",
}


class Sums(NamedTuple):
    """Those that lose most come first; what is only possible comes last."""

    services: pd.DataFrame
    hosts: pd.DataFrame
    hours: pd.DataFrame
    worst: pd.DataFrame
    """At most `WORST` connections of each server."""
    runs: pd.DataFrame
    """By run and server, of the runs that were asked for."""


def of(path: str, runs: Sequence[int] = ()) -> Sums:
    """Reads all connections and stalls of the dataset in the folder `path`."""
    services = _Total(SERVER, _OF_SERVICE)
    hosts = _Total(["addr", "sender", *SERVER], {"connections": "sum", **_ADDED})
    hours = _Total(["hour"], _ADDED)
    by_run = _Total(_RUN, _OF_RUN)
    for rows in replaced(path):
        by_run.add(rows[rows["run"].isin(runs)])
    worst = _Worst()
    for connection_files, stall_files in _parts(path):
        connections = _read(path, connection_files, _OF_CONNECTIONS)
        stalls = _stalls(path, stall_files, connections)
        streams = _streams(connections, stalls)
        services.add(streams)
        by_run.add(streams[streams["run"].isin(runs)])
        hosts.add(_held(stalls))
        hours.add(stalls.assign(hour=stalls["time"].dt.floor("h")))
        worst.add(streams)
    return Sums(
        in_order(services.table()),
        in_order(_of_hosts(hosts.table())),
        hours.table().dropna(subset="hour").sort_values("hour", ignore_index=True),
        worst.table(),
        by_run.table(),
    )


def of_sets(path: str, part: str, sets: Collection[str]) -> pd.DataFrame:
    """By run and server, what these sets of a part add up to."""
    files = files_of(path, "connections").get(part)
    if files is None:
        return of_runs([])
    connections = _read(path, files, _OF_CONNECTIONS)
    connections = connections[connections["set"].isin(sets)]
    stalls = _stalls(path, files_of(path, "stalls").get(part, []), connections)
    return of_runs([_streams(connections, stalls)])


def of_runs(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One row by run and server of all."""
    total = _Total(_RUN, _OF_RUN)
    for rows in parts:
        total.add(rows)
    return total.table()


def replaced(path: str) -> list[pd.DataFrame]:
    """What `REPLACED` has, if it is there."""
    file = os.path.join(path, REPLACED)
    return [pd.read_parquet(file)] if os.path.exists(file) else []


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """As reports list them: those that lose most first, then what is only possible."""
    is_possible = rows[COUNTS[:-1]].sum(axis=1) == 0
    lost_ms = -rows[LOSSES].sum(axis=1)
    order = rows.assign(_is_possible=is_possible, _lost_ms=lost_ms)
    order = order.sort_values(["_is_possible", "_lost_ms"], kind="stable", ignore_index=True)
    return order.drop(columns=["_is_possible", "_lost_ms"])


def total(rows: pd.DataFrame) -> Total:
    """All stalls of these rows."""
    return total_of(rows[SUMS].sum().to_dict())


def total_of(row: Mapping[Hashable, Any]) -> Total:
    """All stalls of a row."""
    return Total(
        tuple(int(row[name]) for name in reversed(COUNTS)),
        tuple(float(row[name]) for name in reversed(LOSSES)),
    )


class _Total:
    """Rows that are added up by key as they come."""

    def __init__(self, keys: Sequence[str], how: Mapping[str, str]) -> None:
        self._keys = list(keys)
        self._how = dict(how)
        self._parts: list[pd.DataFrame] = []

    def add(self, rows: pd.DataFrame) -> None:
        self._parts.append(self._folded(rows))
        if sum(map(len, self._parts)) > MOST_ROWS:
            self._parts = [self.table()]

    def table(self) -> pd.DataFrame:
        """One row for each key."""
        if not self._parts:
            return pd.DataFrame(columns=[*self._keys, *self._how])
        return self._folded(pd.concat(self._parts, ignore_index=True))

    def _folded(self, rows: pd.DataFrame) -> pd.DataFrame:
        by_key = rows.groupby(self._keys, as_index=False, dropna=False, observed=True)
        return by_key.agg(self._how)


class _Worst:
    """The worst connections of each server."""

    _COLUMNS = (*STREAM, "client_addr", "client_port", *SERVER, *SUMS)

    def __init__(self) -> None:
        self._parts: list[pd.DataFrame] = []

    def add(self, streams: pd.DataFrame) -> None:
        affected = streams[streams["affected_connections"] > 0]
        self._parts.append(self._chosen(affected[list(self._COLUMNS)]))
        if sum(map(len, self._parts)) > MOST_ROWS:
            self._parts = [self.table()]

    def table(self) -> pd.DataFrame:
        if not self._parts:
            return pd.DataFrame(columns=list(self._COLUMNS))
        return self._chosen(pd.concat(self._parts, ignore_index=True))

    def _chosen(self, rows: pd.DataFrame) -> pd.DataFrame:
        return in_order(rows).groupby(SERVER, sort=False).head(WORST).reset_index(drop=True)


def _parts(path: str) -> Iterator[tuple[list[str], list[str]]]:
    """Files of the connections of some parts, and of their stalls."""
    of_stalls = files_of(path, "stalls")
    connections: list[str] = []
    stalls: list[str] = []
    size = 0
    for part, files in files_of(path, "connections").items():
        own = [*files, *of_stalls.get(part, [])]
        more = sum(os.path.getsize(os.path.join(path, file)) for file in own)
        if connections and size + more > READ_TOGETHER:
            yield connections, stalls
            connections, stalls, size = [], [], 0
        connections += files
        stalls += of_stalls.get(part, [])
        size += more
    if connections:
        yield connections, stalls


def _read(path: str, files: Sequence[str], columns: list[str]) -> pd.DataFrame:
    tables = [pq.ParquetFile(os.path.join(path, file)).read(columns) for file in files]
    rows: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return rows


def _stalls(path: str, files: Sequence[str], connections: pd.DataFrame) -> pd.DataFrame:
    """The stalls of a part, each with its connection; counted and summed by confidence."""
    if files:
        stalls = _read(path, files, _OF_STALLS).merge(connections, on=STREAM)
    else:
        stalls = connections.head(0).assign(
            sender="", confidence="", time=pd.Series(dtype="datetime64[ns, UTC]"), wait_ms=0.0
        )
    for word in CONFIDENCES:
        is_such = stalls["confidence"] == word
        stalls[f"stalls_{word}"] = is_such.astype("int64")
        stalls[f"lost_ms_{word}"] = stalls["wait_ms"].where(is_such, 0.0)
    return stalls


def _streams(connections: pd.DataFrame, stalls: pd.DataFrame) -> pd.DataFrame:
    """All connections, with what their stalls add up to."""
    how = {
        **{name: (name, "sum") for name in SUMS},
        "first_stall": ("time", "min"),
        "last_stall": ("time", "max"),
    }
    found = stalls.groupby(STREAM, sort=False).agg(**how).reset_index()
    # Of each set only one connection of a server counts it.
    found["affected_connections"] = 1
    streams = connections.merge(found, on=STREAM, how="left")
    counts = [*SUMS, "affected_connections"]
    streams[counts] = streams[counts].fillna(0)
    streams = streams.astype(dict.fromkeys([*COUNTS, "affected_connections"], "int64"))
    hit = streams[streams["affected_connections"] > 0]
    first = hit.drop_duplicates(["set", *SERVER]).index
    streams["affected_sets"] = streams.index.isin(first).astype("int64")
    streams["connections"] = 1
    return streams


def _held(stalls: pd.DataFrame) -> pd.DataFrame:
    """The stalls by who held data back: there it must change."""
    addr = stalls["client_addr"].where(stalls["sender"] == "client", stalls["server_addr"])
    first = ~stalls.duplicated([*STREAM, "sender"])
    return stalls.assign(addr=addr, connections=first.astype("int64"))


def _of_hosts(rows: pd.DataFrame) -> pd.DataFrame:
    how = {"services": ("server_port", "size"), "connections": ("connections", "sum")}
    how |= {name: (name, "sum") for name in SUMS}
    return rows.groupby(["addr", "sender"], as_index=False, observed=True).agg(**how)
