"""A machine with little memory, a terminal, a run that was killed: no traceback, nothing left."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest
from conftest import CAPTURES, COMMAND, program
from nagle_scan.command import cli

CAPTURE = CAPTURES / "epoll-fd0.pcap"


def limited(limit: int, of: int = resource.RLIMIT_AS) -> dict[str, Any]:
    """How a program is started that may not have more of this."""
    return {"preexec_fn": lambda: resource.setrlimit(of, (limit, limit))}


@pytest.mark.parametrize(
    ("of", "limit", "name"),
    [
        (resource.RLIMIT_NOFILE, 8, "ticket.zip"),
        (resource.RLIMIT_FSIZE, 0, "ticket.zip"),
        (resource.RLIMIT_FSIZE, 4096, "report.html"),
    ],
)
def test_without_files_to_write_an_output_is_one_line_and_the_old_one_stays(
    of: int, limit: int, name: str, tmp_path: Path
) -> None:
    """`ulimit -n 8`, `ulimit -f 0`, `ulimit -f 8`."""
    old = tmp_path / name
    old.write_bytes(b"before")
    done = program(COMMAND, CAPTURE, "-q", "-o", old, **limited(limit, of))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == {old: b"before"}


@pytest.mark.parametrize("megabytes", [110, 130, 150, 170, 190, 210, 230])
def test_a_library_without_memory_makes_no_stalls(megabytes: int, tmp_path: Path) -> None:
    """OpenBLAS ends the process with 1 where it has no room for its threads."""
    clean = CAPTURES / "epoll-fixed.pcap"
    words = clean, "-q", "-o", tmp_path / "x.html"
    done = program(COMMAND, *words, **limited(megabytes * 10**6))
    assert (done.returncode, done.stderr.count("\n")) in [(0, 0), (2, 1)], done.stderr


@pytest.mark.parametrize("megabytes", [22, 24, 26, 29, 32, 40, 60])
def test_too_little_memory_to_begin_is_no_stall(megabytes: int) -> None:
    """Python itself may end, with a traceback of its own or by a signal."""
    words = CAPTURES / "epoll-fixed.pcap", "-q"
    done = program(COMMAND, *words, **limited(megabytes * 10**6))
    assert done.returncode != 1, done.stderr


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr(cli, "_run", lacking)
    assert cli.main([str(CAPTURE)]) == 2
    assert capsys.readouterr() == ("", "nagle-scan: not enough memory\n")
