"""The man page and the completions, made from the parser."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

SHARE = ROOT / "analyzer/installed/data/share"
BASH = SHARE / "bash-completion/completions/nagle-scan"


def test_they_are_what_the_parser_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/installed.py", "--check"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["--fai"], "--fail-on"),
        (["--fail-on", ""], "certain likely possible"),
        (["--color", "al"], "always"),
        (["--format", "js"], "json jsonl"),
    ],
)
def test_bash_completes(words: list[str], offered: str) -> None:
    script = (
        f'source "{BASH}"; COMP_WORDS=(nagle-scan "$@"); COMP_CWORD=$#; '
        '_shtab_nagle_scan nagle-scan "${!#}"; echo "${COMPREPLY[*]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == offered


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("nagle-scan", r"\-\-fail\-on"),
        ("nagle-scan-fleet", r"\-\-on\-hosts"),
        ("nagle-scan-mcp", r"\-\-reports"),
    ],
)
def test_the_man_page_has_every_option_and_no_error(name: str, option: str) -> None:
    page = SHARE / f"man/man1/{name}.1"
    text = page.read_text()
    for word in (rf"\fB{option}\fR", ".SH EXIT STATUS", ".SH EXAMPLES"):
        assert word in text
    groff = shutil.which("groff")
    if groff is not None:
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, check=True
        )
        assert done.stderr == b""
