"""What a start costs: the modules that are imported before the first line is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND

HEAVY = {"numpy", "pandas", "matplotlib", "jinja2", "scapy", "pyarrow"}
"""Each takes longer to import than all of a small scan."""

AVOIDED = {"pathlib", "shutil", "traceback", "dataclasses", "inspect", "json", "threading"}
"""Each takes 2 to 5 ms, and the common runs have no use for them."""

MOST_MODULES = 70
"""Beyond those of `python -c pass`; `argparse` brings most. A module takes 0.1 to 2 ms."""


def imported(*words: str | Path) -> set[str]:
    """The modules that Python imports for a command."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words], capture_output=True, check=False, text=True
    )
    lines = done.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], [CAPTURES / "java-split.pcap"]], ids=str
)
def test_the_common_runs_import_little(arguments: list[str | Path]) -> None:
    modules = imported(COMMAND, *arguments) - imported("-c", "pass")
    assert "nagle_scan.cli" in modules
    assert {module.partition(".")[0] for module in modules} & (HEAVY | AVOIDED) == set()
    assert len(modules) <= MOST_MODULES, sorted(modules)
