"""The result of a scan as pandas tables. pandas is imported when the first table is asked for."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nagle_scan import _core
from nagle_scan.errors import CaptureError, UnknownConnectionError
from nagle_scan.system import files
from nagle_scan.words import certainty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from scapy.packet import Packet

    from nagle_scan.result.rows import Rows

Endpoint = tuple[str, int]
Pairs = tuple[tuple[Endpoint, Endpoint], ...]
"""Servers, before and after."""
DEFAULT_MIN_WAIT_MS = 10.0
"""Shorter waits are not reported: quick ACKs take 0.1 ms, the shortest timers 14 ms."""
FOR_TABLES = ("numpy", "pandas")
NO_FRAMES = "printed text holds no frames: only a capture file (tcpdump -w) does"
NOT_AGAIN = "standard input and pipes cannot be read a second time"
MAX_MIN_WAIT_MS = 3_600_000.0
FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
"""From the lowest bit on (RFC 9293, section 3.1; RFC 3168)."""
MOST_KEPT = 1_000_000
"""Segments that are kept for pictures: 80 MB."""
MOST_EXCERPT = 65_536
"""So many around the clearest stall are shown of a connection for which there is no room."""
MAX_THREADS = 1024
"""More than any machine has; the engine never starts more than pay."""


class Result:
    """The result of a scan. Tables are DataFrames; durations are in ms.

    Beside each time in ns since the epoch (`time_ns`, int64) stands the same as datetime64[ns, UTC]
    (`time`): NaT where the capture tells no date (text of tcpdump without -tttt).
    """

    def __init__(
        self,
        paths: list[str],
        filter: str | None,
        core: _core.Scan,
        key: bytes | None = None,
        min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
        has_exchanges: bool = False,
        threads: int | None = None,
    ) -> None:
        self.paths = paths
        self.filter = filter
        self.core = core
        self.key = key
        self.key_is_random = False
        self.min_wait_ms = min_wait_ms
        self.threads = threads
        self.has_exchanges = has_exchanges
        self.spooled: Sequence[object] = ()
        """Files that `paths` read as long as they are open: temporary ones, and open files."""
        self.trace: _core.Calls | None = None
        """System calls of a program of the capture."""
        self.doing: Callable[[str], None] = lambda _: None
        """Is told what takes time, for a progress line."""
        self._kept: dict[int, Rows] = {}
        self._last: dict[int, Rows] = {}
        self._tables: dict[str, pd.DataFrame] = {}

    @property
    def verdict(self) -> str:
        """`stalls` (one at least is likely), `possible` (none is), `clean` or `inconclusive`.

        `clean`: no stall of `min_wait_ms` or more, and most connections would show one; shorter
        ones do not count. `inconclusive`: they carry no data, or were captured in one direction
        only, with too coarse a clock or too many frames missing, or on a path whose round trips
        vary too much.
        """
        return self.core.summary().verdict

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Input that was lost or not used: (input, sentence)."""
        return [(path, warning) for path, warning, _ in self.core.summary().warnings]

    @property
    def captures(self) -> list[str]:
        """The captures as outputs name them: by path, or by number if anonymised."""
        return self.core.captures() if self.is_anonymized or self.spooled else self.paths

    @property
    def is_anonymized(self) -> bool:
        """Were its addresses replaced?"""
        return self.core.summary().anonymized is not None

    @property
    def can_be_read_again(self) -> bool:
        """Are all captures files? Standard input and pipes can be read only once."""
        return not self.why_not_again and all(os.path.isfile(path) for path in self.paths)

    @property
    def why_not_again(self) -> str:
        """Why the captures cannot be read a second time; empty if they can, as far as known."""
        # Opening a pipe again would block for ever.
        if any(path == "-" or _is_pipe(path) for path in self.paths):
            return NOT_AGAIN
        begins_ns = {None, *self.core.first_times_ns()}
        for path in self.paths:
            # A capture that has grown since is still the same.
            if _core.first_time_ns(path) not in begins_ns:
                return f"{path}: no longer the capture that was scanned"
        return ""

    @property
    def files(self) -> list[str]:
        """The captures, for what looks into frames again; none if they cannot be read again."""
        return self.paths if self.can_be_read_again else []

    @property
    def connections(self) -> pd.DataFrame:
        """One row per connection; the index `connection` equals Wireshark's `tcp.stream`.

        Of more than 131,072, many without data in a row, as of a port scan, are only counted.

        For each end (`client_`, `server_`): `addr`, `port` (int64), `nagle` (category: `on`, `off`,
        `unknown`), `nagle_variant` (category: `classic`, RFC 896, `minshall`, as in Linux,
        `unknown`), `rtt_ms` (float64: round trip between the capture point and that end, NaN
        unknown), `segments`, `bytes`, `retransmitted` (int64), `delayed_ack_ms` (float64: the
        median delay of its delayed ACKs), `delayed_ack_consistent_with` (str). Then `first_ns`,
        `last_ns` (int64), `first`, `last` (the same as times), `handshake` (bool), `verdict`
        (category), `conclusive` (bool), `notices` (str: why not, as `nagle-scan` names reasons in
        JSON), `rtt_ms` (float64: the shortest), `handshake_rtt_ms`
        (float64: from the client's last SYN to its ACK of the server's, where both were surely
        captured; Wireshark's `tcp.analysis.initial_rtt` is less strict), `mss` (int64, bytes),
        `capture_point` (category), `stalls` (int64), `connect_ms` and `first_reply_ms` (float64:
        from the first SYN, where connecting was slow), `stalled_ms` (float64), `exchanges` (int64),
        `mean_latency_ms` and `predicted_latency_ms` (float64: without the stalls).
        """
        return self._made_once("connections", index="connection")

    @property
    def stalls(self) -> pd.DataFrame:
        """One row per stall, grouped by connection, in the order of time.

        `connection` (int64), `cause` (category: see `nagle-scan --explain`), `sender` (category:
        `client`, `server`), `confidence` (category: `possible` < `likely` < `certain`), `rel_seq`
        (int64: stream offset of the held segment), `len` and `len_unacked` (int64, bytes),
        `frame_unacked`, `frame_ack`, `frame_held` (int64: Wireshark's `frame.number`), `time_ns`
        (int64, of the held segment), `time` (the same), `wait_ms` (float64: from the last data that
        the sender had sent or received: the most it can have waited), `hold_ms` (float64: the
        time lost, which all sums count: as `wait_ms`, since no capture shows when the segment was
        written, unless the calls of its program do), `ack_delay_ms` (float64: how long the receiver
        sat on its ACK), `release_ms` (float64: from the ACK to the held segment, at the capture
        point).

        With `calls`, of the call that wrote it: `call` (str: its name), `call_bytes`, `call_line`
        (int64: 0 unknown), `call_function` (str), `written_ns` (int64, by the capture's clock),
        `call_hold_ms` (float64: until it left), `proof` (str: `proven` or empty).
        """
        return self._made_once("stalls")

    @property
    def waits(self) -> pd.DataFrame:
        """One row per wait that is not a stall.

        `connection` (int64), `cause` (category), `sender` (category: who kept the other waiting),
        `frame_from`, `frame_to` (int64), `time_ns` (int64, its end), `time` (the same),
        `lost_before_capture` (bool), `wait_ms` (float64).

        If there are very many, at least these are listed of each sixteenth of the connections: the
        first 2,048 of clients that had their answer; of each side the first 8,192 others, and the
        128 longest of those that follow. Reports count the rest.
        """
        return self._made_once("waits")

    @property
    def exchanges(self) -> pd.DataFrame:
        """One row per request and response, in the order of their ends.

        They grow with the packets, so a scan of more than 256 MB keeps them only with
        `exchanges=True`, else reads the captures again for this table. Raises `CaptureError` if it
        cannot (standard input).

        `connection`, `frame_begin`, `frame_end`, `begin_ns`, `request_bytes`, `response_bytes`
        (int64), `begin` (the same as `begin_ns`), `latency_ms` (float64: first request byte to last
        response byte), `stalls` (int64), `stalled_ms` and `predicted_latency_ms` (float64: without
        the stalls). `connecting_ms` (float64: of the first one of a connection, else NaN) came
        before it. The latency is the sum of `sending_ms` (the client was still sending),
        `on_the_way_ms`, `resent_ms` (bytes had to be sent again), `window_ms` (the receiver's was
        full), `held_ms` (by certain and likely stalls) and `server_ms` (float64).
        """
        if "exchanges" not in self._tables:
            check_installed(*FOR_TABLES)
            self._tables["exchanges"] = self._frame(self.core_with_exchanges().columns("exchanges"))
        return self._made_once("exchanges")

    def core_with_exchanges(self) -> _core.Scan:
        """A scan that kept all exchanges: this one, or another of the same captures.

        Raises `CaptureError`.
        """
        if self.has_exchanges:
            return self.core
        self._check_readable("scan with exchanges=True")
        how = self.paths, self.filter, self.min_wait_ms, True, _core.Progress(), self.threads
        return _core.scan_captures(*how, calls=self.trace)

    @property
    def servers(self) -> pd.DataFrame:
        """One row per server endpoint with exchanges, those that lose most to stalls first.

        `addr` (str), `port`, `connections`, `affected_connections`, `exchanges`,
        `stalled_exchanges`, `stalls` (int64), `stalled_ms` (float64), then the latency of its
        exchanges as measured, `latency_p50_ms`, `latency_p75_ms`, `latency_p90_ms`,
        `latency_p95_ms`, `latency_p99_ms`, `latency_max_ms`, and as it would be without the
        stalls, `predicted_p50_ms`, `predicted_p75_ms`, `predicted_p90_ms`, `predicted_p95_ms`,
        `predicted_p99_ms`, `predicted_max_ms` (float64, within 0.5 % from 129
        exchanges on, else exact). A percentile is the latency of an exchange, by nearest rank
        (numpy's `method="inverted_cdf"`): pandas' `quantile` lies between two.
        """
        return self._made_once("servers")

    def segments(self, connection: int) -> pd.DataFrame:
        """The segments of one connection, read again from the capture.

        `frame`, `time_ns` (int64), `time` (the same), `sender` (category), `rel_seq`, `len`, `seq`,
        `ack`, `flags` (int64), `flags_text` (category: in Wireshark's words), `window` (int64: as
        on the wire, not scaled), `window_bytes` (float64: scaled, NaN where the handshake was not
        captured), `repeat` (category: `no`, `retransmitted`, `duplicated`, which is captured
        again, `reordered`). `rel_seq` is the stream offset of the first payload byte; FIN takes a
        number behind the last one. Raises `CaptureError` if the capture cannot be read again
        (standard input), `KeyError` for an unknown connection, `TypeError` for what is no integer.
        """
        number = self.number_of(connection)
        self._check_readable()
        check_installed(*FOR_TABLES)
        table = self._frame(self._segments_of([number])[number])
        place = table.columns.get_loc("flags")
        assert isinstance(place, int)
        table.insert(place + 1, "flags_text", flags_text(table["flags"]))
        return table

    def number_of(self, connection: int) -> int:
        """The number of a connection that the scan may hold. Raises `KeyError`, `TypeError`."""
        try:
            number = operator.index(connection)
        except TypeError:
            kind = type(connection).__name__
            raise TypeError(f"a connection is a number, as tcp.stream, not {kind}") from None
        count = self.core.summary().connections
        if not 0 <= number < count:
            has = {0: "it has none", 1: "it has 0 only"}.get(count, f"it has 0 to {count - 1}")
            raise UnknownConnectionError(f"tcp.stream {number} is not in this scan: {has}")
        return number

    def row_of(self, connection: int) -> _core.ConnectionRow:
        """The row of a connection. Raises `KeyError`, `TypeError`."""
        number = self.number_of(connection)
        row = self.core.connection(number)
        if row is None:
            raise UnknownConnectionError(
                f"tcp.stream {number} is counted, but not listed: it holds no data, as many others"
            )
        return row

    def keep_segments(self, rows: Iterable[_core.ConnectionRow]) -> None:
        """Reads the captures once for all that `kept_segments` is asked next, if they can be.

        Beyond `MOST_KEPT` segments it takes excerpts.
        """
        if self.can_be_read_again:
            self.doing("reading again what is drawn")
            self._kept = self._kept_of(rows)

    def kept_segments(self, connection: int) -> Rows:
        """The rows of `segments` without pandas, read once while the same connection is asked for.

        Of more than `MOST_KEPT` segments, only an excerpt.
        """
        kept = self._kept
        if connection not in kept:
            if connection not in self._last:
                row = self.core.connection(connection)
                self._last = self._kept_of([] if row is None else [row])
            kept = self._last
        return kept[connection]

    def _kept_of(self, rows: Iterable[_core.ConnectionRow]) -> dict[int, Rows]:
        wanted, excerpts, room = [], {}, MOST_KEPT
        for row in rows:
            wanted.append(row.connection)
            if row.segments > room:
                excerpts[row.connection] = (MOST_EXCERPT, self._most_telling(row.connection))
            else:
                room -= row.segments
        from nagle_scan.result.rows import Rows

        # Nothing is worth a second reading.
        segments = self._segments_of(wanted, excerpts) if wanted else {}
        return {number: Rows(columns) for number, columns in segments.items()}

    def _most_telling(self, connection: int) -> int:
        """The frame that ends its clearest stall, else the scan's longest wait; 0 if neither."""
        waits = self.core.stalls_of(connection, 1) or self.core.longest_waits(1)
        return next((wait.frame_to for wait in waits if wait.connection == connection), 0)

    def _segments_of(
        self, connections: Sequence[int], excerpts: Mapping[int, tuple[int, int]] | None = None
    ) -> dict[int, dict[str, Any]]:
        tables = _core.segments(self.paths, self.filter, list(connections), self.threads, excerpts)
        return dict(zip(connections, tables, strict=True))

    def packets(self, frames: Iterable[int]) -> list[Packet]:
        """Frames as scapy packets, to dissect them, in ascending order of their numbers.

        `frames` are Wireshark's `frame.number`, as in the tables. Their `time` is that of the
        capture, in s. Those that hold no TCP segment or are not there are left out; with a key
        their addresses are replaced. Raises `CaptureError` if the capture cannot be read again
        (standard input) or holds no frames (printed text), `ValueError` for a number below 1,
        `TypeError` for what is no integer.
        """
        check_installed("scapy")
        from nagle_scan.result import dissect

        self._check_readable()
        if self.core.summary().is_text:
            raise CaptureError(NO_FRAMES)
        numbers = list(map(_frame_number, _as_frames(frames)))
        if not all(0 < number < 1 << 63 for number in numbers):
            raise ValueError("frames count from 1")
        rows = _core.read_frames(self.paths, numbers, True, self.key, self.core)
        return [dissect.packet(row) for row in rows]

    def _check_readable(self, instead: str = "") -> None:
        why = self.why_not_again
        if why:
            raise CaptureError(f"{why}; {instead}" if instead else why)

    def __repr__(self) -> str:
        """The verdict and its counts."""
        summary, names = self.core.summary(), ", ".join(self.captures)
        about = ""
        if summary.stalls:
            about = f": {certainty.on_connections(summary)}"
        elif summary.verdict == "clean":
            about = f", on {certainty.clean_of(summary)}"
        return f"<{type(self).__name__} {names}: {summary.verdict}{about}>"

    def _made_once(self, name: str, index: str = "") -> pd.DataFrame:
        """A table that is made once. What users write into theirs is written into a copy."""
        if name not in self._tables:
            check_installed(*FOR_TABLES)
            made = self._frame(self.core.columns(name))
            self._tables[name] = made.set_index(index) if index else made
        return self._tables[name].copy(deep=False)

    def _frame(self, columns: dict[str, Any]) -> pd.DataFrame:
        return table(columns, self.core.summary().has_dates)


