"""`make` builds again when any engine file changed: else a developer measures a stale build."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

BUILT_S = 1_700_000_000


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A copy of the files that `make setup` looks at, none of them newer than the build."""
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


def deepest() -> Path:
    """An engine file as far below `src` as any."""
    files = (ROOT / "analyzer" / "src").rglob("*.rs")
    return max(files, key=lambda path: len(path.parts)).relative_to(ROOT)


@pytest.mark.parametrize("name", [deepest(), "analyzer/Cargo.toml", "analyzer/build.rs"])
def test_a_change_of_what_the_engine_is_built_from_is_built(name: Path | str, built: Path) -> None:
    (built / name).touch()
    assert wants_to_build(built)


def test_a_file_that_is_moved_away_is_built_without(built: Path) -> None:
    moved = built / deepest()
    moved.rename(moved.with_suffix(".old"))
    assert wants_to_build(built)


def test_a_change_of_the_python_part_needs_no_build(built: Path) -> None:
    (built / "analyzer" / "nagle_scan" / "command" / "cli.py").touch()
    assert not wants_to_build(built)
