"""Every command that the documentation shows runs on shipped captures: people paste them.

Programs that need rights or other machines (`ELSEWHERE` in scripts/shown.py) cannot run here.
tcpdump checks its options and the filter; the part of a line after the `|` runs.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import readme
import shown
from conftest import CAPTURES, COMMAND, ROOT
from nagle_scan.command.fleet import parser as fleet_parser

PAGES = sorted((ROOT / "docs").glob("*.md"))


def lines(page: Path, *kinds: str) -> list[str]:
    found = [block for block in shown.blocks(page.read_text()) if block.kind in kinds]
    return [line for block in found for line in shown.commands(block)]


AWAY = sorted(
    {
        away
        for page in PAGES
        for line in lines(page, "sh", "powershell", "console")
        if (away := shown.divided(line).elsewhere)
    }
)
BLOCKS = [
    (page, block)
    for page in PAGES
    for block in shown.blocks(page.read_text())
    if block.kind in ("sh", "python")
]
needs_tcpdump = pytest.mark.skipif(
    shutil.which("tcpdump") is None, reason="NOT CHECKED: tcpdump's options (apt install tcpdump)"
)


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shown.laid_out(tmp_path)
    for name in shown.FILES:
        # Files as old as captures that nobody writes to any more.
        os.utime(tmp_path / name, (0, 0))
    return tmp_path


def words_of(command: str) -> list[str]:
    """The words of a command, without comments and redirection."""
    words = shlex.split(command, comments=True)
    return words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize("command", [line for line in AWAY if "nagle-scan fleet" in line])
def test_fleets_elsewhere_have_valid_options(command: str) -> None:
    fleet_parser().parse_args(words_of(command)[2:])


@needs_tcpdump
@pytest.mark.parametrize("command", [line for line in AWAY if "tcpdump" in line])
def test_tcpdump_takes_its_options_and_the_filter(command: str) -> None:
    words = words_of(command)
    arguments = words[words.index("tcpdump") + 1 :]
    assert "-i" in arguments, "else it takes the first interface, whichever that is"
    at = arguments.index("-i")
    del arguments[at : at + 2]
    # Compiles the filter only: neither rights nor an interface are needed.
    subprocess.run(["tcpdump", "-y", "EN10MB", "-d", *arguments], check=True, capture_output=True)


@needs_tcpdump
def test_a_ring_has_the_names_that_the_next_command_reads(tmp_path: Path) -> None:
    """And tcpdump still has the rights to write the second file."""
    page = ROOT / "docs" / "capture.md"
    rings = [line for line in lines(page, "sh") if " -C " in line or " -G " in line]
    assert len(rings) == 2
    assert all(" -Z root " in line for line in rings)
    wanted = re.findall(r"-[CWw] \S+", rings[0])
    # Its own user would not be allowed into the folder of the test.
    root = ["-Z", "root"] if os.getuid() == 0 else []
    command = ["tcpdump", *root, "-r", str(CAPTURES / "epoll-fd0.pcap"), *" ".join(wanted).split()]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    read = next(line for line in lines(page, "sh") if "nagle-scan ring" in line)
    assert list(tmp_path.glob(words_of(read)[1])) == [tmp_path / shown.RING]


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fleet that the first command of docs/fleet.md makes."""
    folder = tmp_path_factory.mktemp("fleet")
    shown.laid_out(folder)
    first = lines(ROOT / "docs" / "fleet.md", "console")[0]
    shown.output(first, folder, environment())
    return folder / "fleet"


@pytest.mark.parametrize(
    ("page", "block"), BLOCKS, ids=lambda value: getattr(value, "name", getattr(value, "kind", ""))
)
def test_a_block_runs(
    page: Path, block: shown.Shown, folder: Path, request: pytest.FixtureRequest
) -> None:
    assert page.exists()
    if "fleet/" in block.text and block.kind == "python":
        shutil.copytree(request.getfixturevalue("fleet"), folder / "fleet")
    if block.kind == "python":
        shown.run_python(block.text, folder, environment())
        return
    for line in shown.commands(block):
        if here := shown.divided(line).here:
            shown.output(here, folder, environment())


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_what_a_command_prints_stands_below_it(page: Path) -> None:
    assert readme.with_output(page.read_text()) == page.read_text(), "run `make readme`"


def test_every_answer_leads_on() -> None:
    answers = re.split(r"^### ", (ROOT / "docs" / "faq.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(answers) >= 30
    assert [answer for answer in answers if "More: [" not in answer] == []
