"""The histogram of waits: how long, how often, and for what reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from nagle_scan.timeline import style
from nagle_scan.timeline.subject import findings
from nagle_scan.words import causes, colours
from nagle_scan.words.wording import duration, round_trip_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nagle_scan.result import Result

BINS_PER_DECADE = 16
LEAST_FOR_NAMES_PT = 280.0
REGIONS = ((36.0, 48.0, "40 ms", "Linux"), (180.0, 225.0, "200 ms", "Windows 7"))
"""Where the two best-known delayed-ACK timers lie."""


def histogram(
    scan: Result,
    connection: int | None = None,
    ax: Axes | None = None,
    width_in: float = 7.2,
) -> Axes:
    """Draws the waits of a connection, or of the whole scan, stalls against other causes."""
    if connection is not None:
        connection = scan.row_of(connection).connection
    ax = style.axes(ax, width_in, 3.0)
    waits = _by_cause(scan, connection)
    count = sum(len(values) for values in waits.values())
    where = "all connections" if connection is None else f"tcp.stream {connection}"
    style.plain(ax, f"How long the waits were ({where})")
    if not count:
        ax.set_label(f"No wait to show\n{where}")
        style.say(ax, f"No wait of {scan.min_wait_ms:g} ms or more beyond the round trip")
        return ax
    edges = _edges(np.concatenate(list(waits.values())))
    _bars(ax, waits, edges)
    _regions(ax)
    _axes(ax, edges, _late(scan, connection))
    ax.set_label(f"Histogram of {count:,} waits, {where}\n{_in_words(waits)}")
    return ax


def _by_cause(scan: Result, connection: int | None) -> dict[str, NDArray[np.float64]]:
    """Durations of waits by cause, in the order of the stack."""
    found: dict[str, NDArray[np.float64]] = {}
    tables = {
        stalls: findings(scan, stalls, ["cause", "wait_ms"], connection) for stalls in (True, False)
    }
    for cause in causes.stalls_first():
        chosen = tables[cause.is_stall]
        values = chosen["wait_ms"][chosen["cause"] == cause.name]
        if len(values):
            found[cause.name] = values
    return found


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithmic bins that always include both named regions."""
    low, high = min(8.0, values.min() * 0.9), max(300.0, values.max() * 1.1)
    bins = max(8, round(np.log10(high / low) * BINS_PER_DECADE))
    return np.geomspace(low, high, bins + 1)


def _late(scan: Result, connection: int | None) -> str:
    """How late the ACKs were, if the round trip moves the stalls out of the timer's region."""
    delayed = [cause.name for cause in causes.CAUSES if cause.ack_was_delayed]
    stalls = findings(scan, True, ["cause", "ack_delay_ms", "wait_ms"], connection)
    stalls = stalls[np.isin(stalls["cause"], delayed)]
    if not len(stalls):
        return ""
    late_ms, wait_ms = (float(np.nanmedian(stalls[name])) for name in ("ack_delay_ms", "wait_ms"))
    if not round_trip_counts(wait_ms, late_ms):
        return ""
    return f"\nnetwork round trip included: the ACKs were {duration(late_ms)} late"


def _median(values: NDArray[np.float64]) -> str:
    return duration(float(np.median(values)))


def _bars(ax: Axes, waits: dict[str, NDArray[np.float64]], edges: NDArray[np.float64]) -> None:
    floor = np.zeros(len(edges) - 1)
    for cause, values in waits.items():
        counts = np.histogram(values, edges)[0]
        some = counts > 0
        ax.bar(
            edges[:-1][some],
            counts[some],
            np.diff(edges)[some],
            floor[some],
            align="edge",
            color=causes.of(cause).colour,
            hatch=causes.of(cause).hatch,
            edgecolor="white",
            linewidth=0.5,
            label=f"{cause}: {len(values):,}, median {_median(values)}",
            zorder=2,
        )
        floor = floor + counts


def _regions(ax: Axes) -> None:
    """The two best-known delayed-ACK timers."""
    wide = style.size_pt(ax)[0] > LEAST_FOR_NAMES_PT
    for low, high, timer, systems in REGIONS:
        name = f"{timer} ({systems})" if wide else timer
        ax.axvspan(low, high, color=colours.OTHER, alpha=0.15, linewidth=0, zorder=0)
        ax.text(
            (low * high) ** 0.5,
            0.985,
            name,
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=style.TEXT_PT - 1,
            color=colours.FAINT,
            zorder=3,
        )


def _axes(ax: Axes, edges: NDArray[np.float64], late: str) -> None:
    ax.set_xscale("log")
    ax.set_xlim(edges[0], edges[-1])
    ticks = [
        tick for tick in _ticks(np.log10(edges[-1] / edges[0])) if edges[0] <= tick <= edges[-1]
    ]
    ax.set_xticks(ticks, [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_ylim(0, ax.get_ylim()[1] * 1.12)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.set_xlabel(f"wait in ms (grey: common delayed-ACK timers){late}")
    ax.set_ylabel("waits")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    style.legend(ax)


def _ticks(decades: float) -> list[float]:
    """Round numbers, fewer on a longer axis."""
    steps = (1, 2, 4) if decades < 2.2 else (1, 4) if decades < 3 else (1,)
    return [step * 10.0**power for power in range(-3, 7) for step in steps]


def _in_words(waits: dict[str, NDArray[np.float64]]) -> str:
    return "; ".join(
        f"{causes.of(cause).words.format(by='program')}: {len(values):,}, "
        f"median {_median(values)}, longest {duration(float(values.max()))}"
        for cause, values in waits.items()
    )
