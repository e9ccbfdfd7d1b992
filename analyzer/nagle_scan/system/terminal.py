"""The terminal: colours, wrapped lines, aligned tables, and output that may have been closed."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TextIO

from nagle_scan.errors import OutputError

WIDTH = 100
"""Characters of a line where no terminal tells."""
NARROWEST, WIDEST = 80, 160
"""Limits on that: tables need the one, and nobody reads lines beyond the other."""
NARROWEST_CELL = 18
"""Characters that a column keeps while another can be wrapped."""
NUMBER = r"-?|[\d.,]+( us| ms| s| min| h| B)?"


class Style(NamedTuple):
    """Escape sequences around the parts that stand out, and the width of the lines."""

    bad: str = ""
    good: str = ""
    bold: str = ""
    faint: str = ""
    end: str = ""
    width: int = WIDTH

    def wrapped(self, text: str, indent: str) -> str:
        """`text` in lines that fit; all but the first begin with `indent`."""
        return "\n".join(_lines(text, self.width, indent))

    def headed(self, head: str, colour: str, text: str) -> str:
        """A label and a wrapped sentence, indented behind it."""
        lines = self.wrapped(f"{head}  {text}", " " * (len(head) + 2))
        return f"{colour}{head}{self.end}" + lines[len(head) :]

    def table(self, rows: Sequence[tuple[str, ...]], spare: Sequence[str] = ()) -> Iterator[str]:
        """Aligned columns: numbers to the right, texts to the left, wrapped if too long.

        The columns with the heads in `spare` are left out, in this order, until it fits.
        """
        for head in spare:
            if _table_width(_least_widths(rows)) > self.width and head in rows[0]:
                at = rows[0].index(head)
                rows = [(*row[:at], *row[at + 1 :]) for row in rows]
        widths = _widths(rows, self.width)
        are_numbers = [is_number_column(rows, column) for column in range(len(widths))]
        for row in rows:
            cells = [list(_cut(cell, width)) for cell, width in zip(row, widths, strict=True)]
            for line in zip_longest(*cells, fillvalue=""):
                columns = zip(line, widths, are_numbers, strict=True)
                aligned = (
                    cell.rjust(width) if is_number else cell.ljust(width)
                    for cell, width, is_number in columns
                )
                yield f"  {'  '.join(aligned)}".rstrip().replace("\xa0", " ")


PLAIN = Style()
COLOURS = Style("\x1b[1;31m", "\x1b[1;32m", "\x1b[1m", "\x1b[2m", "\x1b[0m")


def style() -> Style:
    """Colours where standard output wants them, lines as wide as its terminal."""
    if sys.stdout is None:
        return PLAIN
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal, or no file at all
        columns = 0
    width = min(max(columns, NARROWEST), WIDEST) if columns else WIDTH
    return (COLOURS if _wants_colours(sys.stdout) else PLAIN)._replace(width=width)


def _wants_colours(stream: TextIO) -> bool:
    """Colours as `NO_COLOR` and `CLICOLOR_FORCE` ask, else for a terminal only.

    See no-color.org and bixense.com/clicolors.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _table_width(widths: Sequence[int]) -> int:
    return sum(width + 2 for width in widths)


def _widths(rows: Sequence[tuple[str, ...]], room: int) -> list[int]:
    """Widths of the columns: the widest are wrapped until the table fits, at last within words."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = _least_widths(rows)
    cells = [
        max(word, min(width, NARROWEST_CELL)) for word, width in zip(words, widths, strict=True)
    ]
    for least in (cells, words, [NARROWEST_CELL] * len(widths)):
        while _table_width(widths) > room:
            wrappable = [at for at, width in enumerate(widths) if width > least[at]]
            if not wrappable:
                break
            widths[max(wrappable, key=widths.__getitem__)] -= 1
    return widths


def _least_widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    """Widths of the longest words; numbers are not wrapped."""
    columns = list(zip(*rows, strict=True))
    return [
        max(map(len, column if is_number_column(rows, at) else " ".join(column).split(" ")))
        for at, column in enumerate(columns)
    ]


def is_number_column(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Does a column hold numbers only?"""
    return all(re.fullmatch(NUMBER, row[column]) for row in rows[1:])


def _lines(text: str, width: int, indent: str = "") -> list[str]:
    """Words stay whole. `textwrap` would compile five patterns first."""
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if word and len(lines[-1]) + len(word) >= width and lines[-1].strip():
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}"
    return [line.rstrip() for line in lines]


def _cut(cell: str, width: int) -> Iterator[str]:
    """A cell in lines; words too long are cut."""
    for line in _lines(cell, width):
        yield from (line[at : at + width] for at in range(0, len(line) or 1, width))


def say(report: str) -> None:
    """Prints `report`. A closed pipe (head, less) is not an error, a full disk is."""
    # None where the shell closed it (`>&-`).
    if sys.stdout is None:
        return
    try:
        # None: text in memory (`io.StringIO`).
        encoding = sys.stdout.encoding or "utf-8"
        print(report.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            message = f"standard output: cannot write: {str(error.strerror).lower()}"
            raise OutputError(message) from None


def note(text: str) -> None:
    """Says something beside the result, on standard error, where there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"nagle-scan: {text}", file=sys.stderr)


def flush() -> None:
    """Flushes both streams; a closed pipe is not an error."""
    for stream in (sys.stdout, sys.stderr):
        # None where the shell closed it.
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
