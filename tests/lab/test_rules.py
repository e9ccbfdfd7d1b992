"""Every threshold is declared in full, and docs/rules.tsv says what it decides."""

from __future__ import annotations

import csv
import re
import runpy

from conftest import ROOT
from nagle_scan import _core

SOURCE = ROOT / "analyzer" / "src"
RULES = runpy.run_path(str(ROOT / "scripts" / "rules.py"))


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


def test_what_each_threshold_decides_was_measured() -> None:
    with (ROOT / "docs" / "rules.tsv").open(newline="") as file:
        measured = {row["threshold"] for row in csv.DictReader(file, dialect="excel-tab")}
    assert measured == {row[0] for row in _core.thresholds()}


def test_the_engine_for_trials_can_be_made_of_this_one() -> None:
    declared = (SOURCE / "thresholds.rs").read_text()
    assert declared.count(RULES["CONSTANT"]) == 1


def test_patterns_that_name_a_threshold_become_comparisons() -> None:
    arms = "1..FEW => a,\nn @ ..MANY => b,\n..=9 => c,"
    tried = re.sub(RULES["ARM"], lambda arm: RULES["in_range"](arm[1] or "n", arm[2]), arms)
    assert tried == (
        "n if (1..FEW).contains(&n) => a,\nn if (..MANY).contains(&n) => b,\n..=9 => c,"
    )
