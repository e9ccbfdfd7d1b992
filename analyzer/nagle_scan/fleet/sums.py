"""What connections and stalls add up to: by server, by host that must change, by hour, by run.

Rows come some at a time, and sums of sums are the same: no more than some of them ever take room.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from nagle_scan.words.certainty import CONFIDENCES, Total

SERVER = ["server_addr", "server_port"]
STREAM = ["set", "connection"]
COUNTS = [f"stalls_{word}" for word in CONFIDENCES]
LOSSES = [f"lost_ms_{word}" for word in CONFIDENCES]
SUMS = [name for pair in zip(COUNTS, LOSSES, strict=True) for name in pair]
WORST = 10
"""Connections that are remembered of each server."""
MOST_ROWS = 1_000_000
"""Of sums that are not added up yet."""
OF_STALLS = [*STREAM, "sender", "confidence", "time", "wait_ms"]
OF_CONNECTIONS = [*STREAM, "run", "client_addr", "client_port", *SERVER]
OF_CONNECTIONS += ["exchanges", "conclusive", "last"]
"""The columns that are read."""

_ADDED = dict.fromkeys(SUMS, "sum")
_OF_SERVICE = {
    "affected_sets": "sum",
    "connections": "sum",
    "affected_connections": "sum",
    "exchanges": "sum",
    **_ADDED,
    "first_stall": "min",
    "last_stall": "max",
}
_KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "services": (SERVER, _OF_SERVICE),
    "hosts": (["addr", "sender", *SERVER], {"connections": "sum", **_ADDED}),
    "hours": (["hour"], _ADDED),
    "runs": (["run", *SERVER], {"exchanges": "sum", "conclusive": "max", "last": "max", **_ADDED}),
}
"""By which columns they are added up, and how."""
NAMES = (*_KINDS, "worst")
"""Of the tables of `Adding`."""
_WORST = [*STREAM, "client_addr", "client_port", *SERVER, *SUMS]


class Sums(NamedTuple):
    """Those that lose most come first; what is only possible comes last."""

    services: pd.DataFrame
    hosts: pd.DataFrame
    hours: pd.DataFrame
    worst: pd.DataFrame
    """At most `WORST` connections of each server."""
    runs: pd.DataFrame
    """By run and server."""


class Adding:
    """Sums of what was added so far; `by` are columns that keep apart what differs in them."""

    def __init__(self, by: Sequence[str] = ()) -> None:
        self._totals = {name: _Total([*by, *keys], how) for name, (keys, how) in _KINDS.items()}
        self._worst = _Worst(by)

    def add(self, connections: pd.DataFrame, stalls: pd.DataFrame) -> None:
        """All connections of some sets, and all their stalls."""
        stalls = _counted(stalls, connections)
        streams = _streams(connections, stalls)
        self._totals["services"].add(streams)
        self._totals["runs"].add(streams)
        self._totals["hosts"].add(_held(stalls))
        self._totals["hours"].add(stalls.assign(hour=stalls["time"].dt.floor("h")))
        self._worst.add(streams[streams["affected_connections"] > 0])

    def add_sums(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """What `tables` gave."""
        for name, total in self._totals.items():
            total.add(tables[name])
        self._worst.add(tables["worst"])

    def add_runs(self, rows: pd.DataFrame) -> None:
        """Sums by run and server of sets that are there no more."""
        self._totals["runs"].add(rows)

    def tables(self) -> dict[str, pd.DataFrame]:
        """In no order."""
        totals = {name: total.table() for name, total in self._totals.items()}
        return {**totals, "worst": self._worst.table()}

    def sums(self) -> Sums:
        """In order."""
        tables = self.tables()
        return Sums(
            in_order(tables["services"]),
            in_order(_of_hosts(tables["hosts"])),
            tables["hours"].dropna(subset="hour").sort_values("hour", ignore_index=True),
            tables["worst"],
            tables["runs"],
        )


def of_runs(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One row by run and server of all."""
    total = _Total(*_KINDS["runs"])
    for rows in parts:
        total.add(rows)
    return total.table()


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

    def __init__(self, by: Sequence[str]) -> None:
        self._by = list(by)
        self._parts: list[pd.DataFrame] = []

    def add(self, streams: pd.DataFrame) -> None:
        self._parts.append(self._chosen(streams[[*self._by, *_WORST]]))
        if sum(map(len, self._parts)) > MOST_ROWS:
            self._parts = [self.table()]

    def table(self) -> pd.DataFrame:
        if not self._parts:
            return pd.DataFrame(columns=[*self._by, *_WORST])
        return self._chosen(pd.concat(self._parts, ignore_index=True))

    def _chosen(self, rows: pd.DataFrame) -> pd.DataFrame:
        keys = [*self._by, *SERVER]
        return in_order(rows).groupby(keys, sort=False).head(WORST).reset_index(drop=True)


def _counted(stalls: pd.DataFrame, connections: pd.DataFrame) -> pd.DataFrame:
    """Each with its connection, and with what it adds by confidence."""
    stalls = stalls[OF_STALLS].merge(connections, on=STREAM)
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
