"""One connection of a scan: its rows of the tables, its frames, its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from nagle_scan import _core, timeline
from nagle_scan.api import notebook
from nagle_scan.report import verdicts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from scapy.packet import Packet

    import nagle_scan
    from nagle_scan.timeline.axes import PictureAxes


class Row(SimpleNamespace):
    """Numbers of a connection, which can be printed and compared."""


@dataclass(frozen=True)
class Connection:
    """One connection, as `Scan.connection` gives it; a notebook shows its verdict and its ladder.

    >>> import nagle_scan
    >>> connection = nagle_scan.scan("captures/epoll-fd0.pcap").connection(2)
    >>> connection
    <Connection 2: 127.0.0.1:55696 to 127.0.0.1:8888: Stalls: 25 certain stalls, 1.1 s lost>
    >>> connection.client, connection.server, connection.verdict
    ('127.0.0.1:55696', '127.0.0.1:8888', 'stalls')
    >>> len(connection.stalls), len(connection.waits), len(connection.segments())
    (25, 0, 141)
    """

    scan: nagle_scan.Scan
    number: int
    """Its number, as Wireshark's `tcp.stream`."""

    @property
    def row(self) -> _core.ConnectionRow:
        """Its numbers: `row.rtt_ms`, `row.mss`, `row.stalls`, `row.mean_latency_ms` and others."""
        row = self.scan._result.row_of(self.number)
        names = (name for name in dir(row) if name[0] != "_")
        return cast("_core.ConnectionRow", Row(**{name: getattr(row, name) for name in names}))

    @property
    def client(self) -> str:
        """Address (or name) and port of the end that asked first."""
        return self.row.client

    @property
    def server(self) -> str:
        """Address (or name) and port of the other end."""
        return self.row.server

    @property
    def verdict(self) -> str:
        """The verdict as in `Scan.verdict`: `stalls`, `possible`, `clean` or `inconclusive`."""
        return self.row.verdict

    @property
    def stalls(self) -> pd.DataFrame:
        """Its rows of `Scan.stalls`."""
        return self._rows_of(self.scan.stalls)

    @property
    def waits(self) -> pd.DataFrame:
        """Its rows of `Scan.waits`."""
        return self._rows_of(self.scan.waits)

    @property
    def exchanges(self) -> pd.DataFrame:
        """Its rows of `Scan.exchanges`, which may read the capture again."""
        return self._rows_of(self.scan.exchanges)

    def evidence(self, stall: int = 0) -> list[str]:
        """Evidence for the `stall`-th clearest stall (from 0 on), in the words of the reports.

        Empty for a connection without stalls. Raises `IndexError` for an unknown stall.

        >>> import nagle_scan
        >>> connection = nagle_scan.scan("captures/java-split.pcap").connection(0)
        >>> print(connection.evidence()[-1].rpartition(" ")[0])
        together: held with a probability of
        """
        from nagle_scan.timeline.subject import Subject

        row = Subject(self.scan._result, self.row).stall(stall)
        return row.evidence if row else []

    def segments(self) -> pd.DataFrame:
        """Its segments, read again from the capture: see `Scan.segments`."""
        return self.scan.segments(self.number)

    def packets(self) -> list[Packet]:
        """Its frames as scapy packets, read again from the capture: see `Scan.packets`."""
        return self.scan.packets(self.segments()["frame"])

    def ladder(
        self, stall: int | None = None, ax: Axes | None = None, width_in: float = 7.2
    ) -> PictureAxes:
        """Draws the `stall`-th clearest stall (from 0 on) and its neighbours, each an arrow.

        Without a stall, the longest other wait. Pictures are matplotlib's: without `ax`, on a
        figure of their own, `width_in` wide. Raises `IndexError` for an unknown stall, `TypeError`
        for anything but a number, or `Axes`.

        >>> import nagle_scan
        >>> ax = nagle_scan.scan("captures/jdk-httpserver.pcap").connection(0).ladder()
        >>> print(ax.get_label().partition(" for ")[0])
        The server held 100 bytes back
        """
        return timeline.ladder(self.scan._result, self.number, stall or 0, ax, width_in)

    def sequence(self, ax: Axes | None = None, width_in: float = 7.2) -> PictureAxes:
        """Draws the bytes sent against time, as tcptrace does, of the side that holds data.

        Each segment is an upright stroke from its first byte to its last; the dashed line below is
        what the peer has acknowledged, the dotted one above what its window allows. Where the
        stalls are too many to be distinguished, only the time around the clearest is shown.
        """
        return timeline.sequence(self.scan._result, self.number, ax, width_in)

    def timeline(self, ax: Axes | None = None, width_in: float = 7.2) -> PictureAxes:
        """Draws all of it, from its first segment to its last: stalls, other waits, bytes."""
        return timeline.overview(self.scan._result, self.number, ax, width_in)

    def wait_histogram(self, ax: Axes | None = None, width_in: float = 7.2) -> PictureAxes:
        """Draws how long its waits were, stalls against other causes."""
        return timeline.histogram(self.scan._result, self.number, ax, width_in)

    def _rows_of(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[table["connection"] == self.number]

    def __dir__(self) -> list[str]:
        """The public names."""
        return sorted(name for name in super().__dir__() if name[0] != "_")

    def __repr__(self) -> str:
        """Its two ends and its verdict."""
        row = self.row
        ends = f"{row.client} to {row.server}"
        return f"<Connection {self.number}: {ends}: {verdicts.of_connection(row)}>"

    def _repr_html_(self) -> str:
        return notebook.connection_html(self.scan._result, self.row)
