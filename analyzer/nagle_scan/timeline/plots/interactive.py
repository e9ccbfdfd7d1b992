"""A connection to zoom into, with plotly: both streams, their ACKs and all waits."""

from __future__ import annotations

import html
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nagle_scan.result import flags_text
from nagle_scan.timeline.arrows import peer
from nagle_scan.timeline.plots.sequence import sequence
from nagle_scan.timeline.subject import (
    FIN,
    NOT_READ_AGAIN,
    NS_PER_MS,
    RST,
    SYN,
    findings,
    of,
    rel_acks,
)
from nagle_scan.words import causes, colours
from nagle_scan.words.wording import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from nagle_scan.result import Result
    from nagle_scan.timeline.subject import OneConnection, Subject

    Numbers = NDArray[np.float64]
    Trace = dict[str, Any]

MOST_SEGMENTS = 200_000
"""A browser draws so many smoothly; of more, those around the clearest stall are shown."""
MOST_WAITS = 2_000
"""Each is an element of the page; of more, stalls come first, then what is longer."""
MOST_WITHOUT_WEBGL = 5_000
"""Segments; not every browser has WebGL, which draws more of them."""
GAP = 0.05
"""Between the two streams, as a share of the height."""
HEIGHT_PX = 720
"""So that the legend of each stream fits beside it."""
NO_BUTTONS = ["sendChartToCloud", "select2d", "lasso2d"]
"""The first would upload the addresses, the others have nothing to select for."""
NO_PLOTLY = "plotly is not installed (pip install 'nagle-scan[interactive]'): a picture instead"
SIDES = ("client", "server")
ON_HOVER = (
    "frame %{customdata[0]}<br>%{x:.3f} ms<br>len %{customdata[1]}, "
    "rel_seq %{customdata[2]}<br>%{text}<extra>%{fullData.name}</extra>"
)
ON_HOVER_OF_ACK = ON_HOVER.replace("<br>%{text}", "<br>acknowledges %{y:.0f} bytes<br>%{text}")


def interactive(scan: Result | OneConnection, connection: int | None = None) -> Figure | Axes:
    """A connection to zoom into: each segment, ACK and wait tells its frames under the pointer.

    Gives a plotly `Figure`, which a notebook shows and `write_html` saves: above what the client
    sent, below what the server sent, as bytes against the ms since the first segment. A click in
    the legend hides what it names. Of more than 200,000 segments, those around the clearest stall
    are shown; of more than 2,000 waits, stalls first, then the longest: the title says so. Without
    plotly, `sequence` with a warning. Which connection, and what is raised: as for `ladder`.
    """
    subject = of(scan, connection)
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        warnings.warn(NO_PLOTLY, stacklevel=2)
        return sequence(subject.scan, subject.row.connection)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=GAP)
    _fill(figure, subject)
    _survive(figure, subject)
    return figure


def _survive(figure: Figure, subject: Subject) -> None:
    """Adds a picture to what a notebook keeps: nbconvert and GitHub show nothing of plotly."""
    shown = figure._repr_mimebundle_

    def with_picture(*args: object, **options: object) -> dict[str, Any]:
        picture = io.BytesIO()
        drawn = sequence(subject.scan, subject.row.connection).get_figure(root=True)
        assert drawn is not None
        drawn.savefig(picture, format="png")
        return {**shown(*args, **options), "image/png": picture.getvalue()}

    # The first would be shown in place of the bundle, the second loads its script from a CDN.
    figure._ipython_display_ = figure._repr_html_ = None
    figure._repr_mimebundle_ = with_picture


def _fill(figure: Figure, subject: Subject) -> None:
    segments = _around_the_clearest(subject)
    waits, known = _waits(subject, segments)
    for row, side in enumerate(SIDES, start=1):
        traces = [] if segments is None else list(_stream(subject, segments, side))
        low, high = _range(traces)
        place = {"row": row, "col": 1, "legend": f"legend{row}"}
        for bar in _bars(subject, waits, side, low, high):
            figure.add_bar(**bar, **place)
        for trace in traces:
            if segments is None or len(segments) <= MOST_WITHOUT_WEBGL:
                figure.add_scatter(**trace, **place)
            else:
                figure.add_scattergl(**trace, **place)
        figure.update_yaxes(title_text=f"bytes of the {side}'s stream", row=row, col=1)
        figure.update_yaxes(range=[low, high], separatethousands=True, row=row, col=1)
    figure.update_xaxes(title_text="time since the first segment in ms", row=2, col=1)
    figure.update_layout(
        title={"text": _title(subject), "subtitle": {"text": _notes(subject, segments, known)}},
        hovermode="closest",
        template="plotly_white",
        barmode="overlay",
        height=HEIGHT_PX,
        modebar={"remove": NO_BUTTONS},
        legend1={"y": 1.0, "yanchor": "top"},
        legend2={"y": (1 - GAP) / 2, "yanchor": "top"},
    )


