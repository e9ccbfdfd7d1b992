"""Several captures in one call: each has its own results, and a table sums them up."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import certainty, files, terminal
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.gate import EXIT_CANNOT_TELL, EXIT_PASSED, EXIT_STALLS, EXIT_UNUSABLE
from nagle_scan.report import held
from nagle_scan.report.formats import TEXT
from nagle_scan.wording import count, duration, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nagle_scan.captures import CaptureSet
    from nagle_scan.gate import Gate
    from nagle_scan.outputs import Outputs
    from nagle_scan.report.formats import Options
    from nagle_scan.scan import Scan
    from nagle_scan.terminal import Style

MOST_ROWS = 100
LINE_FORMATS = (TEXT, "json")
"""Of several captures, standard output holds the table, or one JSON document in each line."""
UNUSABLE = "unusable"
SUMMARY = "summary.csv"


class Row(NamedTuple):
    """A capture in the table."""

    name: str
    verdict: str
    stalls: str = ""
    lost_ms: float = 0.0
    worst: str = ""
    """The server that loses most."""
    status: int = EXIT_UNUSABLE


def check(outputs: Outputs, has_baseline: bool) -> None:
    """Refuses what only one capture can have. Raises `OutputError`, `CaptureError`."""
    if outputs.paths:
        raise OutputError(
            f"{outputs.paths[0]}: several captures need a folder (-o DIR/), or --merge"
        )
    if outputs.printed not in LINE_FORMATS:
        raise OutputError(f"--format {outputs.printed}: several captures need --merge")
    if has_baseline:
        raise CaptureError("--baseline compares one capture: use --merge for a rotated set")


def scan_each(
    sets: Sequence[CaptureSet],
    scan: Callable[[CaptureSet], Scan],
    outputs: Outputs,
    chosen: Options,
    gate: Gate,
) -> int:
    """Scans one after the other, writes their results, prints the table; the exit status."""
    rows: list[Row] = []
    for capture in sets:
        try:
            found = scan(capture)
        except CaptureError as error:
            terminal.note(printable(str(error)))
            rows.append(Row(printable(capture.name), UNUSABLE))
            continue
        outputs.of_one_capture(capture.stem)._replace(quiet=2).write(found, chosen)
        rows.append(_row(capture, found, gate.status(found)))
    if outputs.folder is not None:
        files.replace(os.path.join(outputs.folder, SUMMARY), _csv(rows))
    _print(rows, outputs)
    return _status(rows)


def _status(rows: Sequence[Row]) -> int:
    """Any failure; else any file that is unusable; else 'cannot tell' if no capture can."""
    states = {row.status for row in rows}
    for status in (EXIT_STALLS, EXIT_UNUSABLE):
        if status in states:
            return status
    return EXIT_CANNOT_TELL if states == {EXIT_CANNOT_TELL} else EXIT_PASSED


def _row(capture: CaptureSet, scan: Scan, status: int) -> Row:
    summary = scan.core.summary()
    groups = scan.core.groups() if summary.stalls else []
    return Row(
        printable(capture.name),
        summary.verdict,
        certainty.counts(summary),
        summary.stalled_ms,
        held.server(groups[0].worst) if groups else "",
        status,
    )


def _csv(rows: Sequence[Row]) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(("capture", "verdict", "stalls", "lost_ms", "worst_server"))
    for row in rows:
        writer.writerow((row.name, row.verdict, row.stalls, f"{row.lost_ms:.3f}", row.worst))
    return written.getvalue().encode()


def _print(rows: Sequence[Row], outputs: Outputs) -> None:
    if sys.stdout is None or outputs.printed != TEXT or outputs.quiet > 1:
        return
    lines = [_headline(rows)]
    if not outputs.quiet:
        lines += _table(rows, terminal.style_of(sys.stdout, outputs.colour))
        if outputs.folder is not None:
            summary = printable(os.path.join(outputs.folder, SUMMARY))
            lines += ["", f"wrote {summary} and the reports of each capture"]
    terminal.say("\n".join(lines))


def _headline(rows: Sequence[Row]) -> str:
    verdicts = Counter(row.verdict for row in rows)
    words = (*certainty.VERDICTS, UNUSABLE)
    told = ", ".join(f"{verdicts[word]:,} {word}" for word in words if verdicts[word])
    lost_ms = sum(row.lost_ms for row in rows)
    return f"{count(len(rows), 'capture')}: {told}; {duration(lost_ms)} lost in all"


def _table(rows: Sequence[Row], style: Style) -> Iterator[str]:
    """The captures that lose most come first; those with the same loss stay in their order."""
    heads = ("capture", "verdict", "stalls", "lost", "worst server")
    shown = sorted(rows, key=lambda row: (-row.lost_ms, _rank(row)))[:MOST_ROWS]
    cells = [
        (row.name, row.verdict, row.stalls, duration(row.lost_ms) if row.stalls else "", row.worst)
        for row in shown
    ]
    yield ""
    yield from style.table([heads, *cells])
    if len(rows) > MOST_ROWS:
        yield f"  ... and {len(rows) - MOST_ROWS:,} more (-o DIR/ writes all to {SUMMARY})"


def _rank(row: Row) -> int:
    """What went wrong must not be behind what is well."""
    return (*certainty.VERDICTS[:2], UNUSABLE, "inconclusive", "clean").index(row.verdict)
