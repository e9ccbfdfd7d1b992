"""The command as it is typed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, Run, in_a_terminal, program
from nagle_scan.command.cli import main

SPLIT = CAPTURES / "java-split.pcap"
CLEAN = CAPTURES / "java-single-write.pcap"


def test_help_has_an_example_that_works(run: Run, tmp_path: Path) -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, b"")
    help_text = done.stdout.decode()
    examples = re.findall(r"^ +nagle-scan (.+)$", help_text, re.MULTILINE)
    assert len(examples) >= 2
    for name in ("traffic.pcap", "before.pcap", "after.pcap"):
        (tmp_path / name).write_bytes(SPLIT.read_bytes())
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures/traffic.pcap").write_bytes(SPLIT.read_bytes())
    for example in examples:
        there = program("sh", "-c", f'"$0" {example}', COMMAND, cwd=tmp_path)
        assert (there.returncode in (0, 1, 4), there.stderr) == (True, ""), example


def test_short_help_fits_on_one_screen(run: Run) -> None:
    lines = run("-h").stdout.decode().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    options = re.findall(r"^  (--?[\w-]+)", "\n".join(lines), re.MULTILINE)
    assert len(options) == 6
    long = run("--help").stdout.decode()
    assert [option for option in options if not re.search(rf"^  {option}\b", long, re.M)] == []


def test_each_group_of_options_has_an_example_and_formats_stand_once(run: Run) -> None:
    help_text = run("--help").stdout.decode()
    groups = ("input", "reports", "comparing", "privacy", "gates", "help")
    assert re.findall(r"^(\w+):\n  nagle-scan .+\n\n", help_text, re.MULTILINE) == [*groups]
    assert help_text.count(".png") == 1


def test_options_may_stand_between_captures(run: Run) -> None:
    done = run(SPLIT, "-q", CLEAN)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"2 captures: ")
    assert run("-q", "--", SPLIT).returncode == 1


def test_after_two_dashes_no_file_is_an_option(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("--help", "-olost.xml"):
        Path(name).write_bytes(SPLIT.read_bytes())
    done = run("-q", "--", SPLIT, "--help", "-olost.xml")
    assert (done.returncode, done.stdout[:12]) == (1, b"3 captures: ")
    assert not Path("lost.xml").exists()


def test_standard_input(run: Run, tmp_path: Path) -> None:
    done = run("-", "-o", tmp_path / "a.json", stdin=SPLIT.read_bytes())
    assert (done.returncode, done.stderr) == (1, b"")
    run(SPLIT, "-o", tmp_path / "b.json")
    piped, read = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert piped["connections"] == read["connections"]
    assert piped["captures"][0]["path"] == "-"


def test_several_pipes_are_read_as_they_come(tmp_path: Path) -> None:
    """A user types `nagle-scan --merge <(zcat a.gz) <(zcat b.gz)`."""
    captures = [SPLIT, CAPTURES / "jdk-httpserver.pcap"]
    readers = []
    for path in captures:
        reader, writer = os.pipe()
        readers.append(reader)
        os.write(writer, path.read_bytes())
        os.close(writer)
    result = tmp_path / "result.json"
    pipes = [f"/dev/fd/{reader}" for reader in readers]
    done = program(COMMAND, "--merge", *pipes, "-o", result, pass_fds=readers)
    for reader in readers:
        os.close(reader)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(result.read_text())["summary"]["stalls"] == 9 + 29


def test_colours_are_for_terminals_that_want_them(run: Run) -> None:
    coloured = in_a_terminal(SPLIT, env={"NO_COLOR": ""}, columns=100)
    assert "\x1b[1;31mSTALLS\x1b[0m" in coloured
    assert "\x1b" not in in_a_terminal(SPLIT, env={"NO_COLOR": "1"})
    assert "\x1b" not in in_a_terminal(SPLIT, env={"NO_COLOR": "", "TERM": "dumb"})
    assert b"\x1b" not in run(SPLIT).stdout
    without = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert without.split() == run(SPLIT).stdout.decode().split()


def test_the_report_goes_into_text_in_memory() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main([str(SPLIT)]) == 1
    assert said.getvalue().startswith("nagle-scan ")
