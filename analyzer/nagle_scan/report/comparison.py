"""The part of the terminal report that sets a capture beside its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nagle_scan import compare
from nagle_scan.compare import Comparison, Numbers, Row
from nagle_scan.report.layout import (
    Style,
    count,
    duration,
    endpoint,
    headed,
    printable,
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


def render(baseline: Scan, comparison: Comparison, style: Style) -> str:
    """The comparison with `baseline`, without a final newline."""
    names = printable(", ".join(baseline.paths))
    lines = [wrapped(f"{style.bold}Before and after{style.end} (before: {names})", "  ")]
    lines += [wrapped(f"note: before: {warning}.", "      ") for _, warning in baseline.warnings]
    lines.append("")
    lines.append(_verdict(comparison, style))
    rows = comparison.rows[:MAX_ROWS]
    if rows:
        lines += ["", *table(list(_table(rows)))]
    if len(comparison.rows) > MAX_ROWS:
        lines.append(f"  ... and {len(comparison.rows) - MAX_ROWS} more (see -o result.json)")
    lines += _predictions(rows)
    return "\n".join(lines)


def _verdict(comparison: Comparison, style: Style) -> str:
    before, after = comparison.before, comparison.after
    was = f"{count(before.stalls, 'stall')}, {duration(before.stalled_ms)} lost"
    now = f"{count(after.stalls, 'stall')}, {duration(after.stalled_ms)} lost"
    head, colour, text = {
        "clean": ("CLEAN", style.good, "No stall before, none now."),
        "fixed": ("FIXED", style.good, f"No stall is left. Before: {was}."),
        "remain": ("STALLS REMAIN", style.bad, f"Before: {was}. Now: {now}."),
        "worse": ("WORSE", style.bad, f"Before: {was}. Now: {now}."),
        "inconclusive": ("CANNOT TELL", style.bold, "No server that can be compared has data now."),
    }[comparison.verdict]
    unseen = sum(row.state == "unseen" for row in comparison.rows)
    if unseen:
        text += f" Not in this capture, though stalled before: {count(unseen, 'server')}."
    return headed(head, colour, text, style)


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
            yield "\n" + wrapped(
                f"Median exchange of {endpoint(row.addr, row.port)} without the stalls: "
                f"predicted {_precise(predicted_ms)}, measured {_precise(measured_ms)}.",
                "",
            )


def _precise(ms: float) -> str:
    return f"{ms:.1f} ms" if ms >= 0.1 else f"{ms:.3f} ms"