def check_installed(*packages: str) -> None:
    """Raises `ImportError` that names those that are missing."""
    missing = files.missing(packages)
    if missing:
        raise ImportError(f"needs {', '.join(missing)}: pip install {' '.join(missing)}")


def _is_pipe(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def table(columns: dict[str, Any], has_dates: bool | None = None) -> pd.DataFrame:
    """A DataFrame of the engine's columns, with a time beside each `_ns` if `has_dates` is told."""
    import pandas as pd

    series: dict[str, object] = {}
    for name, column in columns.items():
        if isinstance(column, tuple):
            is_ordered = name == "confidence"
            series[name] = pd.Categorical.from_codes(column[0], column[1], ordered=is_ordered)
            continue
        series[name] = column
        if has_dates is not None and name.endswith("_ns"):
            series[name.removesuffix("_ns")] = _times(column, has_dates)
    return pd.DataFrame(series, copy=False)


def _times(time_ns: NDArray[np.int64], has_dates: bool) -> pd.DatetimeIndex:
    """The times as dates; `NaT` where they tell no date."""
    import numpy as np
    import pandas as pd

    times = time_ns.view("datetime64[ns]")
    if not has_dates:
        times = np.full(len(time_ns), np.datetime64("NaT", "ns"))
    return pd.DatetimeIndex(times).tz_localize("UTC")


def flags_text(flags: pd.Series[int]) -> pd.Series[Any]:
    """The flags as Wireshark writes them in its info column."""
    import numpy as np
    import pandas as pd

    seen, codes = np.unique(flags.to_numpy(), return_inverse=True)
    words = [
        ", ".join(name for bit, name in enumerate(FLAGS) if value >> bit & 1) or "<None>"
        for value in map(int, seen)
    ]
    return pd.Series(words, dtype="category").take(codes).reset_index(drop=True)


def _as_frames(frames: Iterable[int]) -> Iterable[int]:
    if not isinstance(frames, Iterable):
        raise TypeError(f"frames are several numbers, as [5, 6], not {type(frames).__name__}")
    return frames


def _frame_number(frame: int) -> int:
    try:
        return operator.index(frame)
    except TypeError:
        kind = type(frame).__name__
        raise TypeError(f"a frame is a number, as frame.number, not {kind}") from None
