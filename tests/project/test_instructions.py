"""The engine does not get slower unseen: instructions are counted, no clock is read."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT, program


@pytest.mark.skipif(
    shutil.which("valgrind") is None,
    reason="NOT CHECKED: instructions per packet, as valgrind is absent (apt install valgrind)",
)
def test_a_packet_takes_the_instructions_it_took(tmp_path: Path) -> None:
    environment = {**os.environ, "BENCH_BUILD": str(tmp_path)}
    done = program(sys.executable, "-m", "bench.instructions", cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
