"""The public interface: `scan()` reads captures; `Scan` is what was found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

from nagle_scan import _core
from nagle_scan.api import keys, spooling
from nagle_scan.api.written import Written
from nagle_scan.errors import CaptureError
from nagle_scan.report.options import Options
from nagle_scan.result import DEFAULT_MIN_WAIT_MS, MAX_MIN_WAIT_MS, MAX_THREADS, Result
from nagle_scan.system import files
from nagle_scan.system.progress import ProgressLine, line_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from nagle_scan.api import calls as traces
    from nagle_scan.api.answers import AdviceList, Comparison, Summary
    from nagle_scan.api.connection import Connection
    from nagle_scan.api.why import Case

_Path = str | os.PathLike[str]

SMALL_BYTES = 256 << 20
KINDS: dict[str, tuple[Any, str]] = {
    "filter": (str | None, "a BPF expression (str)"),
    "min_wait_ms": (SupportsFloat, "a number"),
    "threads": (SupportsIndex | None, "an integer"),
    "anonymize": (bytes | None, f"a key of {keys.KEY_LEN} bytes"),
    "names": (Mapping | None, "a mapping of addresses to names"),
}
"""The type of each option, for `isinstance` and in words."""


def scan(
    path_or_paths: spooling.Capture | Iterable[spooling.Capture],
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
    threads: int | None = None,
    exchanges: bool | None = None,
    names: Mapping[str, str] | None = None,
    progress: bool | _core.Progress = False,
    calls: traces.Path | Iterable[traces.Path] | _core.Calls | None = None,
) -> Scan:
    """Scans one capture, or several as one logical capture in the order of their first frames.

    A capture is a pcap or pcapng file, plain, gzip or zstd, or text that tcpdump or tshark printed:
    a path (`~` is expanded), its bytes, or a binary file object, which is read to its end (these
    are kept in a temporary file as long as the scan; on Linux an open file is read as it is).
    `filter` is a BPF expression (`"tcp port 8888"`), compiled by libpcap. Waits shorter than
    `min_wait_ms` are not recorded. `anonymize` is a key of 32 bytes: addresses are replaced in all
    tables and files (ipcrypt-pfx), and the same key gives the same replacements. There are as many
    `threads` as processors unless told otherwise; no result depends on it. `exchanges`
    keeps each exchange, some 64 bytes for each: by default of files up to 256 MB in all. Without
    them `Scan.exchanges` reads the captures again. `names` are words for addresses
    (`{"10.0.0.5": "payments"}`): reports and pictures say them in their place, the JSON beside
    them; filters and tables, also as files, keep the addresses. With `anonymize` a name that holds
    an address is left out. `progress` shows how far it is, in a terminal (on standard error) and in
    a notebook, from the first second on; the command gives one that it shows and stops itself.
    `calls` are paths of what `strace -f -ttt -yy` wrote of a program meanwhile (docs/calls.md):
    they tell which call wrote what was held, and prove it; captures must be files then.

    >>> import nagle_scan
    >>> nagle_scan.scan("captures/java-split.pcap").verdict
    'stalls'

    Raises `ValueError` for a `min_wait_ms` outside 0 to 3,600,000, no threads, a bad key or name,
    `CaptureError` for an input that cannot be read, `FilterError` for a bad expression,
    `TypeError` for what is no path and for options of a wrong type, `KeyboardInterrupt` soon after
    Ctrl-C. A truncated capture is not an error: see `Scan.warnings`.
    """
    check_kinds(
        KINDS,
        filter=filter,
        min_wait_ms=min_wait_ms,
        threads=threads,
        anonymize=anonymize,
        names=names,
    )
    check_min_wait(min_wait_ms)
    check_number("threads", threads)
    paths, labels, spooled = spooling.on_disk(path_or_paths)
    if not paths:
        raise ValueError("no capture given")
    keeps = _are_small(paths) if exchanges is None else exchanges
    seen = progress if isinstance(progress, _core.Progress) else _core.Progress()
    shown = ProgressLine(partial(line_of, seen), sys.stderr)
    with shown if progress and progress is not seen else nullcontext():
        trace = _trace(calls, paths, seen)
        core = _core.scan_captures(
            paths,
            filter,
            min_wait_ms,
            exchanges=keeps,
            progress=seen,
            threads=threads,
            names=named(names, anonymize is not None),
            labels=labels,
            calls=trace,
        )
    if anonymize is not None:
        core = core.anonymized(keys.checked(anonymize))
    made = Scan(paths, filter, core, anonymize, min_wait_ms, keeps, threads)
    made.spooled = spooled
    made.trace = trace
    return made


class Scan(Written, Result):
    """The findings of a scan. Tables are DataFrames; durations are in ms.

    Beside each time in ns since the epoch (`time_ns`, int64) stands the same as datetime64[ns, UTC]
    (`time`): NaT where the capture tells no date (text of tcpdump without -tttt).

    `write` and `render` give the same files as `nagle-scan -o`.
    """

    @property
    def summary(self) -> Summary:
        """The verdict in words and numbers, as the reports have it; `print` shows all words.

        >>> import nagle_scan
        >>> summary = nagle_scan.scan("captures/java-split.pcap").summary
        >>> summary.sentence
        'Stalls: 9 certain stalls, 391.6 ms lost, on the only connection'
        >>> summary.packets, summary.connections, summary.stalls
        (57, 1, 9)
        """
        from nagle_scan.api import answers

        return answers.summary(self)

    @property
    def findings(self) -> pd.DataFrame:
        """One row for each server, side and cause with stalls; what is only possible comes last.

        `server` (text: address or name, and port), `sender` (category: who holds data back),
        `cause` (category), `confidence` (category: the surest of its stalls), `stalls`, `clients`
        (int64), `wait_ms` (float64: median), `stalled_ms` (float64: sum), `nagle` (category: what
        its sockets show), `setting` (text: what to set in the program, where one is recognised;
        else empty), `sentence` (text: as the reports have it).

        >>> import nagle_scan
        >>> findings = nagle_scan.scan("captures/epoll-fd0.pcap").findings
        >>> findings[["server", "sender", "cause", "confidence", "stalls"]]
                   server  sender         cause confidence  stalls
        0  127.0.0.1:8888  server  nagle_delack    certain     100
        """
        from nagle_scan.api import answers

        return answers.findings(self)

    @property
    def advice(self) -> AdviceList:
        """Changes to make, best first, as the reports have them; `print` shows them.

        >>> import nagle_scan
        >>> advice = nagle_scan.scan("captures/java-split.pcap").advice
        >>> for one in advice:
        ...     print(one.where)
        the program on 127.0.0.1 (client of port 8000)
        the socket on 127.0.0.1 (client of port 8000)
        the other end, 127.0.0.1, as a last resort
        """
        from nagle_scan.api import answers

        return answers.advice(self)

    def latency(self, by: str = "server") -> pd.DataFrame:
        """How long exchanges took, and would have taken without the stalls; by `server`,
        `connection` or `client` (its address).

        `exchanges` (int64), then `latency_p50_ms`, `latency_p75_ms`, `latency_p90_ms`,
        `latency_p95_ms`, `latency_p99_ms`, `latency_max_ms`, and the same of `predicted_`
        (float64). By server within 0.5 %, those that lose most first; the others are exact, and
        read the captures again, unless scanned with `exchanges=True`. Raises `ValueError` for
        another `by`, `CaptureError` as `exchanges`.

        >>> import nagle_scan
        >>> latency = nagle_scan.scan("captures/epoll-fd0.pcap").latency(by="server")
        >>> latency[["exchanges", "latency_p50_ms", "predicted_p50_ms"]].round(1)
                        exchanges  latency_p50_ms  predicted_p50_ms
        server
        127.0.0.1:8888        108            43.8               0.1
        """
        from nagle_scan.api import answers

        return answers.latency(self, by)

    def compare(self, other: Scan, baseline_map: Mapping[str, str] | None = None) -> Comparison:
        """Compares the stalls of two scans: this one was before a change, `other` is after it.

        Servers are paired by address and port, or by port where each scan has only one left on it;
        `baseline_map` pairs others: `{"10.0.0.5:8901": "10.0.0.7:8902"}`. Raises `TypeError` for
        what is not a scan or a mapping, `ValueError` for what is not a server, and `CaptureError`
        for a server that is not in its scan.

        >>> import nagle_scan
        >>> before = nagle_scan.scan("captures/java-split.pcap")
        >>> after = nagle_scan.scan("captures/java-split-nodelay.pcap")
        >>> before.compare(after).sentence
        'Fixed: No stalls left. Before: 9 certain stalls, 391.6 ms lost.'
        """
        from nagle_scan.api import answers

        if not isinstance(other, Result):
            raise TypeError(f"a scan is compared with a Scan, not {type(other).__name__}")
        return answers.compare(self, other, baseline_map)

    def why(self, frame: int) -> Case:
        """Why a wait counts as held or not: the terms of its probability; `print` shows them.

        `frame` is the one that ended the wait, or else its ACK, or the one before it. The captures
        are read again. Raises `CaptureError` if they cannot be, `NagleScanError` for a frame of no
        wait.

        >>> import nagle_scan
        >>> case = nagle_scan.scan("captures/epoll-fd0.pcap").why(58)
        >>> case.verdict, case.confidence, case.cause
        ('held', 'certain', 'nagle_delack')
        >>> case.probability >= 0.999, [term.name for term in case.terms[:3]]
        (True, ['release', 'pause', 'ratio (LR)'])
        """
        from nagle_scan.api.why import case_of

        self._check_readable()
        return case_of(self.paths, self.filter, self.min_wait_ms, frame, self.threads, self.trace)

    def wait_histogram(self, ax: Axes | None = None, width_in: float = 7.2) -> Axes:
        """Draws how long the waits of all connections were, stalls against other causes."""
        from nagle_scan import timeline

        return timeline.histogram(self, ax=ax, width_in=width_in)

    def connection(self, connection: int) -> Connection:
        """One connection, by its number as in Wireshark's `tcp.stream`.

        Raises `KeyError` for a number that is not there, `TypeError` for what is none.

        >>> import nagle_scan
        >>> scan = nagle_scan.scan("captures/epoll-fd0.pcap")
        >>> scan.connection(2).verdict
        'stalls'
        >>> scan.connection(99)
        Traceback (most recent call last):
        nagle_scan.UnknownConnectionError: tcp.stream 99 is not in this scan: it has 0 to 4
        """
        from nagle_scan.api.connection import Connection

        return Connection(self, self.row_of(connection).connection)

    def _shown(self, payload: bool) -> tuple[Result, Options]:
        return self, Options(payload=payload)

    def __dir__(self) -> list[str]:
        """The public names."""
        return sorted(name for name in super().__dir__() if name[0] != "_" and name not in INTERNAL)

    def _repr_html_(self) -> str:
        from nagle_scan.api.notebook import scan_html

        return scan_html(self)


def _trace(
    given: traces.Path | Iterable[traces.Path] | _core.Calls | None,
    paths: list[str],
    progress: _core.Progress,
) -> _core.Calls | None:
    if given is None:
        return None
    if not all(map(os.path.isfile, paths)):
        raise CaptureError("beside calls a capture is read twice: it must be a file")
    if isinstance(given, _core.Calls):
        return given
    from nagle_scan.api import calls as traces

    return traces.read(given, progress)


def _are_small(paths: list[str]) -> bool:
    """Files whose exchanges need little room; nobody knows of a pipe."""
    is_known = all(map(os.path.isfile, paths))
    return is_known and sum(map(os.path.getsize, paths)) <= SMALL_BYTES


def check_kinds(kinds: Mapping[str, tuple[Any, str]], **given: object) -> None:
    """Raises `TypeError` that says what was expected: the engine's says less."""
    for name, value in given.items():
        kind, expected = kinds[name]
        if not isinstance(value, kind):
            raise TypeError(f"{name} is {expected}, not {type(value).__name__}")


