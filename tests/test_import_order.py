"""Each part imports only what stands before it, so that a change reaches no further than it must.

`LAYERS` is the order; `nagle_scan/__init__.py` tells what each part is for. Imports for type
checkers only and those inside functions count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import nagle_scan
import pytest
from conftest import ROOT
from nagle_scan import timeline

PACKAGE = ROOT / "analyzer" / "nagle_scan"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("_core",),
    ("errors", "wording", "colours"),
    ("terminal", "files"),
    ("keys", "names", "progress"),
    ("causes", "certainty"),
    ("dissect",),
    ("result",),
    ("messages",),
    ("advice",),
    ("compare",),
    ("timeline",),
    ("report",),
    ("notebook",),
    ("answers",),
    ("connection", "saved", "written", "why"),
    ("scan",),
    ("explain", "interrupt", "background", "gate", "verbose", "values", "captures"),
    ("arguments", "outputs"),
    ("several",),
    ("fleet",),
    ("cli",),
)
"""From the engine to the command. Files of one row do not import each other."""

PUBLIC = {"_core", "answers", "connection", "errors", "fleet", "scan"}
"""What the package itself (`__init__.py`) may import."""


def imported(source: str, module: str) -> Iterator[str]:
    """Names of modules of the package that `module` imports, or of names in them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(name: str) -> str:
    """`nagle_scan.report.text` belongs to the part `report`; the package itself is ``."""
    return name.partition("nagle_scan.")[2].partition(".")[0]


def parts_imported(package: Path) -> dict[str, set[str]]:
    """What each part of a package imports of its other parts."""
    found: dict[str, set[str]] = {}
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        own = part(module.removesuffix(".__init__"))
        names = {name for name in imported(path.read_text(), module) if "nagle_scan." in name}
        found.setdefault(own, set()).update({part(name) for name in names} - {own})
    return found


def misplaced(
    found: Mapping[str, set[str]], layers: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Imports that do not point to an earlier row."""
    rank = {name: row for row, names in enumerate(layers) for name in names}
    for own, others in found.items():
        yield from ((own, other) for other in sorted(others) if rank[own] <= rank[other])


FOUND = parts_imported(PACKAGE)


def test_no_import_points_up_and_parts_form_no_circle() -> None:
    parts = {name: others for name, others in FOUND.items() if name}
    assert list(misplaced(parts, LAYERS)) == []


def test_every_part_has_its_place_and_is_told() -> None:
    places = [name for row in LAYERS for name in row]
    assert {name for name in FOUND if name} | {"_core"} == set(places)
    assert len(places) == len(set(places))
    told = (nagle_scan.__doc__ or "").partition("test_import_order.py")[2]
    named = [
        name.strip(",")
        for line in told.splitlines()
        for name in line.strip().partition("   ")[0].split()
        if name.strip(",") in places
    ]
    assert named == places


def test_the_package_itself_imports_only_what_is_public() -> None:
    assert FOUND[""] <= PUBLIC


@pytest.mark.parametrize(
    "line",
    [
        "from nagle_scan.scan import Scan",
        "import nagle_scan.scan",
        "from nagle_scan import scan",
        "if TYPE_CHECKING:\n    from nagle_scan.scan import Scan",
        "def late():\n    from nagle_scan.scan import Scan",
    ],
)
def test_an_import_is_seen_wherever_it_stands(line: str, tmp_path: Path) -> None:
    package = tmp_path / "nagle_scan"
    package.mkdir()
    (package / "causes.py").write_text(line)
    assert list(misplaced(parts_imported(package), LAYERS)) == [("causes", "scan")]


@pytest.mark.parametrize("module", [nagle_scan, timeline], ids=lambda one: one.__name__)
def test_dir_lists_the_public_names(module: object) -> None:
    """A completion in a notebook shows them, loaded or not."""
    public: list[str] = module.__all__  # type: ignore[attr-defined]
    assert dir(module) == sorted(public)
    assert all(hasattr(module, name) for name in public)