def _around_the_clearest(subject: Subject) -> pd.DataFrame | None:
    """The segments, or as many of them around the clearest stall."""
    segments = subject.segments
    if segments is None or len(segments) <= MOST_SEGMENTS:
        return segments
    frame = subject.clearest.frame_to if subject.clearest else 0
    middle = int(np.searchsorted(segments["frame"].to_numpy(), frame))
    begin = min(max(middle - MOST_SEGMENTS // 2, 0), len(segments) - MOST_SEGMENTS)
    return segments.iloc[begin : begin + MOST_SEGMENTS]


def _waits(subject: Subject, segments: pd.DataFrame | None) -> tuple[pd.DataFrame, int]:
    """Stalls and other waits at the time of the segments, and how many there are of them."""
    common = ["cause", "sender", "time_ns", "wait_ms"]
    frames = ["frame_unacked", "frame_ack", "frame_held"]
    stalls = findings(subject.scan, True, [*common, *frames, "confidence"], subject.row.connection)
    others = findings(
        subject.scan, False, [*common, "frame_from", "frame_to"], subject.row.connection
    )
    text = {"cause": str, "sender": str}
    stalls, others = stalls.astype(text), others.astype(text)
    stalls["frames"] = _joined(stalls, frames)
    others["frames"] = _joined(others, ["frame_from", "frame_to"])
    stalls["sure"] = "<br>" + stalls["confidence"].astype(str)
    others["sure"] = ""
    columns = [*common, "frames", "sure"]
    parts = [
        part[columns].sort_values("wait_ms", ascending=False, kind="stable")
        for part in (stalls, others)
    ]
    waits = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    if segments is not None and len(segments) < subject.row.segments:
        begin_ns, end_ns = segments["time_ns"].min(), segments["time_ns"].max()
        begins_ns = waits["time_ns"] - waits["wait_ms"] * NS_PER_MS
        waits = waits[(waits["time_ns"] >= begin_ns) & (begins_ns <= end_ns)]
    return waits.head(MOST_WAITS), len(waits)


def _joined(waits: pd.DataFrame, columns: list[str]) -> list[str]:
    return [", ".join(map(str, frames)) for frames in waits[columns].itertuples(index=False)]


def _stream(subject: Subject, segments: pd.DataFrame, side: str) -> Iterator[Trace]:
    """What a side sent, above what its peer acknowledged and allowed."""
    yield from _staircases(subject, segments, side)
    speaks = (segments["len"] > 0) | ((segments["flags"] & (SYN | FIN | RST)) != 0)
    sent = segments[(segments["sender"] == side) & speaks]
    held = sent["frame"].isin(subject.stalls["frame_held"])
    for rows, name, colour, size in (
        (sent[~held], f"sent by the {side}", colours.INK, 4),
        (sent[held], f"held by the {side}, then sent", colours.HELD, 8),
    ):
        if len(rows):
            yield from _strokes(subject, rows, name, colour, size)


def _strokes(
    subject: Subject, rows: pd.DataFrame, name: str, colour: str, size: int
) -> Iterator[Trace]:
    """Upright from the first byte to the last, which has a mark that is found by the pointer."""
    at_ms = subject.since_begin_ms(rows["time_ns"])
    low = rows["rel_seq"].to_numpy(dtype=float)
    high = low + rows["len"].to_numpy(dtype=float)
    gaps = np.full(len(rows), np.nan)
    yield {
        "x": np.column_stack([at_ms, at_ms, gaps]).ravel(),
        "y": np.column_stack([low, high, gaps]).ravel(),
        "mode": "lines",
        "line": {"color": colour, "width": size / 2},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": name,
        "name": name,
    }
    yield {
        "x": at_ms,
        "y": high,
        "mode": "markers",
        "marker": {"color": colour, "size": size},
        "hovertemplate": ON_HOVER,
        "legendgroup": name,
        "name": name,
        **_told(rows),
    }


def _staircases(subject: Subject, segments: pd.DataFrame, side: str) -> Iterator[Trace]:
    receiver = peer(side)
    acks = rel_acks(segments, receiver)
    rows = segments[segments["sender"] == receiver][acks >= 0]
    if rows.empty:
        return
    acked = np.maximum.accumulate(acks[acks >= 0].astype(float))
    at_ms = subject.since_begin_ms(rows["time_ns"])
    yield {
        "x": at_ms,
        "y": acked,
        "mode": "lines+markers",
        "line": {"color": colours.CLIENT, "width": 1.2, "shape": "hv"},
        "marker": {"color": colours.CLIENT, "size": 4, "symbol": "circle-open"},
        "hovertemplate": ON_HOVER_OF_ACK,
        "name": f"acknowledged by the {receiver}",
        **_told(rows),
    }
    allowed = acked + rows["window_bytes"].to_numpy(dtype=float)
    if np.isfinite(allowed).any():
        yield {
            "x": at_ms,
            "y": allowed,
            "mode": "lines",
            "line": {"color": colours.OTHER, "width": 1.2, "shape": "hv", "dash": "dot"},
            "hoverinfo": "skip",
            # It is far above the rest.
            "visible": "legendonly",
            "name": f"allowed by the {receiver}'s window",
        }


def _told(rows: pd.DataFrame) -> Trace:
    """What the pointer shows of each segment."""
    flags = flags_text(rows["flags"]).astype(str).to_numpy()
    repeats = rows["repeat"].astype(str).to_numpy()
    words = np.where(repeats == "no", flags, flags + "<br>" + repeats)
    return {"text": words, "customdata": rows[["frame", "len", "rel_seq"]].to_numpy()}


def _range(traces: list[Trace]) -> tuple[float, float]:
    """The bytes in the picture, with a margin."""
    places = [trace["y"] for trace in traces if "visible" not in trace]
    known = np.concatenate(places) if places else np.array([0.0, 1.0])
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    margin = max(1.0, (high - low) * 0.06)
    return low - margin, high + margin


def _bars(
    subject: Subject, waits: pd.DataFrame, side: str, low: float, high: float
) -> Iterator[Trace]:
    """One for each cause for which a side kept the other waiting, as high as its stream."""
    for cause in causes.stalls_first():
        rows = waits[(waits["cause"] == cause.name) & (waits["sender"] == side)]
        if rows.empty:
            continue
        lengths = rows["wait_ms"].to_numpy(dtype=float)
        words = cause.words.format(by=side)
        yield {
            "orientation": "h",
            "base": subject.since_begin_ms(rows["time_ns"]) - lengths,
            "x": lengths,
            "y": np.full(len(rows), (low + high) / 2),
            "width": high - low,
            "marker": {
                "color": cause.colour,
                "pattern": {"shape": cause.hatch[:1].replace("o", "."), "solidity": 0.15},
                "line": {"width": 0},
            },
            "opacity": 0.3,
            "name": words,
            "hovertext": [
                f"{cause.name}: {words}<br>wait_ms {wait_ms:.3f}<br>frames {frames}{sure}"
                for wait_ms, frames, sure in zip(lengths, rows["frames"], rows["sure"], strict=True)
            ],
            "hoverinfo": "text",
        }


def _title(subject: Subject) -> str:
    ends = f"{subject.row.client} to {subject.row.server}"
    return f"tcp.stream {subject.row.connection}: {_plain(ends)}"


def _notes(subject: Subject, segments: pd.DataFrame | None, waits: int) -> str:
    """What is not shown, and why."""
    notes, whole = [], subject.row.segments
    if segments is None:
        notes.append(NOT_READ_AGAIN)
    elif len(segments) < whole:
        place = ", around the clearest stall" if subject.clearest else ""
        notes.append(f"{len(segments):,} of {whole:,} segments{place}")
    if waits > MOST_WAITS:
        notes.append(f"{MOST_WAITS:,} of {waits:,} waits, stalls first, then the longest")
    return "; ".join(notes)


def _plain(text: str) -> str:
    """Text as it is: plotly knows some HTML, and formulas between dollar signs."""
    return html.escape(printable(text)).replace("$", "&#36;")
