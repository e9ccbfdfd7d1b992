"""The line that a terminal shows while a long capture is read."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from conftest import CAPTURES, COMMAND, endless
from nagle_scan import _core
from nagle_scan.system import progress
from nagle_scan.system.progress import quantity, time_left

SPLIT = CAPTURES / "java-split.pcap"
FILE_LINE = re.compile(
    r"\r[\d.]+ [kMGT]?B of 68\.7 GB, [\d.]+ [kMG]?\s*packets/s, (\d+:)?\d+(:\d\d)? (s|min|h) left"
)


class Terminal:
    """A terminal that a command writes its errors to."""

    def __init__(self, *arguments: str | Path, stdin: Path | None = None) -> None:
        self._ours, theirs = pty.openpty()
        with (stdin or Path(os.devnull)).open("rb") as file:
            feeder = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            self.process = subprocess.Popen(
                [COMMAND, *arguments],
                stdin=feeder.stdout,
                stdout=subprocess.PIPE,
                stderr=theirs,
            )
        assert feeder.stdout is not None
        feeder.stdout.close()
        os.close(theirs)
        self.shown = ""

    def reads(self) -> bool:
        """Takes the next piece of what is shown; False at its end."""
        try:
            self.shown += os.read(self._ours, 65536).decode()
        except OSError:
            return False
        return True

    def end(self) -> bytes:
        """Waits for the end; returns the standard output."""
        while self.reads():
            pass
        os.close(self._ours)
        return self.process.communicate(timeout=60)[0]


def left_on_screen(shown: str) -> str:
    """The last line after its carriage returns."""
    screen: list[str] = []
    for part in shown.split("\r"):
        screen[: len(part)] = part
    return "".join(screen).strip()


def interrupted_once(terminal: Terminal, seen: re.Pattern[str]) -> bytes:
    """The report of what was read until the terminal had shown this."""
    while not seen.search(terminal.shown):
        assert terminal.reads(), terminal.shown
    terminal.process.send_signal(signal.SIGINT)
    report = terminal.end()
    assert terminal.process.returncode == 130
    assert left_on_screen(terminal.shown) == ""
    return report


def test_a_long_scan_tells_how_far_it_is_and_erases_that(tmp_path: Path) -> None:
    terminal = Terminal(endless(tmp_path, SPLIT))
    assert b"STALL" in interrupted_once(terminal, FILE_LINE)
    assert "\n" not in terminal.shown


def test_of_a_pipe_only_what_was_read_is_known(tmp_path: Path) -> None:
    terminal = Terminal("-", stdin=endless(tmp_path, SPLIT))
    number = r"[\d.]+ [kMG]?\s*"
    line = rf"^\r{number}B, [\d,]+ packets, [\d,]+ connections, {number}packets/s"
    interrupted_once(terminal, re.compile(line))
    assert "left" not in terminal.shown


class Seen(NamedTuple):
    """A scan so far, with all that a line of progress asks for."""

    read_bytes: int
    total_bytes: int | None
    packets: int = 2_500_000
    connections: int = 12
    stopped: bool = False


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (Seen(10**6, 4 * 10**6), "1 MB of 4 MB, 250 k packets/s, 30 s left"),
        (Seen(4 * 10**6, 4 * 10**6), "judging: 2,500,000 packets, 12 connections"),
        (Seen(10**6, 4 * 10**6, stopped=True), "finishing: 2,500,000 packets, 12 connections"),
        (Seen(10**6, None, stopped=True), "finishing: 2,500,000 packets, 12 connections"),
    ],
)
def test_what_comes_after_the_reading_is_reported(seen: Seen, line: str) -> None:
    assert progress.line_of(cast("_core.Progress", seen), 10.0) == line


def test_who_waits_for_a_terminal_is_told_so() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "-"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        os.close(theirs)
        assert started.stderr is not None
        assert b"reading standard input" in started.stderr.readline()
        os.write(ours, b"\x04")
        started.communicate(timeout=60)
    os.close(ours)


def test_a_short_scan_shows_nothing() -> None:
    terminal = Terminal(SPLIT)
    assert b"STALL" in terminal.end()
    assert terminal.shown == ""


def test_what_is_being_done_is_shown_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENT_S", 0.0)
    ours, theirs = pty.openpty()
    doing = progress.Doing()
    shown = ""
    with os.fdopen(theirs, "w") as stream:
        with progress.ProgressLine(doing.line, stream):
            for what in ("drawing picture 9 of 10", "writing"):
                doing.begin(what)
                while what not in shown:
                    shown += os.read(ours, 65536).decode()
        # The next text to be read stands behind all that it wrote.
        stream.write("\rreport")
        stream.flush()
        while "report" not in shown:
            shown += os.read(ours, 65536).decode()
    os.close(ours)
    assert left_on_screen(shown) == "report"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 "),
        (7.126, "7.13 "),
        (999.4, "999 "),
        (999.6, "1 k"),
        (1.5e6, "1.5 M"),
        (3e13, "30 T"),
    ],
)
def test_quantities_have_three_digits(value: float, text: str) -> None:
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.6, "1:00 min"), (75, "1:15 min"), (3725, "1:02:05 h")]
)
def test_times_left_need_no_arithmetic(seconds: float, text: str) -> None:
    assert time_left(seconds) == text
