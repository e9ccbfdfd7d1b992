"""A scan as pandas tables. pandas is imported when the first table is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nagle_scan import _core, keys

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pandas as pd

    from nagle_scan.notebook import Connection

_Path = str | os.PathLike[str]

DEFAULT_MIN_WAIT_MS = 10.0
"""Shorter waits are not reported: quick ACKs take 0.1 ms, the shortest timers 14 ms."""


def scan(
    path_or_paths: _Path | Iterable[_Path],
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
) -> Scan:
    """Scans one capture, or several as one logical capture in the order of their first frames.

    `filter` is a BPF expression (`"tcp port 8888"`), compiled by libpcap. Waits shorter than
    `min_wait_ms` are not recorded. `anonymize` is a key of 32 bytes: addresses are replaced in all
    tables and files (ipcrypt-pfx), and the same key gives the same replacements.

    Raises `ValueError` for a `min_wait_ms` outside 0 to 3,600,000 or a bad key, `CaptureError` for
    an input that cannot be read, `FilterError` for a bad expression, `KeyboardInterrupt` soon after
    Ctrl-C. A capture that breaks off is no error: see `Scan.warnings`.
    """
    if not 0 < min_wait_ms <= 3_600_000:
        raise ValueError(f"min_wait_ms must be more than 0 and at most an hour: {min_wait_ms}")
    paths = _as_paths(path_or_paths)
    if not paths:
        raise ValueError("no capture given")
    core = _core.scan_captures(
        paths, filter, min_wait_ms, exchanges=True, progress=_core.Progress()
    )
    if anonymize is not None:
        core = core.anonymized(keys.checked(anonymize))
    return Scan(paths, filter, core, anonymize, min_wait_ms)


class Scan:
    """What a scan found. Tables are DataFrames; times are ns since the epoch, durations ms."""

    def __init__(
        self,
        paths: list[str],
        filter: str | None,
        core: _core.Scan,
        key: bytes | None = None,
        min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    ) -> None:
        self.paths = paths
        self.filter = filter
        self.core = core
        self.key = key
        self.min_wait_ms = min_wait_ms

    @property
    def verdict(self) -> str:
        """`stalls`, `clean` or `inconclusive` (no data, or one direction only)."""
        return self.core.summary().verdict

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """What was lost or not used: (input, sentence)."""
        return self.core.summary().warnings

    @property
    def names(self) -> list[str]:
        """The captures as outputs name them: their paths, or only numbered where anonymised."""
        return self.paths if self.key is None else self.core.captures()

    @property
    def can_be_read_again(self) -> bool:
        """Are the captures files? Standard input and pipes are gone once they were read."""
        return all(os.path.isfile(path) for path in self.paths)

    @cached_property
    def connections(self) -> pd.DataFrame:
        """One row per connection; the index `connection` equals Wireshark's `tcp.stream`.

        Of a port scan, the many that were refused or never answered are only counted.

        For each end (`client_`, `server_`): `addr`, `port` (int64), `nagle` (category: `on`,
        `off`, `unknown`), `nagle_variant` (category: `classic`, RFC 896, `minshall`, as in Linux,
        `unknown`), `rtt_ms` (float64: round trip between the capture point and that end,
        NaN unknown), `segments`, `bytes`, `retransmitted` (int64), `delayed_ack_ms` (float64: the
        median delay of its delayed ACKs), `delayed_ack_consistent_with` (str). Then `first_ns`,
        `last_ns` (int64), `handshake`, `conclusive` (bool), `rtt_ms` (float64), `mss` (int64,
        bytes), `capture_point` (category), `stalls` (int64), `stalled_ms` (float64), `exchanges`
        (int64), `mean_latency_ms` and `predicted_latency_ms` (float64: without the stalls).
        """
        return self._table("connections").set_index("connection")

    @cached_property
    def stalls(self) -> pd.DataFrame:
        """One row per stall, grouped by connection, in the order of time.

        `connection` (int64), `cause` (category: `nagle_delack`, `nagle_rtt`), `sender` (category:
        `client`, `server`), `confidence` (category: `possible` < `likely` < `certain`), `rel_seq`
        (int64: stream offset of the held segment), `len` and `len_unacked` (int64, bytes),
        `frame_unacked`, `frame_ack`, `frame_held` (int64: Wireshark's `frame.number`), `time_ns`
        (int64, of the held segment), `wait_ms` (float64: the most it can have waited),
        `ack_delay_ms` (float64: how long the receiver sat on its ACK), `release_ms` (float64:
        from the ACK to the held segment, at the capture point).
        """
        return self._table("stalls")

    @cached_property
    def waits(self) -> pd.DataFrame:
        """One row per wait that is no stall.

        `connection` (int64), `cause` (category), `by` (category: who kept the other waiting),
        `frame_from`, `frame_to` (int64), `time_ns` (int64, its end), `wait_ms` (float64). Of very
        many at least these are listed: the first 16,384 of clients that had their answer; of each
        side the first 65,536 others, and the 128 longest of those that follow. Reports count the
        rest.
        """
        return self._table("waits")

    @cached_property
    def exchanges(self) -> pd.DataFrame:
        """One row per request and response, in the order of their ends.

        `connection`, `frame_begin`, `frame_end`, `begin_ns`, `request_bytes`, `response_bytes`
        (int64), `latency_ms` (float64: first request byte to last response byte), `stalls`
        (int64), `stalled_ms` and `predicted_latency_ms` (float64: without the stalls).
        """
        return self._table("exchanges")

    @cached_property
    def servers(self) -> pd.DataFrame:
        """One row per server endpoint with exchanges, those that lose most to stalls first.

        `addr` (str), `port`, `connections`, `affected_connections`, `exchanges`,
        `stalled_exchanges`, `stalls` (int64), `stalled_ms` (float64), then the latency of its
        exchanges as measured, `latency_p50_ms`, `latency_p75_ms`, `latency_p90_ms`,
        `latency_p95_ms`, `latency_p99_ms`, `latency_max_ms`, and as it would be without the
        stalls, `predicted_p50_ms`, `predicted_p75_ms`, `predicted_p90_ms`, `predicted_p95_ms`,
        `predicted_p99_ms`, `predicted_max_ms` (float64, within 0.5 % from 129
        exchanges on, else exact).
        """
        return self._table("servers")

    def segments(self, connection_id: int) -> pd.DataFrame:
        """The segments of one connection, read again from the capture.

        `frame`, `time_ns` (int64), `sender` (category), `rel_seq`, `len`, `seq`, `ack`, `flags`,
        `window` (int64; `window` as on the wire, not scaled), `window_bytes` (float64: scaled, NaN
        where the handshake was not captured). Raises `CaptureError` if the capture cannot be read
        again (standard input), `KeyError` for an unknown connection.
        """
        if not 0 <= connection_id < self.core.summary().connections:
            raise KeyError(connection_id)
        if any(path == "-" or _is_pipe(path) for path in self.paths):
            # Opening a pipe again would wait for ever.
            raise _core.CaptureError("standard input and pipes cannot be read a second time")
        return _frame(_core.segments(self.paths, self.filter, connection_id))

    def connection(self, connection_id: int) -> Connection:
        """One connection, which shows itself well in a notebook. Raises `KeyError`."""
        from nagle_scan.notebook import Connection

        known = 0 <= connection_id < self.core.summary().connections
        if not known or self.core.connection(connection_id) is None:
            raise KeyError(connection_id)
        return Connection(self, connection_id)

    def to_json(self, path: _Path) -> None:
        """Writes the output contract (`nagle-scan/1`). Raises `OutputError`.

        From the 131,073rd connection on it lists those with a stall or a wait, and only counts
        the others. Of more than 131,072 stalls, the first 16 of each connection have sentences in
        `evidence`, the others the same facts as numbers: `summary.evidence_not_listed` of them.
        """
        with _whole(path) as name:
            self.core.write_json(name)

    def to_csv(self, path: _Path) -> None:
        """Writes the stalls, one row each. Raises `OutputError`."""
        with _whole(path) as name:
            self.core.write_csv(name)

    def to_markdown(self, path: _Path) -> None:
        """Writes a ticket for GitHub, GitLab or Jira. Raises `OutputError`."""
        from nagle_scan.report import markdown

        markdown.save(self, _utf8(path, _core.OutputError))

    def to_evidence(self, path: _Path, payload: bool = False) -> None:
        """Writes the frames of the clearest stalls and their neighbours as an annotated pcapng.

        They are read again from the captures and cut after the TCP header unless `payload`. Raises
        `OutputError` (also for standard input, which cannot be read again) and `CaptureError`.
        """
        from nagle_scan.report import evidence

        evidence.save(self, _utf8(path, _core.OutputError), payload)

    def to_html(self, path: _Path) -> None:
        """Writes the page for a ticket, one self-contained file. Raises `OutputError`."""
        from nagle_scan import outputs
        from nagle_scan.report import html

        html.write(self, _utf8(path, _core.OutputError), outputs.Options(self.min_wait_ms))

    def __repr__(self) -> str:
        """The verdict and its counts."""
        summary = self.core.summary()
        return (
            f"<Scan {', '.join(self.names)}: {summary.verdict}, {summary.stalls} stalls "
            f"({summary.stalled_ms:.1f} ms) on {summary.affected_connections} of "
            f"{summary.connections} connections>"
        )

    def _repr_html_(self) -> str:
        from nagle_scan.notebook import scan_html

        return scan_html(self)

    def _table(self, name: str) -> pd.DataFrame:
        return _frame(self.core.columns(name))


def _as_paths(path_or_paths: _Path | Iterable[_Path]) -> list[str]:
    if isinstance(path_or_paths, (str, os.PathLike)):
        return [_utf8(path_or_paths, _core.CaptureError)]
    return [_utf8(path, _core.CaptureError) for path in path_or_paths]


def _utf8(path: _Path, error: type[_core.NagleScanError]) -> str:
    """The engine takes UTF-8 only; Python hands on other bytes as lone surrogates."""
    name = os.fspath(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise error(f"{name!a}: the name is not UTF-8") from None
    return name


def _is_pipe(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _whole(path: _Path) -> AbstractContextManager[str]:
    from nagle_scan.report import files

    return files.whole(_utf8(path, _core.OutputError))


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    def series(column: object) -> object:
        if isinstance(column, tuple):
            return pd.Categorical.from_codes(column[0], column[1])
        return column

    return pd.DataFrame({name: series(column) for name, column in columns.items()}, copy=False)
