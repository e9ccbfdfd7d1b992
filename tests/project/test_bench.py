"""`make bench`, in the smallest size: that it runs, checks and writes; not how fast anything is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

SMALL = ["--packets", "1000", "--runs", "1", "--skip", "tcptrace", "tshark"]


def test_every_goal_is_measured_or_said_not_to_be(tmp_path: Path) -> None:
    page = tmp_path / "benchmark.md"
    words = [sys.executable, "-m", "bench.run", *SMALL, "--report", str(page)]
    done = subprocess.run(
        words,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "BENCH_BUILD": str(tmp_path / "build")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    goals = [row for row in rows if "<= " in row or ">= " in row]
    assert len(goals) == 26
    assert sum("not measured" in row for row in goals) >= 3
    assert "Every scan found exactly the stalls that were generated." in page.read_text()
    assert "| CPU " in page.read_text()
