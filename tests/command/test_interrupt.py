"""Ctrl-C while a capture is read: what was read until then is reported."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import pytest
from conftest import CAPTURES, COMMAND, endless, flat

SPLIT = CAPTURES / "java-split.pcap"
PATIENCE_S = 60


def until(condition: Callable[[], bool]) -> None:
    """Waits for what another process does."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def is_reading(process: subprocess.Popen[bytes]) -> bool:
    """Has it read more of the capture than Python reads to start?"""
    first = Path(f"/proc/{process.pid}/io").read_text().splitlines()[0]
    return int(first.removeprefix("rchar: ")) > 64 << 20


def is_drained(pipe: int) -> bool:
    """Has the other end read all that was written?"""
    return fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4)


def interrupted(*words: str | Path) -> tuple[int, str, str]:
    """Runs a command, interrupts it while it reads; exit status, standard output and error."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until(lambda: is_reading(process))
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output.decode(), errors.decode()


def test_what_was_read_is_reported_and_written(tmp_path: Path) -> None:
    capture, result = endless(tmp_path, SPLIT), tmp_path / "result.json"
    status, report, errors = interrupted(COMMAND, capture, "-o", result)
    assert (status, errors) == (130, "")
    note = " ".join(report.split()).partition("note: ")[2]
    assert note.startswith("interrupted after ")
    assert f" of {capture.stat().st_size:,} bytes; the rest was not analysed." in note
    assert "STALL" in report
    described = json.loads(result.read_text())
    assert described["summary"]["stalls"] == 9
    assert [file["complete"] for file in described["captures"]] == [False]
    assert described["captures"][0]["warnings"][0].startswith("interrupted after ")


def test_files_that_were_not_begun_are_left_out(tmp_path: Path) -> None:
    capture, later = endless(tmp_path, SPLIT), CAPTURES / "jdk-httpserver.pcap"
    result = tmp_path / "result.json"
    assert interrupted(COMMAND, "--merge", later, capture, "-o", result)[0] == 130
    assert [file["path"] for file in json.loads(result.read_text())["captures"]] == [str(capture)]


@pytest.mark.parametrize(
    "ask", ["nagle_scan.scan(sys.argv[1])", "_core.segments([sys.argv[1]], ScanOptions(), [0])"]
)
def test_python_gets_a_keyboard_interrupt(ask: str, tmp_path: Path) -> None:
    imports = "from nagle_scan import _core\nfrom nagle_scan.result.options import ScanOptions"
    script = f"import sys, nagle_scan\n{imports}\n{ask}"
    status, _, errors = interrupted(sys.executable, "-c", script, endless(tmp_path, SPLIT))
    assert errors.splitlines()[-1].startswith("KeyboardInterrupt")
    assert status == -signal.SIGINT


def test_the_verdict_alone_says_that_it_is_of_a_part(tmp_path: Path) -> None:
    """Else whoever reads one line takes it for the whole capture."""
    status, verdict, errors = interrupted(COMMAND, endless(tmp_path, SPLIT), "-q")
    assert (status, errors.count("\n")) == (130, 1)
    assert verdict.startswith("Stalls: ")
    assert re.fullmatch(r"nagle-scan: interrupted after [\d,]+ packets\n", errors)


@contextmanager
def piped(content: bytes, *words: str | Path) -> Iterator[tuple[subprocess.Popen[bytes], FileIO]]:
    """The command, which has read this from a pipe; and the pipe's other end, still open."""
    reader, writer = os.pipe()
    with subprocess.Popen(
        [COMMAND, "-", *words], stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(reader)
        with FileIO(writer, "w") as pipe:
            pipe.write(content)
            until(lambda: is_drained(writer))
            yield process, pipe


def test_a_packed_pipe_is_not_waited_for_where_its_capture_ended() -> None:
    """A damaged `tcpdump -w - | gzip | nagle-scan -`: nobody unpacks beyond the damage."""
    with piped(gzip.compress(SPLIT.read_bytes() + b"\xff" * 100)) as (process, _):
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (1, b"")
    assert b"damaged" in output


def test_a_live_capture_is_analysed_to_its_last_byte(tmp_path: Path) -> None:
    """Ctrl-C reaches both of `tcpdump -w - | nagle-scan -`, and tcpdump empties its buffer."""
    capture, result = SPLIT.read_bytes(), tmp_path / "result.json"
    with piped(capture[:1000], "-o", result) as (process, pipe):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        pipe.write(capture[1000:])
        pipe.close()
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (130, b"")
    assert b"note:" not in output
    described = json.loads(result.read_text())
    assert described["summary"]["stalls"] == 9
    assert described["captures"][0]["complete"]


SIZE = SPLIT.stat().st_size


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (SIZE, f"interrupted after 57 packets, {SIZE:,} bytes;"),
        (10, "nagle-scan: -: interrupted before the first packet"),
    ],
)
def test_a_pipe_that_stays_open_and_silent_is_given_up(read: int, said: str) -> None:
    with piped(SPLIT.read_bytes()[:read]) as (process, _):
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert [said in flat(text) for text in printed] == [read == SIZE, read != SIZE]
    assert b"" in printed


def test_a_second_interrupt_ends_at_once() -> None:
    with piped(SPLIT.read_bytes()) as (process, _):
        process.send_signal(signal.SIGINT)
        status = Path(f"/proc/{process.pid}/status")
        bit = 1 << (signal.SIGINT - 1)
        # The first has been taken.
        until(lambda: not int(status.read_text().partition("ShdPnd:\t")[2].split()[0], 16) & bit)
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, *printed) == (-signal.SIGINT, b"", b"")


def test_a_pipe_that_nobody_writes_into_ends_with_ctrl_c(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([COMMAND, pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        until(lambda: has_open(run, pipe))
        run.send_signal(signal.SIGINT)
        errors = run.communicate(timeout=PATIENCE_S)[1].decode()
    assert (run.returncode, errors.count("\n")) == (130, 1)
    assert "interrupted" in errors


def has_open(process: subprocess.Popen[bytes], path: Path) -> bool:
    """Has it opened this file?"""
    descriptors = Path(f"/proc/{process.pid}/fd")
    return str(path) in (os.path.realpath(entry) for entry in descriptors.iterdir())
