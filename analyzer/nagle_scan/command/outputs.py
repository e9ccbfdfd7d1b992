"""Where results go: files, standard output, and the terminal."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.errors import NagleScanError, OutputError
from nagle_scan.report import formats
from nagle_scan.report.formats import STANDARD_OUTPUT, TEXT
from nagle_scan.system import files, terminal
from nagle_scan.system.progress import Doing, ProgressLine
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from nagle_scan.api.captures import CaptureSet
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result


FOLDER_SUFFIXES = (".json", ".md", ".html")
"""The reports that a folder gets of each capture."""
SUMMARY, INDEX = "summary.csv", "index.html"
"""The files that a folder gets for several captures together."""
WAITS = ("waits.csv", "waits.parquet")
"""Files of waits, which a very large capture has more of than are listed."""


class Outputs(NamedTuple):
    """The files and folders that were asked for."""

    paths: Sequence[str]
    """Files; their suffixes tell the formats."""
    folder: str | None = None
    """The folder for the reports of each capture."""
    printed: str = TEXT
    """The format of standard output."""
    quiet: int = 0
    """1: the verdict in one line; 2: nothing, for one capture of several."""

    def check(self, read: Sequence[str], sets: "Sequence[CaptureSet]") -> None:
        """Fails before the scan rather than after it. `read`: all that this call reads.

        Raises `OutputError` where a result would destroy a capture, a key or another result, where
        its folder is missing, and where frames could not be read again.
        """
        taken = {os.path.realpath(path) for path in read}
        for path in self._all_paths(sets):
            if os.path.realpath(path) in taken:
                raise OutputError(f"{path}: would overwrite what this call reads or writes")
            taken.add(os.path.realpath(path))
            if path not in self.paths:
                files.check_ours(path)
            elif not os.path.isdir(os.path.dirname(os.path.realpath(path))):
                raise OutputError(f"{path}: cannot write: no such file or directory")
        again = [path for path in self.paths if formats.of(path).reads_again]
        captures = [path for capture in sets for path in capture.paths]
        if again and ("-" in read or not all(map(os.path.isfile, captures))):
            raise OutputError(f"{again[0]}: {formats.CANNOT_READ_AGAIN}")

    def _all_paths(self, sets: "Sequence[CaptureSet]") -> Iterator[str]:
        yield from self.paths
        if self.folder is not None:
            every = (SUMMARY, INDEX) if len(sets) > 1 else ()
            yield from (os.path.join(self.folder, name) for name in every)
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
        if self.folder is not None:
            files.make_folder(self.folder)

    def say_what_changes_nothing(self, chosen: "Options") -> None:
        """No format ignores an option silently."""
        for option in chosen.given():
            same = [path for path in self.paths if option not in formats.of(path).takes]
            if same:
                names = printable(", ".join(same))
                terminal.note(f"note: --{option.replace('_', '-')} has no effect on {names}")

    def write(self, result: "Result", chosen: "Options") -> bool:
        """Writes all files, then prints, so that the report's reader finds the files.

        `False` if a file could not be written: standard error says why, and the others are there.
        """
        written: list[str] = []
        failed: list[str] = []
        bug: BaseException | None = None
        doing = Doing()
        result.doing = doing.begin
        with ProgressLine(doing.line, sys.stderr):
            for path in self.paths:
                doing.begin(f"writing {printable(path)}")
                try:
                    formats.write(result, path, formats.of(path), chosen)
                    written.append(path)
                except NagleScanError as error:
                    failed.append(str(error))
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as error:  # A panic in the engine is not an `Exception`.
                    bug = bug or error
        self._print(result, chosen, written)
        for path in written:
            counted = result.core.summary().waits_not_listed
            if counted and path.endswith(WAITS):
                terminal.note(f"{printable(path)}: {count(counted, 'wait')} counted but not listed")
        for reason in failed:
            terminal.note(printable(reason))
        if bug is not None:
            raise bug
        return not failed

    def _print(self, result: "Result", chosen: "Options", written: Sequence[str]) -> None:
        wrote = [] if self.quiet else [f"wrote {printable(path)}" for path in written]
        if self.printed != TEXT:
            if sys.stdout is not None:
                printed = formats.of(f"result.{self.printed}")
                formats.write(result, STANDARD_OUTPUT, printed, chosen)
            for line in wrote:
                terminal.note(line)
        elif self.quiet < 2:
            from nagle_scan.report import text

            if self.quiet:
                terminal.say(text.in_one_line(result, chosen))
                return
            report = text.render(result, terminal.style(), chosen)
            terminal.say("\n".join([report, "", *wrote] if wrote else [report]))
