"""The public interface: `scan()` reads captures; `Scan` is what was found."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.api import ends, keys, spooling
from nagle_scan.api.written import Written
from nagle_scan.errors import CaptureError
from nagle_scan.report.options import Options
from nagle_scan.result import Result, columns
from nagle_scan.result.options import DEFAULT_MIN_WAIT_MS, ScanOptions
from nagle_scan.system.progress import ProgressLine, line_of
from nagle_scan.words import certainty

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from scapy.packet import Packet

    from nagle_scan.api import calls as traces
    from nagle_scan.api.answers import AdviceList, Comparison, Summary
    from nagle_scan.api.connection import Connection
    from nagle_scan.api.why import Case
    from nagle_scan.timeline.axes import PictureAxes

_Path = str | os.PathLike[str]

SMALL_BYTES = 256 << 20


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

    Two captures of the same connections, one at each end, are one scan: each stall counts once.

    A capture is a pcap or pcapng file, plain, gzip or zstd, or text that tcpdump or tshark printed:
    a path (`~` is expanded), its bytes, or a binary file object, which is read to its end (these
    are kept in a temporary file as long as the scan; on Linux an open file is read as it is).
    `filter` is a BPF expression (`"tcp port 8888"`), compiled by libpcap. Waits shorter than
    `min_wait_ms` are not recorded. `anonymize` is a key of 32 bytes: addresses are replaced in all
    tables and files (ipcrypt-pfx), and the same key gives the same replacements. `threads` is one
    per processor by default; no result depends on it. `exchanges` keeps each exchange, some 64
    bytes for each: by default of files up to 256 MB in all. Without them `Scan.exchanges` reads the
    captures again. `names` are words for addresses (`{"10.0.0.5": "payments"}`): reports and
    pictures say them in their place, the JSON beside them; filters and tables, also as files, keep
    the addresses. With `anonymize` a name that holds an address is left out. `progress` shows how
    far it is, in a terminal (on standard error) and in a notebook, from the first second on; the
    command gives one that it shows and stops itself. `calls` are paths of what `strace -f -ttt -yy`
    wrote of a program meanwhile (docs/calls.md): they tell which call wrote what was held, and
    prove it; captures must be files then.

    >>> import nagle_scan
    >>> nagle_scan.scan("captures/java-split.pcap").verdict
    'stalls'

    Raises `ValueError` for a `min_wait_ms` outside 0 to 3,600,000, no threads, a bad key or name,
    `CaptureError` for an input that cannot be read, `FilterError` for a bad expression, `TypeError`
    for anything but a path and for options of a wrong type, `KeyboardInterrupt` soon after Ctrl-C.
    A truncated capture is not an error: see `Scan.warnings`.
    """
    options = ScanOptions(
        filter=filter, min_wait_ms=min_wait_ms, threads=threads, exchanges=exchanges, names=names
    )
    return scan_with(path_or_paths, options, anonymize, progress, calls)


def scan_with(
    path_or_paths: spooling.Capture | Iterable[spooling.Capture],
    options: ScanOptions,
    anonymize: bytes | None = None,
    progress: bool | _core.Progress = False,
    calls: traces.Path | Iterable[traces.Path] | _core.Calls | None = None,
) -> Scan:
    """Scans as `scan`, with its `options` in one."""
    options.check()
    key = None if anonymize is None else keys.checked(anonymize)
    paths, labels, spooled = spooling.on_disk(path_or_paths)
    if not paths:
        raise ValueError("no capture given")
    options = _settled(options, paths, key)._replace(labels=labels)
    traced = options.calls if calls is None else calls
    seen = progress if isinstance(progress, _core.Progress) else _core.Progress()
    shown = ProgressLine(partial(line_of, seen), sys.stderr)
    with shown if progress and progress is not seen else nullcontext():
        options = options._replace(calls=_trace(traced, paths, seen))
        two = ends.parts(paths) if options.calls is None else []
        both = ends.scanned(two, options, seen, only_both=True) if two else []
        [scanned] = both or [(paths, _core.scan_captures(paths, options, seen))]
    scan = _scan_of(scanned, options, key)
    scan._result.spooled = spooled
    return scan


