"""The table of several captures: on the terminal, as `summary.csv`, and as `index.html`."""

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.command.gate import EXIT_UNUSABLE
from nagle_scan.command.outputs import INDEX
from nagle_scan.words import certainty
from nagle_scan.words.certainty import CONFIDENCES
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nagle_scan.result import Result
    from nagle_scan.system.terminal import Style

MOST_ROWS = 100
UNUSABLE = "unusable"
WORDS = {"stalls": "with stalls"}
NAME_ROOM = 60
"""Characters of a name; a longer one loses its middle."""


class Row(NamedTuple):
    """A capture in the table."""

    name: str
    verdict: str = UNUSABLE
    status: int = EXIT_UNUSABLE
    stalls_by_confidence: tuple[int, ...] = (0, 0, 0)
    """`possible` ones first."""
    stalled_ms_by_confidence: tuple[float, ...] = (0.0, 0.0, 0.0)
    held_by: str = ""
    """The sender that loses most time to stalls."""
    reason: str = ""
    """Why it cannot be judged."""
    page: str = ""
    """Its report, beside `index.html`."""

    @property
    def held_or_reason(self) -> str:
        """The text of a cell: no capture has both."""
        return self.held_by or self.reason


def row(name: str, scan: "Result", status: int) -> Row:
    """The row of a capture that was read."""
    from nagle_scan.report import verdicts

    summary = scan.core.summary()
    return Row(
        printable(name),
        summary.verdict,
        status,
        tuple(summary.stalls_by_confidence),
        tuple(summary.stalled_ms_by_confidence),
        _held_by(scan) if summary.stalls else "",
        verdicts.why_inconclusive(summary) if summary.verdict == "inconclusive" else "",
    )


def _held_by(scan: "Result") -> str:
    """The worst sender, and how many others there are; possible stalls count if all are."""
    from nagle_scan.report import held

    groups = scan.core.groups()
    first, *more = dict.fromkeys(map(held.party, held.that_count(groups)))
    return first + (f" and {len(more):,} more" if more else "")


def content(rows: Sequence[Row]) -> bytes:
    """`summary.csv`."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    heads = [f"{what}_{word}" for word in CONFIDENCES for what in ("stalls", "lost_ms")]
    writer.writerow(("capture", "verdict", *heads, "held_by", "reason"))
    for row in rows:
        pairs = zip(row.stalls_by_confidence[::-1], row.stalled_ms_by_confidence[::-1], strict=True)
        cells = [cell for stalls, lost_ms in pairs for cell in (stalls, f"{lost_ms:.3f}")]
        # A spreadsheet would read such a name as a formula.
        name = os.path.join(".", row.name) if row.name[:1] in "=+-@" else row.name
        writer.writerow((name, row.verdict, *cells, row.held_by, row.reason))
    return written.getvalue().encode()


def page(path: str, rows: Sequence[Row]) -> bytes:
    """`index.html`, with links to the reports. Raises `OutputError` without Jinja2."""
    from nagle_scan.report import formats

    formats.check_installed(path, ("jinja2",))
    from nagle_scan.report import html

    first = ordered(rows)
    shown = {
        "headline": headline(rows),
        "verdict": first[0].verdict if first else "",
        "last_head": last_head(rows),
        "rows": first,
    }
    return html.rendered("index.html", shown)


def headline(rows: Sequence[Row]) -> str:
    """How many captures have which verdict, and what their stalls cost."""
    verdicts = counted(Counter(row.verdict for row in rows))
    total = certainty.total(rows) if rows else Row("")
    stalls = f"; {certainty.in_words(total)}" if any(total.stalls_by_confidence) else ""
    return f"{count(len(rows), 'capture')}: {verdicts}{stalls}"


def counted(verdicts: "Mapping[str, int]") -> str:
    """How many captures have which verdict, or are `UNUSABLE`."""
    words = (*certainty.VERDICTS, UNUSABLE)
    return ", ".join(
        f"{verdicts[word]:,} {WORDS.get(word, word)}" for word in words if verdicts.get(word)
    )


def last_head(rows: Sequence[Row]) -> str:
    """The head of the last column: the holder of data, or why there is none."""
    return "held by, or why not judged" if any(row.reason for row in rows) else "held by"


def ordered(rows: Sequence[Row]) -> list[Row]:
    """The surest stalls first, then those losing the most time; equals keep their order."""
    return sorted(rows, key=_place)


def lines(rows: Sequence[Row], style: "Style") -> "Iterator[str]":
    """The table for a terminal."""
    cells = [
        (_short(row.name), row.verdict, certainty.cell(row), row.held_or_reason)
        for row in ordered(rows)[:MOST_ROWS]
    ]
    yield ""
    yield from style.table([("capture", "verdict", "stalls, time lost", last_head(rows)), *cells])
    if len(rows) > MOST_ROWS:
        yield f"  ... and {len(rows) - MOST_ROWS:,} more (-o DIR/ writes all to {INDEX})"


def _short(name: str) -> str:
    half = NAME_ROOM // 2 - 2
    return name if len(name) <= NAME_ROOM else f"{name[:half]}...{name[-half:]}"


def _place(row: Row) -> tuple[int, float]:
    """Without stalls, problems come before clean captures."""
    if certainty.shares(row):
        return certainty.doubt(row), -certainty.counted_ms(row)
    return len(CONFIDENCES), (UNUSABLE, "inconclusive", "clean").index(row.verdict)
