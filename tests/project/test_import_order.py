"""Each room imports only what stands before it, and no files import each other.

`ROOMS` is the order; `nagle_scan/__init__.py` tells what each room is for. Imports for type
checkers only and those inside functions count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import nagle_scan
import pytest
from conftest import ROOT
from nagle_scan import timeline

PACKAGE = ROOT / "analyzer" / "nagle_scan"

ROOMS = [
    *("_core", "errors", "words", "system", "result", "messages", "advice", "moves", "chances"),
    *("compare", "timeline", "report", "api", "fleet", "command"),
]
"""From the engine to the command."""

PUBLIC = {"_core", "api", "errors", "fleet"}
"""Modules that the package itself (`__init__.py`) may import."""


def imported(source: str) -> Iterator[str]:
    """Names of modules that a file imports, or of names in them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(package: Path) -> dict[str, set[str]]:
    """Imports of each file of a package, `report.text`, from its other files."""
    paths = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        .removesuffix("__init__")
        .strip("."): path
        for path in package.rglob("*.py")
    }
    modules = {"_core", *paths} - {""}

    def file_of(name: str) -> str:
        name = name.partition("nagle_scan.")[2]
        return name if name in modules else name.rpartition(".")[0]

    return {
        module: {file_of(name) for name in imported(path.read_text()) if "nagle_scan." in name}
        - {module}
        for module, path in paths.items()
    }


def room(module: str) -> str:
    """`report.text` is in `report`; the package itself is ``."""
    return module.partition(".")[0]


def upwards(found: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Imports of a room that does not stand before."""
    rank = {name: row for row, name in enumerate(ROOMS)}
    return [
        (module, other)
        for module, others in found.items()
        for other in sorted(others)
        if room(other) != room(module) and rank[room(module)] < rank[room(other)]
    ]


def circles(found: Mapping[str, set[str]]) -> set[str]:
    """Files that import themselves, by way of others."""

    def reached(module: str) -> set[str]:
        seen, left = set[str](), [module]
        while left:
            new = found.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return seen

    return {module for module in found if module in reached(module)}


FOUND = imports(PACKAGE)
FILES = {module: others for module, others in FOUND.items() if module}


def test_no_import_points_up() -> None:
    assert upwards(FILES) == []


def test_no_files_import_each_other() -> None:
    assert circles(FILES) == set()


@pytest.mark.parametrize(
    "line",
    [
        "from nagle_scan.b import name",
        "import nagle_scan.b",
        "def f():\n    from nagle_scan import b",
        "if TYPE_CHECKING:\n    from nagle_scan.b import name",
    ],
)
def test_a_circle_is_seen_wherever_its_imports_stand(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line)
    (tmp_path / "b.py").write_text("from nagle_scan.c import name")
    (tmp_path / "c.py").write_text("from nagle_scan.a import name")
    (tmp_path / "d.py").write_text("from nagle_scan.a import name")
    assert circles(imports(tmp_path)) == {"a", "b", "c"}


def test_every_room_has_its_place_and_is_reported() -> None:
    assert {room(module) for module in FILES} | {"_core"} == set(ROOMS)
    listed = (nagle_scan.__doc__ or "").partition("test_import_order.py")[2]
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("    ")] == ROOMS


def test_the_package_itself_imports_only_what_is_public() -> None:
    assert {room(other) for other in FOUND[""]} <= PUBLIC


@pytest.mark.parametrize("module", [nagle_scan, timeline], ids=lambda one: one.__name__)
def test_dir_lists_the_public_names(module: object) -> None:
    """A completion in a notebook shows them, loaded or not."""
    public: list[str] = module.__all__  # type: ignore[attr-defined]
    assert dir(module) == sorted(public)
    assert all(hasattr(module, name) for name in public)
