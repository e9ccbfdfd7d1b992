"""The man pages and the completions that a wheel installs: made from the parser, and valid."""

from __future__ import annotations

import shutil
from pathlib import Path

import installed
import pytest
from conftest import program


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    installed.write(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["--max"], "--max-lost"),
        (["--format", "js"], "json jsonl"),
    ],
)
def test_bash_completes(words: list[str], offered: str, share: Path) -> None:
    script = (
        f'source "{share / installed.COMPLETIONS["bash"]}"; '
        'COMP_WORDS=(nagle-scan "$@"); COMP_CWORD=$#; '
        '_shtab_nagle_scan nagle-scan "${!#}"; echo "${COMPREPLY[*]}"'
    )
    done = program("bash", "-c", script, "bash", *words)
    assert (done.returncode, done.stdout.strip()) == (0, offered)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (installed.MAN, r"\-\-max\-lost"),
        (installed.FLEET_MAN, r"\-\-all\-stalls"),
        (installed.MCP_MAN, r"\-\-reports"),
    ],
)
def test_the_man_page_has_every_option_and_no_error(name: str, option: str, share: Path) -> None:
    page = share / name
    text = page.read_text()
    for word in (rf"\fB{option}\fR", ".SH EXIT STATUS", ".SH EXAMPLES"):
        assert word in text
    groff = shutil.which("groff")
    if groff is not None:
        done = program(groff, "-man", "-Tutf8", "-ww", "-z", page)
        assert (done.returncode, done.stderr) == (0, "")
