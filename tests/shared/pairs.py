"""Captures before and after a change, which are not shipped; each tells the statuses that fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, Run

PAIRS = sorted((ROOT.parent / "shared" / "read2" / "pairs").glob("*/truth.json"))


@pytest.mark.parametrize("truth", PAIRS, ids=lambda truth: truth.parent.name)
def test_the_status_fits(truth: Path, run: Run) -> None:
    done = run(truth.with_name("after.pcap"), "--baseline", truth.with_name("before.pcap"))
    assert done.returncode in json.loads(truth.read_text())["expected"]
