"""Every threshold is declared in full."""

from __future__ import annotations

from conftest import ROOT
from nagle_scan import _core

SOURCE = ROOT / "analyzer" / "src"


def test_no_threshold_lacks_anything_or_is_declared_twice() -> None:
    rows = _core.thresholds()
    names = [row[0] for row in rows]
    assert len(names) > 50
    assert len(set(names)) == len(names)
    for name, *row in rows:
        assert all(row), name
        reason, _, larger = row[2:]
        assert reason.endswith("."), name
        assert not larger.endswith("."), name


def test_no_threshold_is_declared_elsewhere() -> None:
    """One whose comment says which way it leans is one."""
    assert not [file for file in SOURCE.rglob("*.rs") if "/// Leans:" in file.read_text()]
