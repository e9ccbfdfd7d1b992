"""`--explain`: the documentation of the causes, from the comments in their Rust files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nagle_scan import _core
from nagle_scan.system.terminal import Style

ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def sections(cause: str) -> dict[str, str]:
    """Heading and Markdown text, in order. Raises `KeyError` for an unknown cause."""
    documentation = _core.explain(cause)
    if documentation is None:
        raise KeyError(cause)
    parts = re.split(r"^# (.+)\n", documentation, flags=re.MULTILINE)[1:]
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def render(cause: str, style: Style) -> str:
    """The documentation of a cause, wrapped for a terminal."""
    lines = [f"{style.bold}{cause}{style.end}"]
    for heading, text in sections(cause).items():
        lines += ["", f"{style.bold}{heading}{style.end}"]
        lines += [style.wrapped(f"  {block}", "  ") for block in _blocks(text)]
    return "\n".join(lines)


def listing(style: Style) -> str:
    """Every cause with the first sentence of what happens."""
    width = max(map(len, _core.CAUSES)) + 4
    lines = ["Causes of waits (nagle-scan --explain CAUSE):", ""]
    for cause in _core.CAUSES:
        first = next(_blocks(next(iter(sections(cause).values()))))
        sentence = re.split(r"(?<=[.]) ", first)[0]
        text = style.wrapped(f"  {cause:<{width - 2}}{sentence}", " " * width)
        lines.append(text.replace(cause, f"{style.bold}{cause}{style.end}", 1))
    return "\n".join(lines)


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs and list items, one line each, without Markdown syntax."""
    for paragraph in text.split("\n\n"):
        block = ""
        for line in paragraph.replace("`", "").splitlines():
            if ITEM.match(line) and block:
                yield block
                block = ""
            block = f"{block} {line.strip()}".strip()
        yield block
