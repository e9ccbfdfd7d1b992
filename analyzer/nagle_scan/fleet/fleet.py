"""The class `Fleet`: what a fleet folder says, from Python."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd
from markupsafe import escape

from nagle_scan import _core
from nagle_scan.api.captures import check_there
from nagle_scan.api.scan import Scan, scan
from nagle_scan.errors import CaptureError
from nagle_scan.fleet import services
from nagle_scan.fleet.table import Scope, Table, quoted
from nagle_scan.fleet.trends import no_trend, trend
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.certainty import Total
from nagle_scan.words.wording import count

MOST_SHOWN = 5
"""Services, in a notebook."""


class Fleet:
    """The results of a fleet: what all runs of `scan_fleet` found, from the folder they wrote.

    Tables are pandas DataFrames; their columns are in docs/fleet.md. `query` answers with a part
    of tables that are too large. Raises `CaptureError` for a folder that is no fleet.

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
        self._table = Table(self.path)
        self.scope: Scope = self._table.scope
        """How its captures were scanned."""

    def query(self, sql: str) -> pd.DataFrame:
        """The answer to a question in SQL (DataFusion's) about the tables `captures`, `sums`,
        `stalls`, `connections` and `waits`. Raises `ValueError` for SQL that cannot be run."""
        import pyarrow as pa

        found: pd.DataFrame = pa.table(self._table.query(sql)).to_pandas()
        return found

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
        """As `Scan.waits`; empty unless everything was kept (`--all`)."""
        return self.query("SELECT * FROM waits")

    @property
    def services(self) -> pd.DataFrame:
        """One row per service, those that lose most to stalls first, what is only possible last.

        `service`, `server_addr`, `server_port`, `owner`, `pod` (those of the server that loses
        most, of `servers` in all), `sender` (the side that must change: `client`, `server` or
        `both`), `change`, `fix` (in full);
        `stalls_certain`, `lost_ms_certain`, and so on for likely and possible; `exchanges`;
        `p50_ms`, `p95_ms`, `p99_ms` (latency of an exchange, within 5 %); `hours` (captured),
        `lost_ms_per_hour` (certain and likely, of those), `onset` (the first hour above its usual,
        UTC; NaT if there is none) and `onset_note` (what was usual before, or why there is none).
        """
        rows = self.query(services.SERVICES)
        hours = self.query(services.hours(services.STALLED)).groupby("service")
        trends = {service: trend(_rows(each)) for service, each in hours}
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
        """Scans the captures of a set again, as one capture.

        Raises `CaptureError` for an unknown set, and for a capture that is remote, gone, or no
        longer the one that was scanned.
        """
        rows = self._table.rows(
            f'SELECT path, first_ns FROM captures WHERE "set" = {quoted([set])} ORDER BY file'
        )
        if not rows or not set:
            raise CaptureError(f"{self.path}: no set {set!r}")
        for row in rows:
            check_there(row["path"])
            if _core.first_time_ns(row["path"]) != row["first_ns"]:
                raise CaptureError(f"{row['path']}: no longer the capture that was scanned")
        paths = [row["path"] for row in rows]
        return scan(paths, self.scope.filter, self.scope.min_wait_ms)

    @property
    def total(self) -> Total:
        """All stalls."""
        return services.total(*self._table.rows(services.TOTAL))

    @property
    def sentence(self) -> str:
        """What was found, in one."""
        sets, found = sum(services.verdicts(self._table).values()), self.total
        told = certainty.told(found) if any(found.stalls_by_confidence) else "no stall"
        return f"{count(sets, 'capture')}: {told}"

    def __repr__(self) -> str:
        """What was found."""
        return f"<Fleet {self.path}: {self.sentence}>"

    def _repr_html_(self) -> str:
        # pandas escapes the texts.
        shown = self.services.head(MOST_SHOWN).to_html(index=False)
        return f"<p><strong>{escape(self.sentence)}</strong></p>{shown}"


def _rows(frame: pd.DataFrame) -> list[services.Row]:
    found: Any = frame.to_dict("records")
    return list(found)
