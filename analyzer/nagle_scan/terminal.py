"""The terminal: colours, wrapped lines, aligned tables, and output that may have been closed."""

import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

from nagle_scan.errors import OutputError

WIDTH = 100
NUMBER = re.compile(r"-?|[\d.,]+( ms| s| B)?")


class Style(NamedTuple):
    """Escape sequences around the parts that stand out."""

    bad: str = ""
    good: str = ""
    bold: str = ""
    faint: str = ""
    end: str = ""


PLAIN = Style()
COLOURS = Style("\x1b[1;31m", "\x1b[1;32m", "\x1b[1m", "\x1b[2m", "\x1b[0m")


def wants_colours(stream: TextIO) -> bool:
    """Only a terminal gets colours, and not when `NO_COLOR` asks for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_of(stream: TextIO) -> Style:
    """Colours where they are wanted."""
    return COLOURS if wants_colours(stream) else PLAIN


def table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Aligned columns: numbers to the right, texts to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if is_number_column(rows, column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def is_number_column(rows: Sequence[tuple[str, ...]], column: int) -> bool:
    """Does a column hold numbers only?"""
    return all(NUMBER.fullmatch(row[column]) for row in rows[1:])


def headed(head: str, colour: str, text: str, style: Style) -> str:
    """A label and a wrapped sentence, indented behind it."""
    lines = wrapped(f"{head}  {text}", " " * (len(head) + 2))
    return f"{colour}{head}{style.end}" + lines[len(head) :]


def wrapped(text: str, indent: str) -> str:
    """`text` in lines of at most `WIDTH`; all but the first begin with `indent`."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def say(report: str) -> None:
    """Prints `report`. A closed pipe (head, less) is not an error, a full disk is."""
    # None where the shell closed it (`>&-`).
    if sys.stdout is None:
        return
    try:
        encoding = sys.stdout.encoding
        print(report.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            message = f"standard output: cannot write: {error.strerror}"
            raise OutputError(message) from None


def flush() -> None:
    """Flushes both streams; a closed pipe is not an error."""
    for stream in (sys.stdout, sys.stderr):
        # None where the shell closed it.
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
