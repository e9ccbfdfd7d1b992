"""Docstrings of tables with their columns, which the engine declares once."""

from __future__ import annotations

from collections.abc import Iterator

from nagle_scan import _core

Declared = list[tuple[str, str, str, str, list[str], list[str], str]]

ROWS = {
    "connections": ("connection",),
    "stalls": ("stall", "call"),
    "waits": ("wait",),
    "exchanges": ("exchange",),
    "open": ("open",),
    "servers": ("server",),
    "segments": ("segment",),
}
"""The rows that each table is made of."""
DTYPES = {
    "integer": "int64",
    "integer, ns since the epoch": "int64",
    "float": "float64",
    "float, ms": "float64",
    "true or false": "bool",
    "enum": "category",
}
"""Types of columns by the kind of their values; the others are str."""
INDENT = 8 * " "
"""The indentation of these docstrings, which Python takes away when it shows them."""


def add_to(kind: type) -> None:
    """Adds its columns to the docstring of each table that `kind` gives."""
    declared = _core.fields()
    for table, rows in ROWS.items():
        member = vars(kind)[table]
        lines = [INDENT + line for row in rows for line in _columns(row, declared)]
        # With -OO there are no docstrings.
        member.__doc__ = "\n".join([(member.__doc__ or "").rstrip() + "\n", *lines, INDENT])


def _columns(row: str, declared: Declared, prefix: str = "") -> Iterator[str]:
    rows = {of for of, *_ in declared}
    for of, name, kind, _, words, outputs, meaning in declared:
        if of != row or "DataFrame" not in outputs:
            continue
        if kind in rows:
            yield from _columns(kind, declared, f"{name}_")
            continue
        dtype = DTYPES.get(kind, "str")
        if 0 < len(words) < 6 and not any(f"`{word}`" in meaning for word in words):
            dtype += ": " + ", ".join(f"`{word}`" for word in words)
        time = f", and `{name.removesuffix('_ns')}`, the same as a time" if "epoch" in kind else ""
        yield f"- `{prefix}{name}` ({dtype}){time}: {meaning}"
