"""An output that cannot be written costs no other, and nothing half-written ever stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CALL, CAPTURES, COMMAND, Run, needs_full, outputs, program
from nagle_scan.report.formats import SUFFIXES

SPLIT = CAPTURES / "java-split.pcap"


def lines(stderr: bytes) -> list[str]:
    return stderr.decode().splitlines()


def test_an_output_of_any_format_that_cannot_be_written_is_one_line(
    run: Run, tmp_path: Path
) -> None:
    paths = [tmp_path / f"x{suffix}" for suffix in SUFFIXES]
    for path in paths:
        path.mkdir()
    done = run(SPLIT, *outputs(*paths))
    said = [f"nagle-scan: {path}: cannot write: is a directory" for path in paths]
    assert (done.returncode, sorted(lines(done.stderr))) == (2, sorted(said))
    assert b"9 times" in done.stdout


@pytest.mark.parametrize("name", ["none/a.json", "b\x1b[31m\n/b.csv", "none/c.zip"])
def test_a_folder_that_is_missing_is_told_before_the_scan(
    name: str, run: Run, tmp_path: Path
) -> None:
    """Nobody wants to know it after a capture of many gigabytes was read."""
    done = run(SPLIT, "-o", name, cwd=tmp_path)
    (line,) = lines(done.stderr)
    assert line.isprintable()
    assert line.endswith(": cannot write: no such file or directory")
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_capture_of_which_the_output_is_another_name_survives(
    suffix: str, run: Run, tmp_path: Path
) -> None:
    capture, output = tmp_path / "traffic.pcap", tmp_path / f"out{suffix}"
    capture.write_bytes(SPLIT.read_bytes())
    output.hardlink_to(capture)
    run(capture, "-o", output)
    assert capture.read_bytes() == SPLIT.read_bytes()
    assert sorted(tmp_path.iterdir()) == [output, capture]


@needs_full
@pytest.mark.parametrize("failing", ["c.csv", "c.html", "c.zip", "c.png"])
def test_the_others_are_written(failing: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / failing).symlink_to("/dev/full")
    names = ["a.lua", "b.json", failing, "d.md", "e.pcapng"]
    done = run(SPLIT, *outputs(*names), cwd=tmp_path)
    said = f"nagle-scan: {failing}: cannot write: no space left on device"
    assert (done.returncode, lines(done.stderr)) == (2, [said])
    wrote = [line for line in done.stdout.decode().splitlines() if line.startswith("wrote ")]
    assert wrote == [f"wrote {name}" for name in names if name != failing]
    assert all((tmp_path / name).is_file() for name in names if name != failing)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_each_failure_is_one_line_whatever_the_name_holds(run: Run, tmp_path: Path) -> None:
    names = ["x" * 300 + ".html", "-c.md", "y" * 300 + "\x1b[31m\n.csv", "in/../d.json"]
    done = run(SPLIT, *outputs(*(f"./{name}" for name in names)), "-q", cwd=tmp_path)
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 2
    assert all(line.isprintable() and "cannot write" in line for line in lines(done.stderr))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["-c.md", "d.json"]


@pytest.mark.parametrize(
    ("broken", "left"), [("text.render", 3), ("html.write", 2)], ids=["the report", "a file"]
)
def test_results_are_written_whole_though_the_report_fails(
    broken: str, left: int, tmp_path: Path
) -> None:
    """Nor does a bug in one file cost another."""
    before = f"from nagle_scan.report import html\n{broken} = lambda *_: 1 / 0"
    paths = [tmp_path / name for name in ("a.html", "b.json", "c.csv")]
    done = program(sys.executable, "-c", CALL.format(before=before), SPLIT, *outputs(*paths))
    assert done.returncode == 3
    assert "ZeroDivisionError" in done.stderr
    assert sorted(tmp_path.iterdir()) == paths[-left:]
    assert json.loads(paths[1].read_text())["summary"]["stalls"] == 9
    wrote = "".join(f"wrote {path}\n" for path in paths[-left:])
    assert (wrote in done.stdout) == (broken == "html.write")


def test_no_temporary_folder_stays(tmp_path: Path) -> None:
    """matplotlib makes one where it may not write to the user's folder, and removes it at exit."""
    (tmp_path / "home").touch()
    (tmp_path / "temporary").mkdir()
    home = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    picture = tmp_path / "stalls.png"
    done = program(COMMAND, SPLIT, "-o", picture, env={**os.environ, **home})
    assert (done.returncode, picture.exists()) == (1, True)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_table_of_captures_is_printed_though_its_file_fails(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "summary.csv").mkdir()
    done = run(SPLIT, CAPTURES / "java-single-write.pcap", "-o", f"{folder}/")
    assert done.returncode == 2
    assert lines(done.stderr) == [f"nagle-scan: {folder}/summary.csv: cannot write: is a directory"]
    assert b"2 captures: 1 with stalls, 1 clean" in done.stdout
    assert len(list(folder.iterdir())) == 8


# Signals.

WAITING = """
from nagle_scan.report.formats import SUFFIXES
from nagle_scan.system import files
make = files._temporary
def wait(target):
    make(target)
    print("half-written", flush=True)
    time.sleep(60)
files._temporary = wait
"""


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ("x.json", signal.SIGINT),
        ("x.json", signal.SIGHUP),
        *((f"x.{kind}", signal.SIGTERM) for kind in ("json", "html", "zip")),
        ("out/", signal.SIGTERM),
    ],
)
def test_a_signal_leaves_nothing_half_written(
    output: str, number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", CALL.format(before=WAITING), SPLIT, "-o", output],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        # nohup has ignored it.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half-written\n"
        process.send_signal(number)
        assert process.wait(60) == -number
    left = {path.name for path in tmp_path.rglob("*")}
    assert left == {"temporary", *(["out"] if output == "out/" else [])}


def test_sigterm_ends_a_scan_too(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with subprocess.Popen([COMMAND, "-", "-o", tmp_path / "x.json"], stdin=reader) as process:
        os.write(writer, SPLIT.read_bytes())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM
    os.close(writer)
    os.close(reader)
    assert list(tmp_path.iterdir()) == []


def test_nohup_keeps_its_meaning() -> None:
    asks = "import signal; from nagle_scan.system import interrupt; interrupt.watch(); "
    ends = "signal.raise_signal(signal.SIGHUP); print('still here')"
    ignored = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    done = program(sys.executable, "-c", asks + ends, **ignored)
    assert (done.returncode, done.stdout) == (0, "still here\n")


# An error that is known before the work is reported before it.


@pytest.mark.parametrize("output", ["e.pcapng", "e.zip"])
def test_frames_of_a_pipe_are_refused_before_it_is_read(
    output: str, run: Run, tmp_path: Path
) -> None:
    """Nobody ever writes into it: a scan would wait for ever."""
    os.mkfifo(tmp_path / "capture")
    done = run(tmp_path / "capture", "-o", tmp_path / output)
    assert (done.returncode, done.stdout, len(lines(done.stderr))) == (2, b"", 1)
    assert b"save the capture to a file first" in done.stderr


def test_a_pipe_in_a_folder_is_no_capture(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.pcap")
    (tmp_path / "b.pcap").symlink_to(SPLIT)
    done = run(tmp_path)
    assert (done.returncode, lines(done.stderr)) == (
        1,
        [f"nagle-scan: note: {tmp_path}: 1 other file left out"],
    )
