"""Templates are compiled once, and anew when they change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment
from nagle_scan.system.templates import Compiled


def said(template: str) -> str:
    environment = Environment(loader=DictLoader({"a": template}), bytecode_cache=Compiled())
    return environment.get_template("a").render()


def test_a_template_that_changed_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compiled, "folder", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert [said("one"), said("one"), said("two")] == ["one", "one", "two"]
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"no bytecode")
    assert said("two") == "two"


def test_a_folder_that_cannot_be_written_to_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compiled, "folder", str(tmp_path / "none"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert said("one") == "one"
    assert list(tmp_path.iterdir()) == []
