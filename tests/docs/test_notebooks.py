"""Notebooks are committed without output: a change of one shows in a diff what it changes."""

from __future__ import annotations

import runpy
from operator import attrgetter
from pathlib import Path

import pytest
from conftest import ROOT

BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BARE = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))["bare"]


@pytest.mark.parametrize("path", BOOKS, ids=attrgetter("stem"))
def test_a_notebook_is_committed_without_output(path: Path) -> None:
    assert path.read_text() == BARE(path), "run `make notebooks`"