def scan_two(
    two: list[list[str]], options: ScanOptions, key: bytes | None, progress: _core.Progress
) -> list[Scan]:
    """Scans two captures: as one if they were taken at both ends of the same connections."""
    options.check()
    options = _settled(options, [path for paths in two for path in paths], key)
    return [_scan_of(one, options, key) for one in ends.scanned(two, options, progress)]


def _settled(options: ScanOptions, paths: list[str], key: bytes | None) -> ScanOptions:
    """Options with what the captures, and a key, leave open."""
    if options.exchanges is None:
        options = options._replace(exchanges=_are_small(paths))
    return options._replace(names=_named(options.names, key is not None))


def _scan_of(scanned: ends.Scanned, options: ScanOptions, key: bytes | None) -> Scan:
    paths, core = scanned
    return Scan(Result(paths, options, core if key is None else core.anonymized(key), key))


class Scan(Written):
    """The findings of a scan. Tables are DataFrames; durations are in ms, NaN where unknown.

    Beside each time in ns since the epoch (`time_ns`, int64) stands the same as datetime64[ns, UTC]
    (`time`): NaT where the capture tells no date (text of tcpdump without -tttt).

    `write` and `render` give the same files as `nagle-scan -o`.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def filter(self) -> str | None:
        """The BPF expression that chose its packets."""
        return self._result.options.filter

    @property
    def min_wait_ms(self) -> float:
        """The shortest wait that was recorded."""
        return self._result.options.min_wait_ms

    @property
    def verdict(self) -> str:
        """`stalls` (one at least is likely), `possible` (none is), `clean` or `inconclusive`.

        `clean`: no stall of `min_wait_ms` or more, and most connections would show one; shorter
        ones do not count. `inconclusive`: they carry no data, or were captured in one direction
        only, with too coarse a clock or too many frames missing, or on a path whose round trips
        vary too much.
        """
        return self._result.verdict

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Input that was lost or not used: (input, sentence)."""
        return self._result.warnings

    @property
    def captures(self) -> list[str]:
        """The captures as outputs name them: by path, or by number if anonymised."""
        return self._result.captures

    @property
    def connections(self) -> pd.DataFrame:
        """One row per connection; the index `connection` equals Wireshark's `tcp.stream`.

        Of more than 131,072, many without data in a row, as of a port scan, are only counted.
        """
        return self._result.table("connections")

    @property
    def stalls(self) -> pd.DataFrame:
        """One row per stall, grouped by connection, in the order of time.

        `confidence` is ordered. The columns from `call` on are there with `calls`.
        """
        return self._result.table("stalls")

    @property
    def waits(self) -> pd.DataFrame:
        """One row per wait that is not a stall.

        If there are very many, at least these are listed of each sixteenth of the connections: the
        first 2,048 of clients that had their answer; of each side the first 8,192 others, and the
        128 longest of those that follow. Reports count the rest.
        """
        return self._result.table("waits")

    @property
    def exchanges(self) -> pd.DataFrame:
        """One row per request and response, in the order of their ends.

        They grow with the packets, so a scan of more than 256 MB keeps them only with
        `exchanges=True`, else reads the captures again for this table. Raises `CaptureError` if it
        cannot (standard input).

        The latency is the sum of the parts from `sending_ms` to `server_ms`; `connecting_ms`, of
        the first exchange of a connection, came before it.
        """
        return self._result.table("exchanges")

    @property
    def open(self) -> pd.DataFrame:
        """One row per debt that was still open when its connection, or the capture, ended.

        Such an exchange is in no latency: it took `open_ms` or longer.
        """
        return self._result.table("open")

    @property
    def servers(self) -> pd.DataFrame:
        """One row per server endpoint with exchanges, those that lose most to stalls first.

        Percentiles are within 0.5 % from 129 exchanges on, else exact. A percentile is the latency
        of an exchange, by nearest rank (numpy's `method="inverted_cdf"`): pandas' `quantile` lies
        between two.
        """
        return self._result.table("servers")

    def segments(self, connection: int) -> pd.DataFrame:
        """The segments of one connection, read again from the capture.

        `flags_text` (category) has the flags in Wireshark's words. Raises `CaptureError` if the
        capture cannot be read again (standard input), `KeyError` for an unknown connection,
        `TypeError` for anything but an integer.
        """
        return self._result.segments(connection)

    def packets(self, frames: Iterable[int]) -> list[Packet]:
        """Frames as scapy packets, to dissect them, in ascending order of their numbers.

        `frames` are Wireshark's `frame.number`, as in the tables. Their `time` is that of the
        capture, in s. Those that hold no TCP segment or are not there are left out; with a key
        their addresses are replaced. Raises `CaptureError` if the capture cannot be read again
        (standard input) or holds no frames (printed text), `ValueError` for a number below 1,
        `TypeError` for anything but an integer.
        """
        return self._result.packets(frames)

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

        return answers.summary(self._result)

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

        return answers.findings(self._result)

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

        return answers.advice(self._result)

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

        return answers.latency(self._result, by)

    def compare(self, other: Scan, baseline_map: Mapping[str, str] | None = None) -> Comparison:
        """Compares the stalls of two scans: this one was before a change, `other` is after it.

        Servers are paired by address and port, or by port where each scan has only one left on it;
        `baseline_map` pairs others: `{"10.0.0.5:8901": "10.0.0.7:8902"}`. Raises `TypeError` for
        what is not a scan or a mapping, `ValueError` for what is not a server, and `CaptureError`
        for a server that is not in its scan.

        >>> import nagle_scan
        >>> before = nagle_scan.scan("captures/java-split.pcap")
        >>> after = nagle_scan.scan("captures/java-split-nodelay.pcap")
        >>> before.compare(after).verdict
        'fixed'
        """
        from nagle_scan.api import answers

        if not isinstance(other, Scan):
            raise TypeError(f"a scan is compared with a Scan, not {type(other).__name__}")
        return answers.compare(self._result, other._result, baseline_map)

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

        of = self._result
        of.check_readable()
        return case_of(of.paths, of.options, frame)

    def wait_histogram(self, ax: Axes | None = None, width_in: float = 7.2) -> PictureAxes:
        """Draws how long the waits of all connections were, stalls against other causes."""
        from nagle_scan import timeline

        return timeline.histogram(self._result, ax=ax, width_in=width_in)

    def connection(self, connection: Hashable) -> Connection:
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

        return Connection(self, self._result.row_of(connection).connection)

    def _shown(self, payload: bool) -> tuple[Result, Options]:
        return self._result, Options(payload=payload)

    def __dir__(self) -> list[str]:
        """The public names."""
        return sorted(name for name in super().__dir__() if name[0] != "_")

    def __repr__(self) -> str:
        """The verdict and its counts."""
        summary, names = self._result.core.summary(), ", ".join(self.captures)
        about = ""
        if summary.stalls:
            about = f": {certainty.on_connections(summary)}"
        elif summary.verdict == "clean":
            about = f", on {certainty.clean_of(summary)}"
        return f"<{type(self).__name__} {names}: {summary.verdict}{about}>"

    def _repr_html_(self) -> str:
        from nagle_scan.api.notebook import scan_html

        return scan_html(self._result)


columns.add_to(Scan)


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


def _named(chosen: Mapping[str, str] | None, is_anonymized: bool) -> dict[str, str]:
    """The user's names of addresses, checked."""
    if not chosen:
        return {}
    from nagle_scan.api import names

    known = names.checked(chosen)
    return names.without_addresses(known) if is_anonymized else known


def _are_small(paths: list[str]) -> bool:
    """Do their exchanges need little room? Nobody knows of a pipe."""
    is_known = all(map(os.path.isfile, paths))
    return is_known and sum(map(os.path.getsize, paths)) <= SMALL_BYTES
