"""Several captures in one call: results for each, files of them all, and a table."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nagle_scan.api import captures
from nagle_scan.command import table
from nagle_scan.command.gate import (
    EXIT_CANNOT_TELL,
    EXIT_INTERRUPTED,
    EXIT_PASSED,
    EXIT_STALLS,
    EXIT_UNUSABLE,
)
from nagle_scan.command.joined import Joined
from nagle_scan.command.outputs import INDEX, SUMMARY
from nagle_scan.command.table import Row
from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.report import formats
from nagle_scan.report.formats import OF_MANY, TEXT
from nagle_scan.system import files, terminal
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from nagle_scan.api.captures import CaptureSet
    from nagle_scan.command.gate import Gate
    from nagle_scan.command.outputs import Outputs
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

LINE_FORMATS = (TEXT, "json")
"""For several captures, standard output gets the table, or one JSON document per line."""
MOST_NAMED = 5
"""Captures that cannot be read and are named one by one."""
WORST_FIRST = (EXIT_STALLS, EXIT_UNUSABLE, EXIT_CANNOT_TELL)


def check(sets: "Sequence[CaptureSet]", outputs: "Outputs", has_baseline: bool) -> None:
    """Refuses what is for a single capture. Raises `OutputError`, `CaptureError`."""
    merge = " or --merge" if captures.are_one_rotation(sets) else ""
    for path in outputs.paths:
        if formats.suffix(path) not in OF_MANY:
            every = ", ".join(OF_MANY)
            raise OutputError(f"{path}: for one capture only: use -o DIR/, {every}{merge}")
    if outputs.printed not in LINE_FORMATS:
        raise OutputError(f"--format {outputs.printed}: for one capture only: use -o FILE{merge}")
    if has_baseline:
        instead = "use --merge" if merge else "name one"
        raise CaptureError(f"--baseline compares one capture: {instead}")


def scan_each(
    sets: "Sequence[CaptureSet]",
    scan: "Callable[[CaptureSet], Result]",
    outputs: "Outputs",
    chosen: "Options",
    gate: "Gate",
) -> int:
    """Scans one after the other, writes their results, prints the table; the exit status."""
    outputs.make_folder()
    results = _Results(outputs, chosen, gate)
    is_interrupted = False
    for capture in sets:
        try:
            results.add(capture, scan(capture))
        except NagleScanError as error:
            results.add_unusable(capture, str(error))
        except KeyboardInterrupt:
            done = f"{len(results.rows):,} of {count(len(sets), 'capture')}"
            terminal.note(f"interrupted after {done}")
            is_interrupted = True
            break
    is_written = results.write()
    results.print()
    if not is_written:
        return EXIT_UNUSABLE
    return EXIT_INTERRUPTED if is_interrupted else _status(results.rows)


def _status(rows: Sequence[Row]) -> int:
    """The exit status of the worst capture."""
    states = {row.status for row in rows}
    return next((status for status in WORST_FIRST if status in states), EXIT_PASSED)


class _Results:
    """The rows of all captures, and the files that hold them all."""

    def __init__(self, outputs: "Outputs", chosen: "Options", gate: "Gate") -> None:
        self.rows: list[Row] = []
        self._outputs, self._chosen, self._gate = outputs, chosen, gate
        self._joined = [Joined(path) for path in outputs.paths]
        self._wrote: list[str] = []
        self._all_written = True

    def add(self, capture: "CaptureSet", scan: "Result") -> None:
        """A failed write does not lose the verdict."""
        # Without TCP there is nothing to say but its line in the index.
        folder = self._outputs.folder if scan.core.summary().tcp_packets else None
        own = self._outputs._replace(paths=[], folder=folder).of_one_capture(capture.stem)
        if self._outputs.printed == TEXT:
            own = own._replace(quiet=2)
        row = table.row(capture.name, scan, self._gate.status(scan))
        if own.write(scan, self._chosen):
            row = row._replace(page=f"{capture.stem}.html" if folder else "")
        else:
            row = row._replace(status=EXIT_UNUSABLE)
        self.rows.append(row)
        for joined in self._joined:
            joined.add(scan, self._chosen, row.name)

    def add_unusable(self, capture: "CaptureSet", error: str) -> None:
        """A capture that cannot be read costs no other."""
        if self._unusable < MOST_NAMED:
            terminal.note(printable(error))
        name = printable(capture.name)
        reason = printable(error)
        for path in map(printable, capture.paths):
            # With --anonymize the name is a number, because a path may hold an address.
            reason = reason.removeprefix(f"{path}: ").replace(path, name)
        self.rows.append(Row(name, reason=reason))
        for joined in self._joined:
            joined.add_unusable(name, reason)

    @property
    def _unusable(self) -> int:
        return sum(row.verdict == table.UNUSABLE for row in self.rows)

    def write(self) -> bool:
        """Writes the files of all captures; `False` if one cannot be written, and says why."""
        for joined in self._joined:
            self._try(joined.path, joined.write)
        folder = self._outputs.folder
        if folder is not None:
            summary, index = os.path.join(folder, SUMMARY), os.path.join(folder, INDEX)
            self._try(summary, lambda: files.replace(summary, table.content(self.rows)))
            self._try(index, lambda: files.replace(index, table.page(index, self.rows)))
        return self._all_written

    def _try(self, path: str, write: "Callable[[], None]") -> None:
        try:
            write()
        except OutputError as error:
            terminal.note(printable(str(error)))
            self._all_written = False
        else:
            self._wrote.append(f"wrote {printable(path)}")

    def print(self) -> None:
        """The table, and what was written."""
        if (more := self._unusable - MOST_NAMED) > 0:
            terminal.note(f"{count(more, 'more capture')} cannot be read")
        outputs = self._outputs
        wrote = [] if outputs.quiet else self._wrote
        if outputs.printed != TEXT:
            for line in wrote:
                terminal.note(line)
            return
        lines = [table.headline(self.rows)]
        if not outputs.quiet:
            lines += table.lines(self.rows, terminal.style())
            lines += ["", *wrote] if wrote else []
        terminal.say("\n".join(lines))
