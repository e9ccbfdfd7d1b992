"""Standard output, which other programs read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, Run, in_a_terminal, needs_full
from nagle_scan.system.terminal import PLAIN

STALLS = CAPTURES / "java-split.pcap"
FORMATS = ("json", "csv", "md", "xml", "html", "text")


@pytest.mark.parametrize("name", FORMATS[:-1])
def test_standard_output_is_what_a_file_would_be(name: str, run: Run, tmp_path: Path) -> None:
    run(STALLS, "-o", tmp_path / f"a.{name}")
    for words in ((), ("-o", "-")):
        done = run(STALLS, "--format", name, *words)
        assert done.stdout == (tmp_path / f"a.{name}").read_bytes()
        assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("buffered", [False, True])
@pytest.mark.parametrize("words", ["--help", "--version", *map("--format {}".format, FORMATS)])
def test_a_reader_that_ends_early_is_no_error(words: str, buffered: bool) -> None:
    """A user types `nagle-scan x.pcap -o - --format json | head -c 1`.

    An output that is buffered fails at the exit of Python, if no sooner.
    """
    reader, writer = os.pipe()
    os.close(reader)
    command = [str(COMMAND), *words.split(), str(CAPTURES / "epoll-fd0.pcap")]
    env = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=env, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (int("--format" in words), b"")


@needs_full
def test_a_full_disk_behind_standard_output_is_reported() -> None:
    for name in ("json", "md"):
        command = [str(COMMAND), str(STALLS), "--format", name]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(b"nagle-scan: standard output: cannot write: ")


def test_each_written_file_has_its_line(run: Run, tmp_path: Path) -> None:
    done = run(STALLS, "-o", "a.json", "-o", "b.md", cwd=tmp_path)
    assert done.stdout.decode().endswith("\n\nwrote a.json\nwrote b.md\n")
    # Not among the data.
    done = run(STALLS, "-o", "a.json", "--format", "csv", cwd=tmp_path)
    assert b"wrote" not in done.stdout
    assert done.stderr == b"nagle-scan: wrote a.json\n"


@pytest.mark.parametrize("quiet", [(), ("-q",), ("-q", "-q")])
@pytest.mark.parametrize("output", [(), ("-o", "-")])
@pytest.mark.parametrize("several", [(), (CAPTURES / "java-single-write.pcap",)])
def test_what_is_asked_for_is_printed_however_quiet(
    quiet: tuple[str, ...], output: tuple[str, ...], several: tuple[Path, ...], run: Run
) -> None:
    done = run(STALLS, *several, *quiet, *output, "--format", "json")
    results = [json.loads(line) for line in done.stdout.decode().splitlines()]
    verdicts = [result["summary"]["verdict"] for result in results]
    assert verdicts == ["stalls", "clean"][: 1 + len(several)]
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_as_they_are_asked_for(env: dict[str, str], coloured: bool, run: Run) -> None:
    assert (b"\x1b[" in run(STALLS, env=env).stdout) == coloured


@pytest.mark.parametrize(("columns", "widest"), [(60, 80), (80, 80), (120, 120), (300, 160)])
def test_lines_are_as_wide_as_the_terminal(columns: int, widest: int) -> None:
    written = in_a_terminal(STALLS, env={"NO_COLOR": "1"}, columns=columns)
    # Not the tables, which need what they need.
    lines = written.splitlines()
    prose = [line for line in lines if "  " not in line.strip() and not line.startswith("nagle")]
    longest = max(map(len, prose))
    assert widest - 15 < longest <= widest


def test_tables_fit_a_narrow_terminal() -> None:
    """The median and the longest are there, columns between them are left out."""
    style = PLAIN._replace(width=80)
    heads = ("server", "exchanges", "", "p50", "p75", "p90", "p95", "p99", "max")
    rows = [heads, ("127.0.0.1:8888", "108", "without stalls", *["43.8 ms"] * 6)]
    narrow = list(style.table(rows, ("p75", "p90", "exchanges", "p95")))
    assert max(map(len, narrow)) <= 80
    assert {"p50", "p99", "max"} <= set(narrow[0].split())
    assert "p75" in next(PLAIN.table(rows, ("p75",)))
