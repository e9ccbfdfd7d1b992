"""The histogram of waits: how long, how often, and for what reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from nagle_scan.timeline import columns, graph
from nagle_scan.timeline.graph import Axis, Graph
from nagle_scan.timeline.shapes import Drawing, Path, Text
from nagle_scan.timeline.subject import findings
from nagle_scan.words import causes, colours
from nagle_scan.words.wording import duration, round_trip_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan.result import Result

HEIGHT_PT = 216.0
BINS_PER_DECADE = 16
LEAST_FOR_NAMES_PT = 340.0
"""Width from which the regions have the names of systems, too."""
REGIONS = ((36.0, 48.0, "40 ms", "Linux"), (180.0, 225.0, "200 ms", "Windows 7"))
"""Where the two best-known delayed-ACK timers lie."""


def drawing(scan: Result, connection: int | None, *, width_pt: float) -> Drawing:
    """The picture on paper. Raises `KeyError`, `TypeError`."""
    return graph.drawing(planned(scan, connection, width_pt), width_pt)


def planned(scan: Result, connection: int | None, width_pt: float) -> Graph:
    """The waits of a connection, or of the whole scan, stalls against other causes.

    Raises `KeyError`, `TypeError`.
    """
    if connection is not None:
        connection = scan.row_of(connection).connection
    waits = _by_cause(scan, connection)
    count = sum(len(values) for values in waits.values())
    where = "all connections" if connection is None else f"tcp.stream {connection}"
    title = f"How long the waits were ({where})"
    if not count:
        why = f"No wait of {scan.options.min_wait_ms:g} ms or more beyond the round trip"
        return graph.nothing(title, f"No wait to show, {where}", why)
    edges = _edges(np.concatenate(list(waits.values())))
    bars, most = _bars(waits, edges)
    low, high, top = float(edges[0]), float(edges[-1]), most * 1.18
    name = f"wait in ms (grey: common delayed-ACK timers){_late(scan, connection)}"
    return Graph(
        title,
        f"Histogram of {count:,} waits, {where}",
        _in_words(waits),
        HEIGHT_PT,
        Axis(low, high, _ticks(low, high), name, is_log=True),
        Axis(0, top, graph.whole_ticks(0, top, 6), "waits"),
        [*_regions(top, width_pt), *bars],
    )


def _by_cause(scan: Result, connection: int | None) -> dict[str, NDArray[np.float64]]:
    """Durations of waits by cause, stalls first, since they are at the bottom of the stack."""
    found: dict[str, NDArray[np.float64]] = {}
    stalls = findings(scan, True, ["cause", "wait_ms", "confidence"], connection)
    # Possible ones count only where no other is surer.
    if (stalls["confidence"] != "possible").any():
        stalls = stalls[stalls["confidence"] != "possible"]
    tables = {True: stalls, False: findings(scan, False, ["cause", "wait_ms"], connection)}
    for cause in sorted(causes.CAUSES, key=lambda cause: not cause.is_stall):
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


def _bars(
    waits: dict[str, NDArray[np.float64]], edges: NDArray[np.float64]
) -> tuple[list[Path], int]:
    """A cause on top of the other, and how high the highest are."""
    floor = np.zeros(len(edges) - 1, dtype=int)
    bars = []
    for name, values in waits.items():
        cause, counts = causes.of(name), np.histogram(values, edges)[0]
        boxes = [
            columns.box(
                float(edges[at]), float(edges[at + 1]), int(floor[at]), int(floor[at] + counts[at])
            )
            for at in counts.nonzero()[0]
        ]
        said = f"{name}: {len(values):,}, median {_median(values)}"
        bars.append(Path(boxes, cause.colour, "white", 0.5, hatch=cause.hatch, name=said))
        floor += counts
    return bars, int(floor.max())


def _regions(top: float, width_pt: float) -> Iterator[Path | Text]:
    """The two best-known delayed-ACK timers."""
    for low, high, timer, systems in REGIONS:
        name = f"{timer} ({systems})" if width_pt > LEAST_FOR_NAMES_PT else timer
        yield Path([columns.box(low, high, 0, top)], colours.OTHER, opacity=0.15)
        yield Text((low * high) ** 0.5, top * 0.93, name, anchor="middle", colour=colours.FAINT)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers, fewer on a longer axis."""
    decades = np.log10(high / low)
    steps = (1, 2, 4) if decades < 2.2 else (1, 4) if decades < 3 else (1,)
    every = (step * 10.0**power for power in range(-3, 7) for step in steps)
    return [(at, f"{at:,.0f}" if at >= 1 else f"{at:g}") for at in every if low <= at <= high]


def _in_words(waits: dict[str, NDArray[np.float64]]) -> str:
    return "; ".join(
        f"{causes.of(cause).words.format(by='program')}: {len(values):,}, "
        f"median {_median(values)}, longest {duration(float(values.max()))}"
        for cause, values in waits.items()
    )
