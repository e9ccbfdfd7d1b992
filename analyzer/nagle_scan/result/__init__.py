"""The result of a scan: what the engine found, and how its captures are read again."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from nagle_scan import _core
from nagle_scan.errors import CaptureError, UnknownConnectionError
from nagle_scan.result.options import ScanOptions
from nagle_scan.system import files

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
FOR_TABLES = ("numpy", "pandas")
NO_FRAMES = "printed text holds no frames: only a capture file (tcpdump -w) does"
NOT_AGAIN = "standard input and pipes cannot be read a second time"
FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
"""From the lowest bit on (RFC 9293, section 3.1; RFC 3168)."""
MOST_KEPT = 1_000_000
"""Segments that are kept for pictures: 80 MB."""
MOST_EXCERPT = 65_536
"""Segments around the clearest stall that are shown of a connection beyond `MOST_KEPT`."""


class Result:
    """A scan as reports, pictures and commands need it; users have a `Scan`, which holds it."""

    def __init__(
        self,
        paths: list[str],
        options: ScanOptions,
        core: _core.Scan,
        key: bytes | None = None,
    ) -> None:
        self.paths = paths
        self.options = options
        self.core = core
        self.key = key
        self.key_is_random = False
        self.spooled: Sequence[object] = ()
        """Files that `paths` read as long as they are open: temporary ones, and open files."""
        self.doing: Callable[[str], None] = lambda _: None
        """Called with what takes time now, for a progress line."""
        self.compared: dict[tuple[Result, Pairs], Any] = {}
        """By baseline and known pairs of servers: `compare` reads the captures again."""
        self._kept: dict[int, Rows] = {}
        self._last: dict[int, Rows] = {}
        self._tables: dict[str, pd.DataFrame] = {}

    @property
    def verdict(self) -> str:
        """The verdict on all captures: see `Scan.verdict`."""
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

    @cached_property
    def read_paths(self) -> list[str]:
        """The captures as the engine reads them again: between two ends stands an empty path."""
        if (ends := self.core.ends()) is None:
            return self.paths
        return [*self.paths[: ends.first_captures], "", *self.paths[ends.first_captures :]]

    @property
    def files(self) -> list[str]:
        """The captures, for what looks into frames again; none if they cannot be read again."""
        return self.paths if self.can_be_read_again else []

    def core_with_exchanges(self) -> _core.Scan:
        """A scan that kept all exchanges: this one, or another of the same captures.

        Raises `CaptureError`.
        """
        if self.options.exchanges:
            return self.core
        self.check_readable("scan with exchanges=True")
        options = self.options._replace(exchanges=True)
        if "" in self.read_paths:
            at = self.read_paths.index("")
            two = self.paths[:at], self.paths[at:]
            return _core.scan_ends(*two, options, _core.Progress(), True)[0][0]
        return _core.scan_captures(self.paths, options, _core.Progress())

    def segments(self, connection: int) -> pd.DataFrame:
        """The segments of one connection, read again: see `Scan.segments`."""
        number = self.number_of(connection)
        self.check_readable()
        check_installed(*FOR_TABLES)
        table = self._frame(self._segments_of([number])[number])
        place = table.columns.get_loc("flags")
        assert isinstance(place, int)
        table.insert(place + 1, "flags_text", flags_text(table["flags"]))
        return table

    def number_of(self, connection: Hashable) -> int:
        """The number of a connection that the scan may hold. Raises `KeyError`, `TypeError`."""
        try:
            number = operator.index(cast("SupportsIndex", connection))
        except TypeError:
            kind = type(connection).__name__
            raise TypeError(f"a connection is a number, as tcp.stream, not {kind}") from None
        summary = self.core.summary()
        count = summary.connections + summary.copied
        if not 0 <= number < count:
            has = {0: "it has none", 1: "it has 0 only"}.get(count, f"it has 0 to {count - 1}")
            raise UnknownConnectionError(f"tcp.stream {number} is not in this scan: {has}")
        return number

    def row_of(self, connection: Hashable) -> _core.ConnectionRow:
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
        tables = _core.segments(self.read_paths, self.options, list(connections), excerpts)
        return dict(zip(connections, tables, strict=True))

    def packets(self, frames: Iterable[int]) -> list[Packet]:
        """Frames as scapy packets, read again: see `Scan.packets`."""
        check_installed("scapy")
        from nagle_scan.result import dissect

        self.check_readable()
        if self.core.summary().is_text:
            raise CaptureError(NO_FRAMES)
        numbers = list(map(_frame_number, _as_frames(frames)))
        if not all(0 < number < 1 << 63 for number in numbers):
            raise ValueError("frames count from 1")
        rows = _core.read_frames(self.read_paths, numbers, True, self.key, self.core)
        return [dissect.packet(row) for row in rows]

    def check_readable(self, instead: str = "") -> None:
        """Raises `CaptureError` if the captures cannot be read again."""
        why = self.why_not_again
        if why:
            raise CaptureError(f"{why}; {instead}" if instead else why)

    def table(self, name: str) -> pd.DataFrame:
        """A table of `Scan`, made once. What users write into theirs is written into a copy.

        Raises `CaptureError` for exchanges that were not kept and cannot be read again.
        """
        if name not in self._tables:
            check_installed(*FOR_TABLES)
            core = self.core_with_exchanges() if name == "exchanges" else self.core
            made = self._frame(core.columns(name))
            self._tables[name] = made.set_index("connection") if name == "connections" else made
        return self._tables[name].copy(deep=False)

    def _frame(self, columns: dict[str, Any]) -> pd.DataFrame:
        return table(columns, self.core.summary().has_dates)


def check_installed(*packages: str) -> None:
    """Raises `ImportError` that names those that are missing."""
    missing = files.missing(packages)
    if missing:
        raise ImportError(f"needs {', '.join(missing)}: pip install {' '.join(missing)}")


def table(columns: dict[str, Any], has_dates: bool | None = None) -> pd.DataFrame:
    """A DataFrame of the engine's columns, and a time beside each `_ns` if `has_dates` is given."""
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


def _is_pipe(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


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
