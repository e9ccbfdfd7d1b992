"""`make fuzz` where it cannot be built: a developer is told, CI must not pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_without_a_compiler_ci_fails(ci: str, status: int, tmp_path: Path) -> None:
    script = ROOT / "scripts" / "fuzz.py"
    done = subprocess.run(
        [sys.executable, script, "--minutes", "0"],
        env={**os.environ, "PATH": str(tmp_path), "CI": ci},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status
    assert done.stderr == "not fuzzed: this needs a C++ compiler (apt install g++)\n"
