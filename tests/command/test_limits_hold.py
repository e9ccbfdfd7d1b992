"""A machine with little memory, a terminal, a run that was killed: no traceback, nothing left."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, Run

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


@pytest.mark.parametrize("megabytes", [20, 30, 40, 60, 100, 150, 250, 400])
def test_too_little_memory_is_one_line(megabytes: int, tmp_path: Path) -> None:
    """At whichever place it lacks: the linker, Python, numpy, a thread of the engine."""
    for words in (["-q"], ["-qq", "-o", tmp_path / "x.html", "-o", tmp_path / "x.json"]):
        done = limited(megabytes * 10**6, CAPTURE, *words)
        if done.returncode == 1:
            assert done.stderr == ""
        else:
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def test_enough_memory_changes_nothing(run: Run) -> None:
    plain = run(CAPTURE)
    done = limited(4000 * 10**6, CAPTURE)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout.decode())
    assert done.stderr == ""
    assert limited(4000 * 10**6, "nowhere.pcap").stderr == run("nowhere.pcap").stderr.decode()


def test_a_signal_ends_a_limited_run_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    limit = 4 * 10**9
    process = subprocess.Popen(
        [COMMAND, tmp_path / "pipe"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    time.sleep(0.5)
    process.terminate()
    assert process.wait(10) == -signal.SIGTERM


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_json_has_nothing_that_a_terminal_obeys(format: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / HOSTILE
    path.write_bytes(CAPTURE.read_bytes()[:-7])
    text = run(path, "--format", format).stdout.decode()
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert json.loads(text)["captures"][0]["path"] == str(path)
