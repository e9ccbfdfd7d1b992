"""What a start costs: the modules that are imported before the first line is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, ROOT

HEAVY = {"numpy", "pandas", "matplotlib", "jinja2", "scapy", "pyarrow", "plotly"}
"""Each takes longer to import than all of a small scan."""

AVOIDED = {"pathlib", "shutil", "traceback", "dataclasses", "inspect", "json", "threading"}
"""Each takes 2 to 5 ms, and the common runs have no use for them."""

MOST_MODULES = 86
"""Beyond those of `python -c pass`; `argparse` brings most. A module takes 0.1 to 2 ms."""

FOR_STALLS = {"nagle_scan.advice", "nagle_scan.compare", "nagle_scan.messages"}
"""What to change, and before and after: a clean capture has neither."""


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
    assert "nagle_scan.command.cli" in modules
    assert {module.partition(".")[0] for module in modules} & (HEAVY | AVOIDED) == set()
    assert len(modules) <= MOST_MODULES, sorted(modules)


def test_a_clean_capture_imports_no_advice() -> None:
    modules = imported(COMMAND, CAPTURES / "java-split-nodelay.pcap")
    assert "nagle_scan.report.text" in modules
    assert modules & FOR_STALLS == set()


def test_tuples_that_every_run_defines_are_cheap() -> None:
    """With postponed annotations `NamedTuple` compiles each of them: 0.3 ms for five fields."""
    modules = imported(COMMAND, CAPTURES / "java-split.pcap")
    ours = [name.replace(".", "/") for name in modules if name.startswith("nagle_scan.")]
    paths = [ROOT / "analyzer" / f"{name}{end}" for name in ours for end in (".py", "/__init__.py")]
    sources = {path: path.read_text() for path in paths if path.is_file()}
    defining = {path: text for path, text in sources.items() if "(NamedTuple)" in text}
    assert defining
    postponed = [path for path, text in defining.items() if "import annotations" in text]
    assert postponed == []
