"""What all parts of the terminal report share: colours, wrapping, tables, numbers."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TextIO

WIDTH = 100
NUMBER = re.compile(r"-?|[\d.,]+( ms| s| B)?")


def file_name(path: str) -> str:
    """The name alone: folders tell more about a machine than a ticket needs."""
    return os.path.basename(path)


def file_names(paths: Iterable[str]) -> str:
    """Their names alone, which cannot steer a terminal."""
    return printable(", ".join(map(file_name, paths)))


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


def printable(text: str) -> str:
    """`text` with everything that could steer a terminal written as an escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


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
    """A wrapped sentence beside a word that says what it is."""
    lines = wrapped(f"{head}  {text}", " " * (len(head) + 2))
    return f"{colour}{head}{style.end}" + lines[len(head) :]


def wrapped(text: str, indent: str) -> str:
    """`text` in lines of at most `WIDTH`; all but the first begin with `indent`."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def endpoint(addr: str, port: int) -> str:
    """Address and port, IPv6 in brackets."""
    return f"[{addr}]:{port}" if ":" in addr else f"{addr}:{port}"


def times(count: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def count(count: int, noun: str) -> str:
    """A number and its noun."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def duration(milliseconds: float) -> str:
    """Milliseconds with a unit that fits."""
    if milliseconds >= 10_000:
        return f"{milliseconds / 1000:,.0f} s"
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    # Rounded to nothing it would look unmeasured.
    return f"{milliseconds:.3f} ms" if 0 < milliseconds < 0.05 else f"{milliseconds:.1f} ms"


def maybe_duration(milliseconds: float | None) -> str:
    """A duration, or a dash where unknown."""
    return "-" if milliseconds is None else duration(milliseconds)
