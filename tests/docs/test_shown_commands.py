"""Every command that the documentation shows runs on shipped captures.

What needs rights or other machines (`ELSEWHERE` in scripts/shown.py) cannot run here. Of that the
options are those of the tool, the capture filter compiles, and what stands behind the `|` runs;
where the tool is installed, it is asked itself.
"""

from __future__ import annotations

import getopt
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import readme
import shown
from conftest import CAPTURES, COMMAND, ROOT, Run
from nagle_scan.command.fleet import parser as fleet_parser

PAGES = sorted((ROOT / "docs").glob("*.md"))

USED: dict[str, tuple[str, list[str]]] = {
    "tcpdump": ("i:s:w:C:W:G:B:Z:Unv", []),
    "dumpcap": ("i:s:b:w:f:D", []),
    "docker run": ("", ["rm", "net="]),
    "python": ("", []),
    "kubectl debug": ("i", ["image=", "target="]),
    "kubectl exec": ("c:", []),
    "nsenter": ("", ["net", "target="]),
    "pktmon filter add": ("t:p:", []),
    "pktmon start": ("", ["capture", "comp=", "pkt-size=", "file-name="]),
    "pktmon stop": ("", []),
    "pktmon etl2pcap": ("", ["out="]),
    "ssh": ("", []),
    "tshark": ("X:r:Y:T:E:e:", []),
    "wireshark": ("X:", []),
}
"""The options that pages use, as getopt has them: `:` or `=` stands for an argument. From the
manuals: tcpdump(1), dumpcap(1), tshark(1), docker-run(1), podman-build(1), nsenter(1), kubectl's
reference, and learn.microsoft.com/windows-server/administration/windows-commands/pktmon."""


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


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shown.laid_out(tmp_path)
    for name in shown.FILES:
        # As captures that nobody writes to any more.
        os.utime(tmp_path / name, (0, 0))
    return tmp_path


def words_of(command: str) -> list[str]:
    """Its words, without `sudo`, comments and where its output goes."""
    words = shlex.split(command, comments=True)
    if ">" in words:
        words = words[: words.index(">")]
    return [word for word in words if word != "sudo"]


def tools(words: list[str]) -> Iterator[tuple[str, dict[str, str], list[str]]]:
    """Each tool that a command runs within another, its options, and its other words.

    Raises `getopt.GetoptError` for an option that the tool has not.
    """
    inner: list[str] = []
    if words[0] in ("docker", "kubectl", "pktmon"):
        depth = 3 if words[1] == "filter" else 2
        name, rest = " ".join(words[:depth]), words[depth:]
    else:
        name, rest = words[0], words[1:]
    if "--" in rest:
        rest, inner = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    mixed = name.startswith(("kubectl", "pktmon"))
    parse: Any = getopt.gnu_getopt if mixed else getopt.getopt
    options, others = parse(rest, *USED[name])
    if name in ("docker run", "ssh"):
        others, inner = others[:1], others[1:]
    if name == "nsenter":
        others, inner = [], others
    yield name, dict(options), others
    if inner:
        yield from tools([word for word in inner if word != "sudo"])


@pytest.mark.parametrize("command", AWAY)
def test_what_runs_elsewhere_has_valid_options_and_filters(command: str, run: Run) -> None:
    words = words_of(command)
    if words[0] == "make":
        assert f"\n{words[1]}: " in (ROOT / "Makefile").read_text()
        return
    if words[:2] == ["nagle-scan", "fleet"]:
        fleet_parser().parse_args(words[2:])
        return
    for name, options, others in tools(words):
        if name == "python":
            compile((ROOT / others[0]).read_text(), others[0], "exec")
        if name in ("tcpdump", "dumpcap"):
            expression = options.get("-f", " ".join(others))
            capture = shown.ROOT / shown.STALLS
            assert run("-qq", "--exit-zero", "-f", expression, capture).returncode == 0
        if name == "tcpdump":
            assert "-i" in options, "else it takes the first interface, whichever that is"


@pytest.mark.parametrize("command", [line for line in AWAY if "tcpdump" in line])
def test_tcpdump_itself_takes_it(command: str) -> None:
    if not shutil.which("tcpdump"):
        pytest.skip("no tcpdump")
    words = words_of(command)
    arguments = words[words.index("tcpdump") + 1 :]
    at = arguments.index("-i")
    del arguments[at : at + 2]
    # Compiles the filter only: neither rights nor an interface are needed.
    subprocess.run(["tcpdump", "-y", "EN10MB", "-d", *arguments], check=True, capture_output=True)


def test_a_ring_has_the_names_that_the_next_command_reads(tmp_path: Path) -> None:
    """And tcpdump still has the rights to write the second file."""
    if not shutil.which("tcpdump"):
        pytest.skip("no tcpdump")
    page = ROOT / "docs" / "capture.md"
    rings = [line for line in lines(page, "sh") if " -C " in line or " -G " in line]
    assert len(rings) == 2
    assert all(" -Z root " in line for line in rings)
    (_, options, _), *_ = tools(words_of(rings[0]))
    wanted = [f"{name}{options[name]}" for name in ("-C", "-W", "-w")]
    capture = CAPTURES / "epoll-fd0.pcap"
    # Its own user would not be allowed into the folder of the test.
    root = ["-Z", "root"] if os.getuid() == 0 else []
    command = ["tcpdump", *root, "-r", str(capture), *wanted]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    read = next(line for line in lines(page, "sh") if "nagle-scan ring" in line)
    assert list(tmp_path.glob(words_of(read)[1])) == [tmp_path / shown.RING]


@pytest.mark.parametrize(
    ("tool", "help"),
    [
        ("dumpcap", ["-h"]),
        ("docker run", ["--help"]),
        ("kubectl debug", ["--help"]),
        ("kubectl exec", ["--help"]),
        ("nsenter", ["--help"]),
    ],
)
def test_an_installed_tool_has_the_options(tool: str, help: list[str]) -> None:
    program, *inner = tool.split()
    found = shutil.which(program, path=environment()["PATH"])
    if not found:
        pytest.skip(f"no {program}")
    done = subprocess.run([found, *inner, *help], capture_output=True, text=True)
    short, long = USED[tool]
    wanted = [f"-{letter}" for letter in short if letter != ":"]
    wanted += [f"--{name.removesuffix('=')}" for name in long]
    told = done.stdout + done.stderr
    # `docker run --net` is the older name of `--network`.
    assert [option for option in wanted if option not in told] == []


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first command of docs/fleet.md leaves."""
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


def test_a_failing_command_is_noticed(folder: Path) -> None:
    for command in ("nagle-scan nowhere.pcap", "nagle-scan --no-such-option", "false"):
        with pytest.raises(RuntimeError):
            shown.output(command, folder, environment())


def test_an_option_that_no_tool_has_is_noticed() -> None:
    for command in (
        "tcpdump -i any -k 3",
        "kubectl debug web-0 --pictures x",
        "pktmon start --all",
    ):
        with pytest.raises(getopt.GetoptError):
            list(tools(words_of(command)))


def test_every_answer_leads_on() -> None:
    answers = re.split(r"^### ", (ROOT / "docs" / "faq.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(answers) >= 30
    assert [answer for answer in answers if "More: [" not in answer] == []
