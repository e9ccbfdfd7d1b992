"""The cost of a start: the modules that are imported before the first line is printed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, program

HEAVY = {"numpy", "pandas", "matplotlib", "jinja2", "scapy", "pyarrow"}
"""Each takes longer to import than all of a small scan."""

AVOIDED = {"pathlib", "shutil", "traceback", "dataclasses", "inspect", "json", "threading"}
"""Each takes 2 to 5 ms, and the common runs have no use for them."""

MOST_MODULES = 85
"""Beyond those of `python -c pass`. A module takes 0.1 to 2 ms."""

FOR_OPTIONS = {"argparse", "gettext", "locale", "textwrap"}
"""A sixth of the start of a call that only names captures."""

FOR_STALLS = {"nagle_scan.advice", "nagle_scan.compare", "nagle_scan.messages"}
"""Modules for advice and for comparisons: a clean capture needs neither."""


def imported(*words: str | Path) -> set[str]:
    """The modules that Python imports for a command."""
    lines = program(sys.executable, "-X", "importtime", *words).stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], [CAPTURES / "java-split.pcap"]], ids=str
)
def test_the_common_runs_import_little(arguments: list[str | Path]) -> None:
    modules = imported(COMMAND, *arguments) - imported("-c", "pass")
    assert "nagle_scan.command.cli" in modules
    assert {module.partition(".")[0] for module in modules} & (HEAVY | AVOIDED) == set()
    assert len(modules) <= MOST_MODULES, sorted(modules)


def test_a_clean_capture_imports_no_advice_and_a_call_without_options_no_parser() -> None:
    modules = imported(COMMAND, CAPTURES / "java-split-nodelay.pcap")
    assert "nagle_scan.report.text" in modules
    assert modules & (FOR_STALLS | FOR_OPTIONS) == set()
    assert imported(COMMAND, "--merge", CAPTURES / "java-split.pcap") >= {
        "argparse",
        "nagle_scan.advice",
    }
