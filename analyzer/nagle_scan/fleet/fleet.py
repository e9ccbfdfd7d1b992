"""The class `Fleet`: what a dataset says, from Python."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import pyarrow.compute as pc
from markupsafe import escape

from nagle_scan.compare import Numbers
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import about, changes, originals, parquet, parts, sums
from nagle_scan.fleet.changes import Changes
from nagle_scan.result import CAPTURES_HIDDEN
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.wording import count

if TYPE_CHECKING:
    from distributed import Client

    from nagle_scan.api.scan import Scan

Table: TypeAlias = pd.DataFrame | Any
"""Or a Dask DataFrame, which has most of the same methods: a type checker lets both pass."""
LARGE_BYTES = 128 << 20
"""Of the Parquet files of a table; from there on it is a Dask DataFrame. As pandas, it would take
some six times as much memory."""
MOST_SHOWN = 5
"""Services, in a notebook."""


class Fleet:
    """The results of a fleet: what all runs of `scan_fleet` found, from the folder they wrote.

    Tables have a row for each row of the tables of each capture set, with the same columns and
    units as those of `Scan`, in no certain order. `set` (text) tells the set, `run` (int64) which
    run added it, `day` (category) the day of the row, UTC: `2026-11-23`, or `none` where the
    capture tells no date. Categories are text. Tables are pandas DataFrames; Dask DataFrames from
    128 MiB of Parquet files on. Raises `CaptureError` for a folder that is no fleet.

    >>> from nagle_scan.fleet import Fleet
    >>> fleet = Fleet("fleet/")
    >>> fleet
    <Fleet fleet/: 7 captures: 138 certain stalls, 6.0 s lost>
    >>> services = fleet.services
    >>> services[["server_addr", "server_port", "stalls_certain", "lost_ms_certain"]].head(3)
      server_addr  server_port  stalls_certain  lost_ms_certain
    0   127.0.0.1         8888             100         4362.430
    1   127.0.0.1         8080              29         1221.985
    2   127.0.0.1         8000               9          391.557
    >>> fleet.hosts[["addr", "sender", "services", "stalls_certain"]]
            addr  sender  services  stalls_certain
    0  127.0.0.1  server         2             129
    1  127.0.0.1  client         1               9
    >>> lost = fleet.stalls.merge(fleet.connections, on=["set", "connection"])
    >>> lost.groupby("server_port")["wait_ms"].max().to_dict()
    {8000: 43.654, 8080: 46.154, 8888: 43.982}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.utf8_name(path, CaptureError)
        try:
            self.about = about.read(self.path)
        except OutputError as error:
            raise CaptureError(str(error)) from None

    @property
    def connections(self) -> Table:
        """As `Scan.connections`, with `connection` as a column: with `set` it names a row."""
        return self._table("connections")

    @property
    def stalls(self) -> Table:
        """As `Scan.stalls`."""
        return self._table("stalls")

    @property
    def waits(self) -> Table:
        """As `Scan.waits`."""
        return self._table("waits")

    @property
    def servers(self) -> Table:
        """As `Scan.servers`: one row for each set and server. `services` adds them up."""
        return self._table("servers")

    @property
    def captures(self) -> Table:
        """One row for each file, in the order of the files of a set (`file`: from 0 on).

        `path`, `host` (text: empty unless only that host has it), `size` (int64, bytes), `content`,
        `head` (text: tell the content, see `identity`), `first_ns`, `last_ns` (int64), `first`,
        `last` (the same as times), `first_frame` (int64: its number in the set, as
        `frame.number` of the merged files), `packets` (int64), `complete` (bool: was it read to
        its end?), `warnings` (text: sentences, one a line), `verdict` (text: of the set),
        `cannot_tell` (text: why that is `inconclusive`, else empty), `version`, `part` (text). Of
        the whole set, and so only in the row of its first file, else null: `connections`,
        `exchanges`, `stalls` (int64), `stalled_ms` (float64).
        """
        return self._table("captures")

    @property
    def failures(self) -> pd.DataFrame:
        """What could not be read: `path`, `set`, `reason` (text), `attempts` (int64: of all runs),
        `last_tried` (datetime64)."""
        return self._list(parquet.FAILURES)

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: `run` (int64), `begun`, `ended` (datetime64), then what it added
        (int64): `sets`, `files`, `bytes`, `packets`, and `failures`, as left at its end."""
        return self._list(parquet.RUNS)

    @property
    def services(self) -> pd.DataFrame:
        """One row per server, those that lose most to stalls first, what is only possible last.

        `server_addr` (text), `server_port`, `affected_sets`, `connections`,
        `affected_connections`, `exchanges` (int64); `stalls_certain`, `lost_ms_certain`,
        `stalls_likely`, `lost_ms_likely`, `stalls_possible`, `lost_ms_possible` (int64, float64);
        `first_stall`, `last_stall` (datetime64, UTC; NaT without a stall or a date).
        """
        return self._sums.services.copy()

    @property
    def hosts(self) -> pd.DataFrame:
        """One row per host that holds data back, so that there it must change, and its side.

        `addr`, `sender` (text: `client`, `server`), `services`, `connections`
        (int64: with stalls), and stalls and lost time by confidence as in `services`.
        """
        return self._sums.hosts.copy()

    @property
    def hours(self) -> pd.DataFrame:
        """One row per hour with stalls: `hour` (datetime64, UTC: its begin), and stalls and lost
        time by confidence as in `services`. Without those of captures that tell no date."""
        return self._sums.hours.copy()

    @property
    def worst(self) -> pd.DataFrame:
        """The connections that lose most, at most 10 of each server: `set`, `connection`,
        `client_addr`, `client_port`, `server_addr`, `server_port`, and stalls and lost time by
        confidence as in `services`."""
        return self._sums.worst.copy()

    @property
    def changes(self) -> pd.DataFrame:
        """What became of the services: what the last run added, beside what the run before added.

        `server_addr`, `server_port`, `state` (text: `new`, `worse`, `gone`, `remain`, `possible`,
        `hidden`: it cannot be judged now, `unseen`: not in the last run), `stalls_before`,
        `stalls_after` (int64), `lost_ms_per_exchange_before`, `lost_ms_per_exchange_after`
        (float64; NaN without exchanges). Servers without a stall in both are left out. Empty after
        the first run.
        """
        rows = [
            (
                server.addr,
                server.port,
                server.state,
                *(numbers.stalls if numbers else 0 for numbers in (server.before, server.after)),
                *map(_per_exchange, (server.before, server.after)),
            )
            for server in self.compared.servers
        ]
        columns = ["server_addr", "server_port", "state", "stalls_before", "stalls_after"]
        columns += ["lost_ms_per_exchange_before", "lost_ms_per_exchange_after"]
        kinds = dict.fromkeys(columns[-2:], "float64") | dict.fromkeys(columns[3:5], "int64")
        return pd.DataFrame(rows, columns=columns).astype({**kinds, "server_port": "int64"})

    @cached_property
    def compared(self) -> Changes:
        """The same as `changes`, as reports word it."""
        return changes.of(self._sums.runs, *self._last_runs)

    def scan(self, set: str) -> Scan:
        """Reads the captures of a set again, as one capture.

        `set` may be cut short, as long as only one set begins so. Remote captures are copied to
        `TMPDIR`, where the copies stay as long as the `Scan`. Raises `CaptureError` for an unknown
        set, and for a capture that is gone, has changed since, that only another host has, or whose
        name the dataset does not know, as it has a key.
        """
        return originals.scan_again(self._originals(set))

    def report(
        self,
        set: str,
        stream: int,
        path: str | os.PathLike[str],
        client: Client | None = None,
        scheduler: str | None = None,
    ) -> None:
        """Writes the report of one connection with stalls, as a page, from the original captures.

        Of captures that only one host has, a worker of that host makes it: `client` or `scheduler`
        tell the cluster. Raises as `scan`, `UnknownConnectionError` for a connection that is not
        there, and `OutputError`.
        """
        name = files.utf8_name(path, OutputError)
        wanted = self._originals(set)
        if originals.is_here(wanted):
            page = originals.report(wanted, stream)
        else:
            page = self._report_there(wanted, stream, client, scheduler)
        folder = os.path.dirname(name)
        try:
            os.makedirs(folder or ".", exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: cannot write: {files.reason_of(error)}") from None
        files.replace(name, page)

    def _report_there(
        self, wanted: originals.Set, stream: int, client: Client | None, scheduler: str | None
    ) -> bytes:
        if client is None and scheduler is None:
            file = wanted.files[0]
            raise CaptureError(
                f"{file.shown}: only {file.host} has it: name a cluster with a worker there "
                "(--scheduler)"
            )
        from nagle_scan.fleet import cluster

        with cluster.connected(scheduler, client=client) as workers:
            return originals.report_there(wanted, stream, workers)

    def _originals(self, set: str) -> originals.Set:
        rows = self._rows_of(set)
        if self.about["key"] is not None:
            raise CaptureError(f"{self.path}: {CAPTURES_HIDDEN.replace('saved scan', 'fleet')}")
        return originals.Set(
            rows[0]["set"],
            [originals.Original(row["path"], row["host"], row["content"]) for row in rows],
            self.about["filter"],
            self.about["min_wait_ms"],
        )

    def _rows_of(self, set: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        if set:
            begins = pc.starts_with(pc.field("set"), set)
            rows = parquet.settled(
                self.path, lambda: parquet.captures(self.path, ORIGINALS, begins).to_pylist()
            )
        sets = {row["set"] for row in rows}
        if not sets:
            raise CaptureError(f"{self.path}: no set begins with {set!r}")
        if len(sets) > 1 and set not in sets:
            raise CaptureError(
                f"{self.path}: {len(sets):,} sets begin with {set!r}: give more of it"
            )
        rows = [row for row in rows if len(sets) == 1 or row["set"] == set]
        return sorted(rows, key=lambda row: row["file"])

    @cached_property
    def _last_runs(self) -> tuple[int | None, int | None]:
        runs = self.runs
        return changes.last_runs(runs[runs["sets"] > 0]["run"].tolist() if len(runs) else [])

    @cached_property
    def _sums(self) -> sums.Sums:
        return parquet.settled(self.path, lambda: parts.of(self.path))

    def _table(self, name: str) -> Table:
        folder = os.path.join(self.path, name)
        if not os.path.isdir(folder):
            return pd.DataFrame()

        def read() -> Table:
            files = parquet.files_of(self.path, name).values()
            size = sum(
                os.path.getsize(os.path.join(self.path, file)) for part in files for file in part
            )
            if size < LARGE_BYTES:
                return pd.read_parquet(folder)
            import dask.dataframe as dd

            return dd.read_parquet(folder)

        return parquet.settled(self.path, read)

    def _list(self, name: str) -> pd.DataFrame:
        path = os.path.join(self.path, name)
        return parquet.settled(
            self.path, lambda: pd.read_parquet(path) if os.path.exists(path) else pd.DataFrame()
        )

    @cached_property
    def verdicts(self) -> dict[str, int]:
        """How many capture sets have which verdict."""
        first = pc.field("file") == 0
        table = parquet.settled(self.path, lambda: parquet.captures(self.path, ["verdict"], first))
        told = table["verdict"].value_counts().to_pylist()
        return {each["values"]: each["counts"] for each in told}

    @property
    def total(self) -> certainty.Total:
        """All stalls."""
        return sums.total(self._sums.services)

    @property
    def sentence(self) -> str:
        """What was found, in one."""
        sets = count(sum(self.verdicts.values()), "capture")
        total = self.total
        return f"{sets}: {certainty.told(total) if any(total.stalls_by_confidence) else 'no stall'}"

    def __dir__(self) -> list[str]:
        """The public names."""
        return sorted(name for name in super().__dir__() if name[0] != "_" and name not in INTERNAL)

    def __repr__(self) -> str:
        """What was found."""
        return f"<Fleet {self.path}: {self.sentence}>"

    def _repr_html_(self) -> str:
        # pandas escapes the texts.
        shown = self.services.head(MOST_SHOWN).to_html(index=False)
        return f"<p><strong>{escape(self.sentence)}</strong></p>{shown}"


ORIGINALS = ("set", "file", "path", "host", "content")
"""Columns that tell where the captures of a set were."""
INTERNAL = {"about", "compared", "sentence", "total", "verdicts"}
"""What the page asks."""


def _per_exchange(numbers: Numbers | None) -> float:
    has_exchanges = numbers is not None and numbers.exchanges > 0
    return numbers.lost_ms(True) if numbers is not None and has_exchanges else float("nan")
