"""Measures all that may not grow; `make budget` writes the numbers into pyproject.toml.

Lines have half a per cent to spare. Options, public names and comments that begin without their
noun have nothing to spare.
"""

from __future__ import annotations

import ast
import io
import math
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import nagle_scan
from nagle_scan.command import arguments, fleet, mcp

Numbers = dict[str, int]

ROOT = Path(__file__).parents[1]
FILE = ROOT / "pyproject.toml"
SPARE = 1.005
CODE = {".c", ".cpp", ".css", ".go", ".html", ".java", ".js", ".lua", ".py", ".rs", ".sh", ".toml"}
BUILT = {"target", "__pycache__", "_build", "build", "results"}
MEASURED = {"benchmark.md", "rules.md"}
"""Pages that `make bench` and `make rules` write."""
ROOMS = {
    "analyzer/src": ["analyzer/src"],
    "analyzer/texts": ["analyzer/texts"],
    "analyzer/nagle_scan": ["analyzer/nagle_scan"],
    "tests": ["tests"],
    "captures": ["captures"],
    "scripts, bench, fuzz": ["scripts", "bench", "analyzer/fuzz"],
}
BARE = re.compile(r"(As|What|Of|That|Those|The same|The others?|Whose) ")
"""Beginnings of a sentence that lacks its noun."""
COMMENTS = re.compile(r"^\s*//[/!]? ?(.*(?:\n\s*//[/!]? .*)*)", re.MULTILINE)


def files(room: str) -> list[Path]:
    """The code of a room."""
    found = (path for folder in ROOMS[room] for path in (ROOT / folder).rglob("*"))
    return sorted(
        path
        for path in found
        if path.suffix in CODE and not BUILT & set(path.relative_to(ROOT).parts)
    )


def lines(paths: list[Path]) -> int:
    """Their lines."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def comments(path: Path) -> Iterator[str]:
    """The comments and docstrings of a file, each with all its lines."""
    text = path.read_text()
    if path.suffix == ".rs":
        yield from (found[1] for found in COMMENTS.finditer(text))
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield str(node.value.value).strip()
        last = -1
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                if token.start[0] != last + 1:
                    yield token.string.lstrip("# ")
                last = token.start[0]


def bare(room: str) -> list[tuple[Path, str]]:
    """The comments of a room that begin without their noun."""
    return [(path, text) for path in files(room) for text in comments(path) if BARE.match(text)]


def options() -> set[str]:
    """The long options of all commands."""
    return {
        word
        for parser in (arguments.parser(), fleet.parser(), mcp.parser())
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }


def public_names() -> list[str]:
    """The names of the package, of a scan and of a connection: tab completion offers them."""
    scan = nagle_scan.scan(ROOT / "captures/java-split.pcap")
    shown = [dir(nagle_scan), dir(scan), dir(scan.connection(0))]
    return [name for names in shown for name in names if not name.startswith("_")]


def measured() -> dict[str, Numbers]:
    """The numbers by their tables in pyproject.toml."""
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in MEASURED]
    return {
        "": {"options": len(options()), "public names": len(public_names())},
        ".lines": {room: lines(files(room)) for room in ROOMS} | {"docs": lines(pages)},
        ".beginnings": {room: len(bare(room)) for room in ROOMS},
    }


def allowed() -> dict[str, Numbers]:
    """The numbers that pyproject.toml has."""
    budget = tomllib.loads(FILE.read_text())["tool"]["nagle-scan"]["budget"]
    tables = {f".{name}": of for name, of in budget.items() if isinstance(of, dict)}
    return {"": {name: of for name, of in budget.items() if isinstance(of, int)}} | tables


def most(table: str, number: int) -> int:
    """The number that is written for what was measured."""
    return math.ceil(number * SPARE) if table == ".lines" else number


def write() -> None:
    """Puts the numbers into pyproject.toml, in which these tables come last."""
    text = FILE.read_text().partition("[tool.nagle-scan.budget]")[0]
    for table, numbers in measured().items():
        rows = [f'"{name}" = {most(table, number):_}\n' for name, number in numbers.items()]
        text += f"[tool.nagle-scan.budget{table}]\n{''.join(rows)}\n"
    FILE.write_text(text.rstrip("\n") + "\n")


if __name__ == "__main__":
    write()
