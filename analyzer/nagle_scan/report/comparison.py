"""A capture beside its baseline: the words and cells that all reports share, and the terminal's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import compare
from nagle_scan.compare import Comparison, Numbers, Row
from nagle_scan.report.layout import (
    Style,
    count,
    duration,
    endpoint,
    file_names,
    headed,
    table,
    wrapped,
)

if TYPE_CHECKING:
    from nagle_scan.results import Scan

MAX_ROWS = 10
STATES = {
    "none": "no stall",
    "gone": "no stall any more",
    "remain": "stalls remain",
    "worse": "worse",
    "new": "new stalls",
    "unseen": "not in this capture",
}


class Beside(NamedTuple):
    """What a report shows of a comparison. Texts are plain; `names` are of files."""

    names: str
    notes: list[str]
    verdict: compare.Verdict
    head: str
    text: str
    table: list[tuple[str, ...]]
    """A line of heads, then for each server before, prediction and now."""
    more: int
    predictions: list[str]


def beside(baseline: Scan, comparison: Comparison, limit: int = MAX_ROWS) -> Beside:
    """The comparison with `baseline`, at most `limit` servers."""
    rows = comparison.rows[:limit]
    head, text = _verdict(comparison)
    return Beside(
        file_names(baseline.names),
        [f"before: {warning}" for _, warning in baseline.warnings],
        comparison.verdict,
        head,
        text,
        list(_table(rows)) if rows else [],
        len(comparison.rows) - len(rows),
        list(_predictions(rows)),
    )


def render(shown: Beside, style: Style) -> str:
    """For the terminal, without a final newline."""
    lines = [wrapped(f"{style.bold}Before and after{style.end} (before: {shown.names})", "  ")]
    lines += [wrapped(f"note: {note}.", "      ") for note in shown.notes]
    colours = {"clean": style.good, "fixed": style.good, "inconclusive": style.bold}
    colour = colours.get(shown.verdict, style.bad)
    lines += ["", headed(shown.head, colour, shown.text, style)]
    if shown.table:
        lines += ["", *table(shown.table)]
    if shown.more:
        lines.append(f"  ... and {shown.more} more (see -o result.json)")
    lines += ["\n" + wrapped(prediction, "") for prediction in shown.predictions]
    return "\n".join(lines)


def _verdict(comparison: Comparison) -> tuple[str, str]:
    before, after = comparison.before, comparison.after
    was = f"{count(before.stalls, 'stall')}, {duration(before.stalled_ms)} lost"
    now = f"{count(after.stalls, 'stall')}, {duration(after.stalled_ms)} lost"
    head, text = {
        "clean": ("CLEAN", "No stall before, none now."),
        "fixed": ("FIXED", f"No stall is left. Before: {was}."),
        "remain": ("STALLS REMAIN", f"Before: {was}. Now: {now}."),
        "worse": ("WORSE", f"Before: {was}. Now: {now}."),
        "inconclusive": ("CANNOT TELL", "No server that can be compared has data now."),
    }[comparison.verdict]
    unseen = sum(row.state == "unseen" for row in comparison.rows)
    if unseen:
        text += f" Not in this capture, though stalled before: {count(unseen, 'server')}."
    return head, text


def _table(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    yield ("server", "", "stalls", "lost", "exchanges", *compare.PERCENTILES, "")
    for row in rows:
        name = endpoint(row.addr, row.port)
        if row.before is not None:
            yield (name, "before", *_cells(row.before, row.before.latency_ms), "")
            if row.before.stalls and row.before.predicted_ms:
                yield ("", "predicted", *_cells(None, row.before.predicted_ms), "")
            name = ""
        latency_ms = row.after.latency_ms if row.after else ()
        yield (name, "now", *_cells(row.after, latency_ms), STATES[row.state])


def _cells(numbers: Numbers | None, latency_ms: Sequence[float]) -> tuple[str, ...]:
    counts = ("", "", "")
    if numbers is not None:
        counts = (f"{numbers.stalls:,}", duration(numbers.stalled_ms), f"{numbers.exchanges:,}")
    return (*counts, *(map(duration, latency_ms) if latency_ms else [""] * 6))


def _predictions(rows: Sequence[Row]) -> Iterator[str]:
    """Whether the prediction came true."""
    for row in rows:
        if row.prediction is not None:
            predicted_ms, measured_ms = row.prediction
            yield (
                f"Median exchange of {endpoint(row.addr, row.port)} without the stalls: "
                f"predicted {_precise(predicted_ms)}, measured {_precise(measured_ms)}."
            )


def _precise(ms: float) -> str:
    return f"{ms:.1f} ms" if ms >= 0.1 else f"{ms:.3f} ms"
