"""Notebooks are committed without output: a change of one shows in a diff what it changes."""

from __future__ import annotations

import runpy
from operator import attrgetter
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BARE = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))["bare"]


@pytest.mark.parametrize("path", BOOKS, ids=attrgetter("stem"))
def test_a_notebook_is_committed_without_output(path: Path) -> None:
    assert path.read_text() == BARE(path), "run `make notebooks`"


def test_output_counts_and_metadata_of_a_run_are_taken_out(tmp_path: Path) -> None:
    run = nbformat.read(BOOKS[0], as_version=4)  # type: ignore[no-untyped-call]
    run.metadata["language_info"] = {"version": "3.99"}
    code = next(cell for cell in run.cells if cell.cell_type == "code")
    code.execution_count = 7
    code.metadata["collapsed"] = True
    code.outputs = [nbformat.v4.new_output("stream", text="seen")]  # type: ignore[no-untyped-call]
    path = tmp_path / "run.ipynb"
    nbformat.write(run, path)  # type: ignore[no-untyped-call]
    assert BARE(path) == BOOKS[0].read_text()