def check_min_wait(min_wait_ms: float) -> None:
    """Raises `ValueError`."""
    if not 0 < min_wait_ms <= MAX_MIN_WAIT_MS:
        raise ValueError(f"min_wait_ms must be more than 0 and at most an hour: {min_wait_ms}")


def check_number(name: str, number: int | None) -> None:
    """Checks a number of threads or processes, if it is told. Raises `ValueError`."""
    if number is not None and not 0 < number <= MAX_THREADS:
        raise ValueError(f"{name} must be 1 to {MAX_THREADS}: {number}")


INTERNAL = {
    "can_be_read_again",
    "core",
    "core_with_exchanges",
    "doing",
    "files",
    "has_exchanges",
    "is_anonymized",
    "keep_segments",
    "kept_segments",
    "key",
    "key_is_random",
    "number_of",
    "paths",
    "row_of",
    "spooled",
    "threads",
    "trace",
    "why_not_again",
}
"""Names of a scan that its own modules use."""


def named(chosen: Mapping[str, str] | None, is_anonymized: bool) -> dict[str, str]:
    """The user's names of addresses, checked."""
    if not chosen:
        return {}
    from nagle_scan.api import names

    known = names.checked(chosen)
    return names.without_addresses(known) if is_anonymized else known


def as_paths(path_or_paths: _Path | Iterable[_Path]) -> list[str]:
    """Raises `TypeError` for what is no path, `CaptureError` for a name that is not UTF-8."""
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    if not isinstance(path_or_paths, Iterable) or isinstance(path_or_paths, bytes):
        kind = type(path_or_paths).__name__
        raise TypeError(f"a capture is a path (str or os.PathLike), or several, not {kind}")
    return [files.utf8_name(path, CaptureError) for path in path_or_paths]
