"""How the command ends: at once, but with everything written and nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import CALL, CAPTURES

BUG_WHILE_WRITING = """
write = formats.write
def slowly(*arguments):
    time.sleep(0.5)
    write(*arguments)
def bug(*_):
    raise ZeroDivisionError
formats.write, text.render = slowly, bug
"""


def command(
    words: list[str], environment: dict[str, str], before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own, after `before`."""
    return subprocess.run(
        [sys.executable, "-c", CALL.format(before=before), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_results_are_written_whole_though_the_report_fails(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    words = [str(CAPTURES / "epoll-fd0.pcap"), "-o", str(result)]
    ended = command(words, {}, BUG_WHILE_WRITING)
    assert ended.returncode == 3
    assert "ZeroDivisionError" in ended.stderr
    assert json.loads(result.read_text())["summary"]["stalls"] == 100
    assert list(tmp_path.iterdir()) == [result]


def test_no_temporary_folder_stays(tmp_path: Path) -> None:
    """matplotlib makes one where it may not write to the user's folder, and removes it at exit."""
    (tmp_path / "home").touch()
    (tmp_path / "temporary").mkdir()
    home = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    picture = tmp_path / "stalls.png"
    ended = command([str(CAPTURES / "epoll-fd0.pcap"), "-o", str(picture)], home)
    assert (ended.returncode, picture.exists()) == (1, True)
    assert list((tmp_path / "temporary").iterdir()) == []
