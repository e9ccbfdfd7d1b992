"""A law against growth: `[tool.nagle-scan.budget]` in pyproject.toml.

Whoever needs more takes something away, or raises a number in a commit that says what users gain.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT
from nagle_scan.command import arguments, fleet, mcp

BUDGET = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["nagle-scan"]["budget"]
CODE = {".c", ".cpp", ".css", ".go", ".html", ".java", ".js", ".lua", ".py", ".pyi", ".rs", ".sh"}
CODE |= {".toml"}
BUILT = {"target", "__pycache__", "_build", "results"}
ROOMS = {
    "analyzer/src": ["analyzer/src"],
    "analyzer/nagle_scan": ["analyzer/nagle_scan"],
    "tests": ["tests"],
    "captures": ["captures"],
    "scripts, bench, fuzz": ["scripts", "bench", "analyzer/fuzz"],
}


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def code(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.suffix in CODE)
    return [path for path in found if not BUILT & set(path.relative_to(ROOT).parts)]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_no_more_lines_than_it_may(room: str) -> None:
    counted = sum(lines(path) for folder in ROOMS[room] for path in code(ROOT / folder))
    assert 0 < counted <= BUDGET["lines"][room]


def test_nor_has_the_documentation() -> None:
    """Without what `make bench` and `make rules` measure."""
    measured = {ROOT / "docs/benchmark.md", ROOT / "docs/rules.md"}
    pages = set((ROOT / "docs").glob("*.md")) - measured
    assert 0 < sum(map(lines, pages)) <= BUDGET["lines"]["docs"]


def test_options_are_few() -> None:
    long = {
        word
        for parser in (arguments.parser(), fleet.parser(), mcp.parser())
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }
    assert 0 < len(long) <= BUDGET["options"]


def test_public_names_are_few() -> None:
    """Of the package, of a scan and of a connection: what tab completion offers."""
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    shown = [dir(nagle_scan), dir(scan), dir(scan.connection(0))]
    names = [name for each in shown for name in each if not name.startswith("_")]
    assert 0 < len(names) <= BUDGET["public names"]
