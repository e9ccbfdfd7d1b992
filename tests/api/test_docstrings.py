"""Users copy the examples in docstrings: on shipped captures they give what they show."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module

import pandas as pd
import pytest
from conftest import ROOT
from nagle_scan import Connection, Scan

FLAGS = doctest.NORMALIZE_WHITESPACE
MODULES = ("nagle_scan", "nagle_scan.api.scan", "nagle_scan.api.connection")


def examples() -> Iterator[doctest.DocTest]:
    """Examples of the public modules, their classes and functions."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        yield from finder.find(import_module(name))


EXAMPLES = {test.name: test for test in examples() if test.examples}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_shows_what_comes_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said: list[str] = []
    with pd.option_context("display.width", 90, "display.max_columns", 20):
        outcome = doctest.DocTestRunner(optionflags=FLAGS).run(EXAMPLES[name], out=said.append)
    assert outcome.attempted
    assert not outcome.failed, "".join(said)


@pytest.mark.parametrize("kind", [Scan, Connection])
def test_every_public_name_is_reported(kind: type) -> None:
    public = [name for name in dir(kind) if not name.startswith("_") and name != "number"]
    assert len(public) > 10
    assert all(inspect.getdoc(getattr(kind, name)) for name in public)
