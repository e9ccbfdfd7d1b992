"""Several captures in one call: results for each, and a table of them all."""

import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.command.gate import (
    EXIT_CANNOT_TELL,
    EXIT_INTERRUPTED,
    EXIT_PASSED,
    EXIT_STALLS,
    EXIT_UNUSABLE,
)
from nagle_scan.command.outputs import SUMMARY
from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.report import held
from nagle_scan.report.formats import TEXT
from nagle_scan.system import files, terminal
from nagle_scan.words import certainty
from nagle_scan.words.certainty import CONFIDENCES
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nagle_scan.api.captures import CaptureSet
    from nagle_scan.api.scan import Scan
    from nagle_scan.command.gate import Gate
    from nagle_scan.command.outputs import Outputs
    from nagle_scan.report.options import Options
    from nagle_scan.system.terminal import Style

MOST_ROWS = 100
LINE_FORMATS = (TEXT, "json")
"""For several captures, standard output gets the table, or one JSON document per line."""
UNUSABLE = "unusable"
WORDS = {"stalls": "with stalls"}
NAME_ROOM = 60
"""Longer names lose their middle."""


class Row(NamedTuple):
    """A capture in the table."""

    name: str
    verdict: str = UNUSABLE
    status: int = EXIT_UNUSABLE
    stalls_by_confidence: tuple[int, ...] = (0, 0, 0)
    """`possible` ones first."""
    stalled_ms_by_confidence: tuple[float, ...] = (0.0, 0.0, 0.0)
    worst: str = ""
    """The server losing the most time."""


def check(outputs: "Outputs", has_baseline: bool) -> None:
    """Refuses options for a single capture. Raises `OutputError`, `CaptureError`."""
    if outputs.paths:
        raise OutputError(
            f"{outputs.paths[0]}: several captures need a folder (-o DIR/), or --merge"
        )
    if outputs.printed not in LINE_FORMATS:
        raise OutputError(f"--format {outputs.printed}: several captures need --merge")
    if has_baseline:
        raise CaptureError("--baseline compares one capture: use --merge for a rotated set")


def scan_each(
    sets: "Sequence[CaptureSet]",
    scan: "Callable[[CaptureSet], Scan]",
    outputs: "Outputs",
    chosen: "Options",
    gate: "Gate",
) -> int:
    """Scans one after the other, writes their results, prints the table; the exit status."""
    outputs.make_folder()
    rows: list[Row] = []
    is_interrupted = False
    for capture in sets:
        try:
            rows.append(_row(capture, scan(capture), outputs, chosen, gate))
        except NagleScanError as error:
            terminal.note(printable(str(error)))
            rows.append(Row(printable(capture.name)))
        except KeyboardInterrupt:
            terminal.note(f"interrupted after {len(rows):,} of {count(len(sets), 'capture')}")
            is_interrupted = True
            break
    is_written = _write_summary(rows, outputs)
    _print(rows, outputs if is_written else outputs._replace(folder=None))
    if not is_written:
        return EXIT_UNUSABLE
    return EXIT_INTERRUPTED if is_interrupted else _status(rows)


def _write_summary(rows: Sequence[Row], outputs: "Outputs") -> bool:
    if outputs.folder is None:
        return True
    try:
        files.replace(os.path.join(outputs.folder, SUMMARY), _csv(rows))
    except OutputError as error:
        terminal.note(printable(str(error)))
        return False
    return True


def _row(
    capture: "CaptureSet", scan: "Scan", outputs: "Outputs", chosen: "Options", gate: "Gate"
) -> Row:
    """The row, once results are written. A failed write does not lose the verdict."""
    summary = scan.core.summary()
    groups = scan.core.groups() if summary.stalls else []
    status = gate.status(scan)
    quietly = outputs.of_one_capture(capture.stem)._replace(quiet=int(outputs.printed == TEXT) * 2)
    if not quietly.write(scan, chosen):
        status = EXIT_UNUSABLE
    return Row(
        printable(capture.name),
        summary.verdict,
        status,
        tuple(summary.stalls_by_confidence),
        tuple(summary.stalled_ms_by_confidence),
        held.server(groups[0].worst) if groups else "",
    )


def _status(rows: Sequence[Row]) -> int:
    """Any failure; else any unusable file; else inconclusive if all captures are."""
    states = {row.status for row in rows}
    for status in (EXIT_STALLS, EXIT_UNUSABLE):
        if status in states:
            return status
    return EXIT_CANNOT_TELL if states == {EXIT_CANNOT_TELL} else EXIT_PASSED


def _csv(rows: Sequence[Row]) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    heads = [f"{what}_{word}" for word in CONFIDENCES for what in ("stalls", "lost_ms")]
    writer.writerow(("capture", "verdict", *heads, "worst_server"))
    for row in rows:
        pairs = zip(row.stalls_by_confidence[::-1], row.stalled_ms_by_confidence[::-1], strict=True)
        cells = [cell for stalls, lost_ms in pairs for cell in (stalls, f"{lost_ms:.3f}")]
        # A spreadsheet would read such a name as a formula.
        name = os.path.join(".", row.name) if row.name[:1] in "=+-@" else row.name
        writer.writerow((name, row.verdict, *cells, row.worst))
    return written.getvalue().encode()


def _print(rows: Sequence[Row], outputs: "Outputs") -> None:
    wrote = ""
    if outputs.folder is not None and not outputs.quiet:
        wrote = (
            f"wrote {printable(os.path.join(outputs.folder, SUMMARY))} and a report of each capture"
        )
    if outputs.printed != TEXT:
        if wrote:
            terminal.note(wrote)
        return
    if sys.stdout is None or outputs.quiet > 1:
        return
    lines = [_headline(rows)]
    if not outputs.quiet:
        lines += _table(rows, terminal.style_of(sys.stdout, outputs.colour))
        lines += ["", wrote] if wrote else []
    terminal.say("\n".join(lines))


def _headline(rows: Sequence[Row]) -> str:
    told = counted(Counter(row.verdict for row in rows))
    total = certainty.total(rows) if rows else Row("")
    stalls = f"; {certainty.told(total)}" if any(total.stalls_by_confidence) else ""
    return f"{count(len(rows), 'capture')}: {told}{stalls}"


def counted(verdicts: "Mapping[str, int]") -> str:
    """How many captures have which verdict, or are `UNUSABLE`."""
    words = (*certainty.VERDICTS, UNUSABLE)
    return ", ".join(
        f"{verdicts[word]:,} {WORDS.get(word, word)}" for word in words if verdicts.get(word)
    )


def _table(rows: Sequence[Row], style: "Style") -> "Iterator[str]":
    """The captures losing the most time first; equals keep their order."""
    heads = ("capture", "verdict", "stalls", "lost", "worst server")
    shown = sorted(rows, key=lambda row: (-sum(row.stalled_ms_by_confidence), _rank(row)))[
        :MOST_ROWS
    ]
    cells = [
        (_short(row.name), row.verdict, certainty.counts(row), certainty.lost(row), row.worst)
        for row in shown
    ]
    yield ""
    yield from style.table([heads, *cells])
    if len(rows) > MOST_ROWS:
        yield f"  ... and {len(rows) - MOST_ROWS:,} more (-o DIR/ writes all to {SUMMARY})"


def _short(name: str) -> str:
    half = NAME_ROOM // 2 - 2
    return name if len(name) <= NAME_ROOM else f"{name[:half]}...{name[-half:]}"


def _rank(row: Row) -> int:
    """Problems come before clean captures."""
    return (*certainty.VERDICTS[:2], UNUSABLE, "inconclusive", "clean").index(row.verdict)
