"""`make` builds again when any engine file changed: else a developer measures a stale build."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

SOURCES = ROOT / "analyzer" / "src"
DEPTHS = sorted({len(path.relative_to(SOURCES).parts) for path in SOURCES.rglob("*.rs")})
BUILT_S = 1_700_000_000


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A copy of all that `make setup` looks at, nothing of it younger than the build."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(
        ROOT / "analyzer", tmp_path / "analyzer", ignore=shutil.ignore_patterns("target", "*.so")
    )
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".built").touch()
    for path in tmp_path.rglob("*"):
        os.utime(path, (BUILT_S, BUILT_S))
    assert not wants_to_build(tmp_path)
    return tmp_path


def wants_to_build(folder: Path) -> bool:
    """Would `make setup` build there?"""
    # Not the options of a `make` that runs this test.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(
        ["make", "-n", "setup"], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return "Building nagle-scan" in done.stdout


def engine_file(depth: int, folder: Path) -> Path:
    """An engine file so many levels below `src`."""
    files = sorted((folder / "analyzer" / "src").glob("*/" * (depth - 1) + "*.rs"))
    return files[-1]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_change_of_an_engine_file_at_any_depth_is_built(depth: int, built: Path) -> None:
    engine_file(depth, built).touch()
    assert wants_to_build(built)


@pytest.mark.parametrize("name", ["Cargo.toml", "Cargo.lock", "build.rs"])
def test_a_change_of_what_the_engine_is_built_with_is_built(name: str, built: Path) -> None:
    (built / "analyzer" / name).touch()
    assert wants_to_build(built)


def test_a_file_that_is_moved_away_is_built_without(built: Path) -> None:
    moved = engine_file(DEPTHS[-1], built)
    moved.rename(moved.with_suffix(".old"))
    assert wants_to_build(built)


def test_a_change_of_the_python_part_needs_no_build(built: Path) -> None:
    (built / "analyzer" / "nagle_scan" / "command" / "cli.py").touch()
    assert not wants_to_build(built)
