"""A machine with little memory, a terminal, a run that was killed: no traceback, nothing left."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, Run
from nagle_scan.command import cli

CAPTURE = CAPTURES / "epoll-fd0.pcap"
HOSTILE = "a\x7f\x80\x9b2J\u061c\u200f\u202e\u2066\u2028\ufeff\U000e0041.pcap"


def limited(
    limit: int, *words: str | Path, of: int = resource.RLIMIT_AS
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(of, (limit, limit)),
    )


@pytest.mark.parametrize(("of", "limit"), [(resource.RLIMIT_NOFILE, 8), (resource.RLIMIT_FSIZE, 0)])
def test_a_ticket_without_files_to_write_is_one_line(of: int, limit: int, tmp_path: Path) -> None:
    """`ulimit -n 8`, `ulimit -f 0`."""
    done = limited(limit, CAPTURE, "-qq", "-o", tmp_path / "ticket.zip", of=of)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr(cli, "_run", lacking)
    assert cli.main([str(CAPTURE)]) == 2
    assert capsys.readouterr() == ("", "nagle-scan: not enough memory\n")


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_json_has_nothing_that_a_terminal_obeys(format: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / HOSTILE
    path.write_bytes(CAPTURE.read_bytes()[:-7])
    text = run(path, "--format", format).stdout.decode()
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert json.loads(text)["captures"][0]["path"] == str(path)
