"""The examples of docs/ci.md run as they stand: people paste them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import CAPTURES, COMMAND, ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
BEFORE, AFTER = CAPTURES / "jdk-httpserver.pcap", CAPTURES / "jdk-httpserver-nodelay.pcap"


def steps(example: str) -> list[str]:
    """The shell scripts of its `run: |` blocks and `script:` lists."""
    blocks = re.findall(r"^( *)run: \|\n((?:\1  .*\n)+)", example, re.MULTILINE)
    lists = re.findall(r"^( *)script:\n((?:\1  - .*\n)+)", example, re.MULTILINE)
    found = [re.sub(r"^ +", "", text, flags=re.MULTILINE) for _, text in blocks]
    return found + [re.sub(r"^ +- ", "", text, flags=re.MULTILINE) for _, text in lists]


def statuses(example: str, capture: Path, folder: Path) -> list[int]:
    """Runs its steps in a folder with these captures, as a CI server does."""
    shutil.copy(capture, folder / "traffic.pcap")
    shutil.copy(BEFORE, folder / "before.pcap")
    env = {
        **os.environ,
        "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return [
        subprocess.run(["bash", "-e", "-c", step], cwd=folder, env=env, check=False).returncode
        for step in steps(example)
    ]


def test_the_page_has_the_examples_it_promises() -> None:
    assert [len(steps(example)) for example in EXAMPLES] == [2, 1, 1, 1]


@pytest.mark.parametrize("example", EXAMPLES[:3])
@pytest.mark.parametrize(("capture", "status"), [(BEFORE, 1), (AFTER, 0)])
def test_a_stall_stops_the_pipeline(
    example: str, capture: Path, status: int, tmp_path: Path
) -> None:
    assert statuses(example, capture, tmp_path)[0] == status
    failed = list(ElementTree.parse(tmp_path / "junit.xml").iter("failure"))
    assert bool(failed) == (status == 1)


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_is_uploaded_is_there_though_the_step_failed(example: str, tmp_path: Path) -> None:
    statuses(example, BEFORE, tmp_path)
    named = set(re.findall(r"^ +(?:- |\w+: )?([\w-]+\.(?:xml|html))$", example, re.MULTILINE))
    assert all((tmp_path / name).stat().st_size > 500 for name in named)
    if "GITHUB_STEP_SUMMARY" in example:
        assert (tmp_path / "summary.md").read_text().startswith("## Stalls: ")


def test_what_cannot_be_told_is_no_pass(tmp_path: Path) -> None:
    """The example that tolerates status 4 tolerates this."""
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(BEFORE.read_bytes()[:24])
    assert statuses(EXAMPLES[2], empty, tmp_path) == [4]
    assert "exit_codes: 4" in EXAMPLES[2]


@pytest.mark.parametrize(("capture", "status"), [(AFTER, 0), (BEFORE, 1)])
def test_after_a_change(
    capture: Path, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert statuses(EXAMPLES[3], capture, tmp_path) == [status]
    assert ("fixed" in capfd.readouterr().out.splitlines()) == (status == 0)
