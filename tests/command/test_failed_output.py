"""An output that cannot be written costs no other, and nothing half-written ever stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CALL, CAPTURES, COMMAND, Run, needs_full

SPLIT = CAPTURES / "java-split.pcap"


def lines(stderr: bytes) -> list[str]:
    return stderr.decode().splitlines()


@needs_full
@pytest.mark.parametrize("failing", ["c.csv", "c.html", "c.pcapng", "c.zip", "c.png", "c.xml"])
def test_the_others_are_written(failing: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / failing).symlink_to("/dev/full")
    names = ["a.lua", "b.json", failing, "d.md", "e.pcapng"]
    words = [word for name in names for word in ("-o", name)]
    done = run(SPLIT, *words, cwd=tmp_path)
    said = f"nagle-scan: {failing}: cannot write: no space left on device"
    assert (done.returncode, lines(done.stderr)) == (2, [said])
    wrote = [line for line in done.stdout.decode().splitlines() if line.startswith("wrote ")]
    assert wrote == [f"wrote {name}" for name in names if name != failing]
    assert all((tmp_path / name).is_file() for name in names if name != failing)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_each_failure_is_one_line_whatever_the_name_holds(run: Run, tmp_path: Path) -> None:
    names = ["none/a.json", "b\x1b[31m\n/b.csv", "x" * 300 + ".html", "-c.md", "in/../d.json"]
    words = [word for name in names for word in ("-o", "./" + name)]
    done = run(SPLIT, *words, "-qq", cwd=tmp_path)
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 3
    assert all(line.isprintable() and "cannot write" in line for line in lines(done.stderr))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["-c.md", "d.json"]


def test_a_bug_in_one_output_costs_no_other(tmp_path: Path) -> None:
    before = "from nagle_scan.report import html\nhtml.write = lambda *_: 1 / 0"
    wanted = [word for name in ("a.html", "b.json", "c.csv") for word in ("-o", name)]
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(before=before), str(SPLIT), *wanted],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert b"ZeroDivisionError" in done.stderr
    assert b"wrote b.json\nwrote c.csv\n" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.json", "c.csv"]


@needs_full
def test_the_table_of_captures_is_printed_though_its_file_fails(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "summary.csv").symlink_to("/dev/full")
    done = run(SPLIT, CAPTURES / "java-single-write.pcap", "-o", f"{folder}/")
    assert done.returncode == 2
    assert lines(done.stderr) == [
        f"nagle-scan: {folder}/summary.csv: cannot write: no space left on device"
    ]
    assert b"2 captures: 1 with stalls, 1 clean" in done.stdout
    assert len(list(folder.iterdir())) == 8


def test_a_folder_that_cannot_be_made_is_told_before_the_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(SPLIT, "-o", f"{tmp_path}/file/in/", "-o", tmp_path / "b.json")
    assert (done.returncode, done.stdout, len(lines(done.stderr))) == (2, b"", 1)


def test_evidence_of_many_long_names(run: Run, tmp_path: Path) -> None:
    """Together longer than the comment on a file can be."""
    (tmp_path / "in").mkdir()
    (tmp_path / "0.pcap").write_bytes(SPLIT.read_bytes())
    for number in range(700):
        name = f"rotated-capture-on-{'production-host-' * 5}{number:05}.pcap"
        (tmp_path / "in" / name).hardlink_to(tmp_path / "0.pcap")
    outputs = [tmp_path / name for name in ("e.pcapng", "e.json", "e.html")]
    words = [word for path in outputs for word in ("-o", path)]
    done = run(*sorted((tmp_path / "in").iterdir()), "--merge", *words)
    assert (done.returncode, done.stderr) == (1, b"")
    assert all(path.stat().st_size for path in outputs)


# Signals.

WAITING = """
from nagle_scan.system import files
make = files._temporary
def wait(target):
    make(target)
    print("half-written", flush=True)
    time.sleep(60)
files._temporary = wait
"""


def signalled(folder: Path, number: int, *words: str) -> int:
    """The exit status of a command that gets a signal while a result is half-written."""
    (folder / "temporary").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", CALL.format(before=WAITING), SPLIT, *words],
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "temporary")},
        # nohup has ignored it.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half-written\n"
        process.send_signal(number)
        return process.wait(60)


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ("x.json", signal.SIGINT),
        ("x.json", signal.SIGHUP),
        *((f"x.{kind}", signal.SIGTERM) for kind in ("json", "html", "pcapng", "zip", "svg")),
        ("out/", signal.SIGTERM),
    ],
)
def test_a_signal_leaves_nothing_half_written(
    output: str, number: signal.Signals, tmp_path: Path
) -> None:
    assert signalled(tmp_path, number, "-o", output) == -number
    left = {path.name for path in tmp_path.rglob("*")}
    assert left == {"temporary", "out"} if output == "out/" else left == {"temporary"}


def test_a_file_that_was_there_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("before")
    assert signalled(tmp_path, signal.SIGTERM, "-o", "x.json") == -signal.SIGTERM
    assert (tmp_path / "x.json").read_text() == "before"


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
    done = subprocess.run(
        [sys.executable, "-c", asks + ends],
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert (done.returncode, done.stdout) == (0, b"still here\n")


# What is known before the work is told before it.


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
