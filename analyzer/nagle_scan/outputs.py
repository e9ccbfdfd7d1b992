"""Where results go: files, standard output, and the terminal."""

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import files, terminal
from nagle_scan.errors import OutputError
from nagle_scan.progress import Doing, ProgressLine
from nagle_scan.report import formats
from nagle_scan.report.formats import STANDARD_OUTPUT, TEXT
from nagle_scan.result import NO_FRAMES
from nagle_scan.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nagle_scan.background import Task
    from nagle_scan.captures import CaptureSet
    from nagle_scan.report.formats import Options
    from nagle_scan.result import Result


FOLDER_SUFFIXES = (".json", ".md", ".html")
"""What a folder gets of each capture."""
SUMMARY = "summary.csv"
"""What it gets of several."""


class Outputs(NamedTuple):
    """What is asked for."""

    paths: "Sequence[str]"
    """Files; their suffixes tell the formats."""
    folder: str | None = None
    """Gets the reports of each capture."""
    printed: str = TEXT
    """The format of standard output."""
    quiet: int = 0
    """1: the verdict in one line; 2: nothing."""
    colour: str = "auto"

    def check(self, read: "Sequence[str]", sets: "Sequence[CaptureSet]") -> None:
        """Fails before the scan rather than after it. `read`: all that this call reads.

        Raises `OutputError` where a result would destroy a capture, a key or another result, and
        where frames could not be read again.
        """
        taken = {os.path.realpath(path) for path in read}
        for path in self._all_paths(sets):
            if os.path.realpath(path) in taken:
                raise OutputError(f"{path}: would overwrite what this call reads or writes")
            taken.add(os.path.realpath(path))
        again = [path for path in self.paths if formats.of(path).reads_again]
        if "-" in read and again:
            raise OutputError(f"{again[0]}: {formats.CANNOT_READ_AGAIN}")

    def _all_paths(self, sets: "Sequence[CaptureSet]") -> "Iterator[str]":
        yield from self.paths
        if self.folder is not None:
            yield os.path.join(self.folder, SUMMARY)
            for capture in sets:
                yield from self._in_folder(self.folder, capture.stem)

    def _in_folder(self, folder: str, stem: str) -> list[str]:
        return [os.path.join(folder, stem + suffix) for suffix in FOLDER_SUFFIXES]

    def of_one_capture(self, stem: str) -> "Outputs":
        """The folder's files of one capture among the others."""
        if self.folder is None:
            return self
        return self._replace(paths=[*self.paths, *self._in_folder(self.folder, stem)])

    def make_folder(self) -> None:
        """Raises `OutputError`."""
        if self.folder is None:
            return
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            reason = files.reason_of(error)
            raise OutputError(f"{self.folder}: cannot write: {reason}") from None

    def refuse_frames_of_text(self, result: "Result") -> None:
        """Fails before anything is written. Raises `OutputError`."""
        for path in self.paths:
            if result.core.summary().is_text and formats.of(path).reads_again:
                raise OutputError(f"{path}: {NO_FRAMES}")

    def say_what_changes_nothing(self, chosen: "Options") -> None:
        """No format ignores an option silently."""
        for option in formats.given(chosen):
            same = [path for path in self.paths if option not in formats.of(path).takes]
            if same:
                names = printable(", ".join(same))
                terminal.note(f"note: --{option.replace('_', '-')} has no effect on {names}")

    def write(self, result: "Result", chosen: "Options") -> None:
        """Writes all files, then prints, so that the report's reader finds the files."""
        self.make_folder()
        by_engine = [path for path in self.paths if formats.of(path).by_engine]
        doing = Doing()
        result.doing = doing.begin
        with ProgressLine(doing.line, sys.stderr):
            for path in self.paths:
                if path not in by_engine:
                    doing.begin(f"writing {printable(path)}")
                    formats.write(result, path, formats.of(path), chosen)

        writing = _begin(result, by_engine, chosen) if by_engine else None
        try:
            report = self._report(result, chosen)
        finally:
            if writing is not None:
                writing.join()
        self._print(result, report, chosen)

    def _report(self, result: "Result", chosen: "Options") -> str | None:
        """The report for the terminal, prepared while the engine writes."""
        if sys.stdout is None or self.quiet > 1 or self.printed != TEXT:
            return None
        from nagle_scan.report import text

        if self.quiet:
            return text.in_one_line(result, chosen)
        return text.render(result, terminal.style_of(sys.stdout, self.colour), chosen)

    def _print(self, result: "Result", report: str | None, chosen: "Options") -> None:
        wrote = [] if self.quiet else [f"wrote {printable(path)}" for path in self.paths]
        if self.printed != TEXT:
            if sys.stdout is not None and self.quiet < 2:
                formats.write(result, STANDARD_OUTPUT, formats.named(self.printed), chosen)
            for line in wrote:
                terminal.note(line)
        elif report is not None:
            terminal.say("\n".join([report, "", *wrote] if wrote else [report]))


def _begin(result: "Result", paths: "Sequence[str]", chosen: "Options") -> "Task":
    """Starts to write the results in `paths`."""
    from nagle_scan.background import Task

    def write() -> None:
        for path in paths:
            formats.write(result, path, formats.of(path), chosen)

    return Task(write)
