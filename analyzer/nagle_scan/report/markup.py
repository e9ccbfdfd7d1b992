"""Markdown from untrusted text, which never becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nagle_scan.system.terminal import is_number_column
from nagle_scan.words.wording import printable

SPECIAL = re.compile(r"([\\`*{}\[\]<>#|$@&]|(?<![^\W_])_|_(?![^\W_])|(?<![ (])~|~(?!\d))")
"""Neither `_` within a word nor `~` before a number is markup."""


def escaped(outside: str) -> str:
    """Untrusted text that Markdown shows literally, in a paragraph or a table."""
    return SPECIAL.sub(r"\\\1", printable(outside))


def code(outside: str) -> str:
    """Untrusted text as code, so that no mention, link or emoji comes of it."""
    shown = printable(outside).replace("|", "\N{BROKEN BAR}")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if shown[:1] in ("`", " ", "") or shown[-1:] in ("`", " ") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Heads and rows; numbers to the right."""
    heads, *others = rows
    aligned = ("---:" if is_number_column(rows, at) else "---" for at in range(len(heads)))
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(aligned)}|"
    for row in others:
        yield f"| {' | '.join(row)} |".replace("\xa0", " ")
    yield ""
