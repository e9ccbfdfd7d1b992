"""`make thresholds` finds every threshold, and every row of the accuracy, met or missed."""

from __future__ import annotations

import runpy

from conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "thresholds.py"))


def test_all_that_lean_are_found() -> None:
    source = ROOT / "analyzer" / "src"
    found = {threshold.name for threshold in SCRIPT["thresholds"](source)}
    assert {
        "NEAR",
        "EVIDENCE_NS",
        "FEW_RELEASES",
        "COPY_NS",
        "INITIAL_WINDOW_SEGMENTS",
    } - found == {
        "EVIDENCE_NS"  # As long as another one: it follows that.
    }
    for name in ("judge/thresholds.rs", "track/thresholds.rs"):
        text = (source / name).read_text()
        assert text.count("/// Leans:") > 8


def test_a_row_that_fails_is_read_as_well() -> None:
    rows = (
        "ok   recall                               99.36 %  (>= 99 %) of 7156 stalls\n"
        "FAIL predicted latencies missed                 3  (<= 0) of 94 pairs\n"
    )
    assert [row[:2] for row in SCRIPT["ROW"].findall(rows)] == [
        ("recall", "99.36"),
        ("predicted latencies missed", "3"),
    ]
