"""The class `Fleet`: what a fleet folder says, from Python."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import escape

from nagle_scan.api.scan import Scan, scan
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import inputs, services
from nagle_scan.fleet.folder import Folder
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.table import Scope, Table, quoted
from nagle_scan.fleet.trends import no_trend, trend
from nagle_scan.fleet.work import Failure, File, Set
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.certainty import Total
from nagle_scan.words.wording import count

if TYPE_CHECKING:
    import duckdb

MOST_SHOWN = 5
"""Services, in a notebook."""


class Fleet:
    """The results of a fleet: what all runs of `scan_fleet` found, from the folder they wrote.

    Tables are pandas DataFrames; their columns are in docs/fleet.md. `query` answers with a part
    of tables that are too large. Raises `CaptureError` for a folder without a fleet.

    >>> from nagle_scan.fleet import Fleet
    >>> fleet = Fleet("fleet/")
    >>> fleet
    <Fleet fleet/: 7 captures: 138 certain stalls, 6.0 s lost>
    >>> fleet.services[["service", "sender", "stalls_certain", "lost_ms_certain"]].head(3)
              service  sender  stalls_certain  lost_ms_certain
    0  127.0.0.1:8888  server             100         4362.430
    1  127.0.0.1:8080  server              29         1221.985
    2  127.0.0.1:8000  client               9          391.557
    >>> fleet.query("SELECT service, max(wait_ms) AS longest FROM stalls GROUP BY 1 ORDER BY 1")
              service  longest
    0  127.0.0.1:8000   43.654
    1  127.0.0.1:8080   46.154
    2  127.0.0.1:8888   43.982
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = files.utf8_name(path, CaptureError)
        self._table = Table(Folder(self.path))
        self.scope: Scope = self._table.scope
        """How its captures were scanned."""

    def query(self, sql: str) -> pd.DataFrame:
        """The answer to a question in SQL (DuckDB's) about the tables `captures`, `sums`,
        `stalls`, `connections`, `waits` and `changes`. Raises `ValueError` for SQL that cannot be
        run, `CaptureError` for a fleet that is damaged."""
        found = self.relation(sql)
        with self._table.explained():
            frame: pd.DataFrame = found.df()
        return frame

    def relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        """The answer to SQL as a relation of DuckDB, run where it is used: for what is too large
        for a DataFrame, and to ask on."""
        return self._table.query(sql)

    @property
    def captures(self) -> pd.DataFrame:
        """One row per file that was read."""
        return self.query("SELECT * FROM captures WHERE error IS NULL")

    @property
    def failures(self) -> pd.DataFrame:
        """One row per file that could not be read, and why (`error`); the last tried first."""
        return self.query("SELECT * FROM captures WHERE error IS NOT NULL ORDER BY scanned DESC")

    @property
    def sums(self) -> pd.DataFrame:
        """Waits by service, hour, cause, side and confidence; exchanges by service and hour."""
        return self.query("SELECT * FROM sums")

    @property
    def stalls(self) -> pd.DataFrame:
        """Certain and likely stalls, as `Scan.stalls`."""
        return self.query("SELECT * FROM stalls")

    @property
    def connections(self) -> pd.DataFrame:
        """The worst connections of each service in each set, as `Scan.connections`."""
        return self.query("SELECT * FROM connections")

    @property
    def waits(self) -> pd.DataFrame:
        """Waits, with the columns of `Scan.waits`; empty unless everything was kept (`--all`)."""
        return self.query("SELECT * FROM waits")

    @property
    def changes(self) -> pd.DataFrame:
        """News that was told, the latest first: services that lose time and did not, lose more than
        before, or no longer do; hosts that no longer capture."""
        return self.query("SELECT * FROM changes ORDER BY time DESC, now_ms * exchanges DESC")

    @property
    def services(self) -> pd.DataFrame:
        """One row per service, those that lose most to stalls first, what is only possible last.

        `service`, `server_addr`, `server_port`, `owner`, `pod` (those of the server that loses
        most, of `servers` in all), `sender` (the side that must change: `client`, `server` or
        `both`), `change`, `fix` (in full);
        `stalls_certain`, `lost_ms_certain`, and so on for likely and possible; `exchanges`;
        `p50_ms`, `p95_ms`, `p99_ms` (latency of an exchange, within 5 %); `hours` (captured),
        `lost_ms_per_hour` (certain and likely, of those), `onset` (the first hour of a lasting
        rise, UTC; NaT if there is none) and `onset_note` (what was usual before, and in which hours
        it may have begun; or why there is none).
        """
        rows = self.query(services.SERVICES)
        hours = services.hours_of_each(self._table, services.STALLED)
        trends = {service: trend(each) for service, each in hours}
        named = zip(rows["service"], rows["hours"], strict=True)
        found = [trends.get(service) or no_trend(captured) for service, captured in named]
        onsets = pd.Series([one.onset for one in found], dtype="datetime64[us, UTC]")
        return rows.assign(onset=onsets, onset_note=[one.note for one in found])

    @property
    def hours(self) -> pd.DataFrame:
        """One row per service and captured hour: `service`, `hour` (UTC), `exchanges`, and stalls
        and lost time by confidence as in `services`. Without captures that tell no date."""
        return self.query(services.hours(services.CAPTURED))

    @property
    def worst(self) -> pd.DataFrame:
        """The connections that lose most, at most 10 of each service: as `connections`, with
        `sentence` (what happened), `change` and `fix` (what to change, in short and in full)."""
        return self.query(services.worst())

    def scan(self, set: str) -> Scan:
        """Reads the captures of a set again, as one capture.

        `set` may be cut short, as long as only one set begins so. Remote captures are copied to
        `TMPDIR`, where the copies stay as long as the `Scan`. Raises `CaptureError` for an unknown
        set, and for a capture that is gone, has changed since, that only another host has, or whose
        name the fleet does not know, as it has a key.
        """
        every = [_as_it_was(file) for file in self._originals(set).files]
        with ExitStack() as copies, ExitStack() as opened:
            paths = [
                (copies if is_url(one.path) else opened).enter_context(inputs.readable(one))
                for one in every
            ]
            found = scan(paths, self.scope.filter, self.scope.min_wait_ms)
            # Has one changed meanwhile?
            opened.close()
            weakref.finalize(found, copies.pop_all().close)
        return found

    def report(self, set: str, stream: int, path: str | os.PathLike[str]) -> None:
        """Writes the report of one connection with stalls, as a page, from the original captures.

        Raises as `scan`, `UnknownConnectionError` for a connection that is not there,
        `CaptureError` for one without stalls, and `OutputError`.
        """
        from nagle_scan.report import html

        name = files.utf8_name(path, OutputError)
        found = self.scan(set)
        row = found._result.row_of(stream)
        if not row.stalls:
            raise CaptureError(f"stream {stream} of the set {set} has no stall")
        folder, file = os.path.split(name)
        if not is_url(name):
            files.make_folder(folder or ".")
        Folder(folder or ".").replace(file, html.connection_page(found._result, row))

    def _originals(self, set: str) -> Set:
        if self.scope.key:
            raise CaptureError(
                f"{self.path}: a fleet with replaced addresses does not know its captures"
            )
        rows = self._table.rows(
            'SELECT "set", path, host, first_ns, size FROM captures WHERE error IS NULL AND '
            f'starts_with("set", {quoted([set])}) ORDER BY "set", file'
        )
        sets = {row["set"] for row in rows}
        if not sets or not set:
            raise CaptureError(f"{self.path}: no set begins with {set!r}")
        if len(sets) > 1 and set not in sets:
            raise CaptureError(
                f"{self.path}: {len(sets):,} sets begin with {set!r}: give more of it"
            )
        wanted = set if set in sets else rows[0]["set"]
        files = (
            File(row["path"], row["host"], row["size"], first_ns=row["first_ns"])
            for row in rows
            if row["set"] == wanted
        )
        return Set(wanted, tuple(files))

    @property
    def total(self) -> Total:
        """All stalls."""
        return services.of_all(self._table)

    @property
    def sentence(self) -> str:
        """The findings in one sentence."""
        sets, found = sum(services.verdicts(self._table).values()), self.total
        stalls = certainty.in_words(found) if any(found.stalls_by_confidence) else "no stall"
        return f"{count(sets, 'capture')}: {stalls}"

    def __repr__(self) -> str:
        """The folder, and the findings in one sentence."""
        return f"<Fleet {self.path}: {self.sentence}>"

    def _repr_html_(self) -> str:
        # pandas escapes the texts.
        shown = self.services.head(MOST_SHOWN).to_html(index=False)
        return f"<p><strong>{escape(self.sentence)}</strong></p>{shown}"


def _as_it_was(file: File) -> File:
    """A capture of the fleet, if there is still the same under its name."""
    found = file if is_url(file.path) else inputs.of_path(file.path)
    (now,) = inputs.dated([found])
    elsewhere = f" (it is a file of {file.host})" if file.host not in ("", inputs.host()) else ""
    if isinstance(now, Failure):
        raise CaptureError(f"{file.path}: {now.reason}{elsewhere}")
    if (now.size, now.first_ns) != (file.size, file.first_ns):
        raise CaptureError(f"{file.path}: no longer the capture that was scanned{elsewhere}")
    return now
