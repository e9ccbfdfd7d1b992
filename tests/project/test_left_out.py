"""A run that is to be trusted leaves out no test, wherever it is skipped."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import program

SKIPPED = {
    "nowhere": "def test_it(): pass",
    "in a test": "import pytest\ndef test_it(): pytest.skip('here')",
    "as a whole": "import pytest\npytest.skip('here', allow_module_level=True)",
}


@pytest.mark.parametrize(("ci", "workers"), [("true", "2"), ("", "0")])
@pytest.mark.parametrize("where", SKIPPED)
def test_a_skip_fails_where_ci_is_set(where: str, ci: str, workers: str, tmp_path: Path) -> None:
    (tmp_path / "test_left_out.py").write_text(SKIPPED[where])
    (tmp_path / "test_other.py").write_text(SKIPPED["nowhere"])
    words = ("-p", "conftest", "-p", "no:cacheprovider", "-rs", "-n", workers, tmp_path)
    environment = {**os.environ, "CI": ci, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = program(sys.executable, "-m", "pytest", *words, cwd=tmp_path, env=environment)
    assert done.returncode == (ci == "true" and where != "nowhere"), done.stdout
    assert ("SKIPPED" in done.stdout) == (where != "nowhere")
