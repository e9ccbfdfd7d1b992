"""The public interface: `scan()` reads captures, `Scan` holds what was found and writes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nagle_scan import _core, files, keys
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.report import formats
from nagle_scan.report.formats import BaselineMap, Options
from nagle_scan.result import DEFAULT_MIN_WAIT_MS, MAX_MIN_WAIT_MS, MAX_THREADS, Result

if TYPE_CHECKING:
    from nagle_scan.notebook import Connection

_Path = str | os.PathLike[str]


def scan(
    path_or_paths: _Path | Iterable[_Path],
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
    threads: int | None = None,
    exchanges: bool = False,
    names: Mapping[str, str] | None = None,
) -> Scan:
    """Scans one capture, or several as one logical capture in the order of their first frames.

    A capture is a pcap or pcapng file, plain, gzip or zstd, or text that tcpdump printed.
    `filter` is a BPF expression (`"tcp port 8888"`), compiled by libpcap. Waits shorter than
    `min_wait_ms` are not recorded. `anonymize` is a key of 32 bytes: addresses are replaced in all
    tables and files (ipcrypt-pfx), and the same key gives the same replacements. There are as many
    `threads` as processors, at most 16, unless told otherwise; no result depends on it. `exchanges`
    keeps each exchange: some 64 bytes for each, which a large capture may not leave room for.
    Without it `Scan.exchanges` reads the captures again. `names` are words for addresses
    (`{"10.0.0.5": "payments"}`): reports, pictures and files say them in their place; filters and
    tables keep the addresses. With `anonymize` a name that holds an address is left out.

    Raises `ValueError` for a `min_wait_ms` outside 0 to 3,600,000, no threads, a bad key or name,
    `CaptureError` for an input that cannot be read, `FilterError` for a bad expression,
    `KeyboardInterrupt` soon after Ctrl-C. A truncated capture is not an error: see `Scan.warnings`.
    """
    if not 0 < min_wait_ms <= MAX_MIN_WAIT_MS:
        raise ValueError(f"min_wait_ms must be more than 0 and at most an hour: {min_wait_ms}")
    if threads is not None and not 0 < threads <= MAX_THREADS:
        raise ValueError(f"threads must be 1 to {MAX_THREADS}: {threads}")
    paths = _as_paths(path_or_paths)
    if not paths:
        raise ValueError("no capture given")
    core = _core.scan_captures(
        paths,
        filter,
        min_wait_ms,
        exchanges=exchanges,
        progress=_core.Progress(),
        threads=threads,
        names=_named(names, anonymize is not None),
    )
    if anonymize is not None:
        core = core.anonymized(keys.checked(anonymize))
    return Scan(paths, filter, core, anonymize, min_wait_ms, exchanges, threads)


class Scan(Result):
    """What a scan found. Tables are DataFrames; times are ns since the epoch, durations ms.

    The `to_` methods write the same files as `nagle-scan -o`, whole or not at all. All raise
    `OutputError` for a file that cannot be written. `baseline` is a scan of the same service
    before a change, `baseline_map` pairs of `(addr, port)` before and after, of servers that moved.
    """

    def connection(self, connection_id: int) -> Connection:
        """One connection, with a rich display in notebooks. Raises `KeyError`."""
        from nagle_scan.notebook import Connection

        known = 0 <= connection_id < self.core.summary().connections
        if not known or self.core.connection(connection_id) is None:
            raise KeyError(connection_id)
        return Connection(self, connection_id)

    def to_json(
        self, path: _Path, baseline: Scan | None = None, baseline_map: BaselineMap = ()
    ) -> None:
        """Writes the output contract (`nagle-scan/1`).

        From the 131,073rd connection on, only those with a stall or a wait are listed, and of more
        than 65,536 servers those that lose most; the others are counted. Of more than 131,072
        stalls, the first 16 of each connection have sentences in `evidence`, the others the same
        facts as numbers: `summary.evidence_not_listed` of them.
        """
        self._write("json", path, Options(baseline, baseline_map=baseline_map))

    def to_csv(self, path: _Path) -> None:
        """Writes the stalls, one row each."""
        self._write("csv", path, Options())

    def to_html(
        self, path: _Path, baseline: Scan | None = None, baseline_map: BaselineMap = ()
    ) -> None:
        """Writes the page for a ticket, one self-contained file."""
        self._write("html", path, Options(baseline, baseline_map=baseline_map))

    def to_markdown(
        self, path: _Path, baseline: Scan | None = None, baseline_map: BaselineMap = ()
    ) -> None:
        """Writes a ticket for GitHub, GitLab or Jira."""
        self._write("markdown", path, Options(baseline, baseline_map=baseline_map))

    def to_junit(self, path: _Path) -> None:
        """Writes a test for each server, for CI: it fails if a stall of it is likely."""
        self._write("junit", path, Options())

    def to_sarif(self, path: _Path) -> None:
        """Writes a finding for each server and side that stalls, as SARIF 2.1.0."""
        self._write("sarif", path, Options())

    def to_evidence(self, path: _Path, payload: bool = False) -> None:
        """Writes the frames of the clearest stalls and their neighbours as an annotated pcapng.

        They are read again from the captures and cut after the TCP header unless `payload`. Raises
        `OutputError` also for standard input, which cannot be read again, and `CaptureError`.
        """
        self._write("evidence", path, Options(payload=payload))

    def to_timeline(
        self, path: _Path, baseline: Scan | None = None, baseline_map: BaselineMap = ()
    ) -> None:
        """Draws the connection of the clearest stall on one sheet.

        The suffix of `path` tells the kind of picture: `.png`, `.svg` or `.pdf`.
        """
        self._write("timeline", path, Options(baseline, baseline_map=baseline_map))

    def to_bundle(
        self,
        path: _Path,
        baseline: Scan | None = None,
        payload: bool = False,
        baseline_map: BaselineMap = (),
    ) -> None:
        """Writes ticket, page, evidence and picture into one zip file. Raises as `to_evidence`."""
        self._write("bundle", path, Options(baseline, payload, baseline_map))

    def _write(self, name: str, path: _Path, options: Options) -> None:
        format = formats.named(name)
        formats.write(self, files.utf8_name(path, OutputError), format, options)

    def _repr_html_(self) -> str:
        from nagle_scan.notebook import scan_html

        return scan_html(self)


def _named(chosen: Mapping[str, str] | None, is_anonymized: bool) -> dict[str, str]:
    if not chosen:
        return {}
    from nagle_scan import names

    named = names.checked(chosen)
    return names.without_addresses(named) if is_anonymized else named


def _as_paths(path_or_paths: _Path | Iterable[_Path]) -> list[str]:
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    return [files.utf8_name(path, CaptureError) for path in path_or_paths]
