"""Fixtures that all themes share: the command as users run it, and a scan of frames in memory."""

from __future__ import annotations

import contextlib
import html
import io
import itertools
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from browser import browser
from conversation import Found, Frame, write
from forked import Forked, forked
from nagle_scan import _core
from nagle_scan.command.cli import main
from nagle_scan.report import evidence
from nagle_scan.report.options import Options
from nagle_scan.result import Result

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT / "captures"
COMMAND = Path(sys.executable).with_name("nagle-scan")
needs_full = pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="this system has no /dev/full"
)
"""A missing one would be made, as a file, by who may write there."""
CALL = """
import sys, time
from nagle_scan.command import cli
from nagle_scan.report import formats, text
{before}
sys.argv = ["nagle-scan", *sys.argv[1:]]
cli.command()
"""
"""The command in a process of its own, after `before`."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run that is to be trusted (`CI=true`) leaves out no test: it fails, and names those."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter is not None and "skipped" in reporter.stats:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("\nCI=true: these tests may not be skipped", red=True)


class Run:
    """Runs `nagle-scan` with arguments and returns what it said."""

    def __init__(self, call: Forked) -> None:
        self._call = call

    def __call__(
        self,
        *arguments: str | bytes | Path,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        environ = {**os.environ, **(env or {})}
        # Variables that are not ours may be Python's, which reads them when it starts.
        if not stdin and all(name.startswith("NAGLE_SCAN_") for name in env or {}):
            return self._call(arguments, cwd or Path.cwd(), environ)
        command = [COMMAND, *arguments]
        return subprocess.run(
            command, input=stdin, capture_output=True, env=environ, cwd=cwd, timeout=60, check=False
        )


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with forked(tmp_path_factory.mktemp("called")) as call:
        yield Run(call)


def program(*words: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    """Any program, and what it said."""
    return subprocess.run(words, capture_output=True, text=True, check=False, **how)


def called(*words: str | Path) -> tuple[int, bytes]:
    """The status of the command, and all that it says, in this process."""
    interrupt = signal.getsignal(signal.SIGINT)
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "utf-8")
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        status = main([*map(str, words)])
        stream.flush()
    signal.signal(signal.SIGINT, interrupt)
    return status, written.getvalue()


def outputs(*paths: str | Path) -> list[str | Path]:
    """The options that ask for these files."""
    return [word for path in paths for word in ("-o", path)]


def assert_refused(done: subprocess.CompletedProcess[bytes], *words: str) -> None:
    """Status 2, nothing on standard output, and one line, with these words in it, that is safe on a
    terminal.
    """
    line = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), line
    assert line.startswith("nagle-scan: ")
    assert line.endswith("\n")
    assert line[:-1].isprintable(), line
    assert [word for word in words if word not in line] == [], line


def in_a_terminal(*arguments: str | Path, env: dict[str, str], columns: int = 80) -> str:
    """The text that the command writes to a terminal of this width."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=theirs, check=True)
    environment = {**os.environ, "TERM": "xterm", **env}
    process = subprocess.Popen([COMMAND, *arguments], stdout=theirs, env=environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    process.wait(30)
    return written.decode()


Report = Callable[[str], Path]
ScanFrames = Callable[[Sequence[Frame]], nagle_scan.Scan]


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The page of a capture, given by its path below `captures`. It takes seconds: made once."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def report(name: str) -> Path:
        path = folder / f"{name.replace('/', '-')}.html"
        nagle_scan.scan(CAPTURES / name).write(path)
        return path

    return report


def page_of(frames: Iterable[Frame], folder: Path, name: str = "frames.pcap") -> Path:
    """The page of a capture of these frames."""
    path = folder / "report.html"
    nagle_scan.scan(write(folder / name, frames)).write(path)
    return path


def flat(text: str | bytes) -> str:
    """On one line, as a report is wrapped anywhere."""
    return " ".join((text if isinstance(text, str) else text.decode()).split())


def said(run: Run, path: Path, folder: Path) -> list[str]:
    """Report, page and ticket of a capture, each on one line and without its markup."""
    page, ticket = folder / "page.html", folder / "ticket.md"
    report = run(path, *outputs(page, ticket)).stdout.decode()
    texts = report, html.unescape(page.read_text()), ticket.read_text()
    return [flat(re.sub(r"[`\\]", "", text)) for text in texts]


def unreadable(scan: nagle_scan.Scan) -> nagle_scan.Scan:
    """The scan as if it had come through standard input, which cannot be read a second time."""
    return nagle_scan.Scan(Result(["-"], scan._result.options, scan._result.core))


def found(scan: nagle_scan.Scan) -> list[Found]:
    """The stalls of a scan, in the shape of `conversation.numbered`."""
    columns = ["frame_unacked", "frame_ack", "frame_held", "rel_seq", "len", "sender"]
    return [tuple(row) for row in scan.stalls[columns].itertuples(index=False, name=None)]


@pytest.fixture
def scan_frames(tmp_path: Path) -> ScanFrames:
    """Writes frames as an Ethernet capture, each time another, and scans it."""
    numbers = itertools.count()
    return lambda frames: nagle_scan.scan(write(tmp_path / f"frames{next(numbers)}.pcap", frames))


def generated(folder: Path, work: str, connections: int, packets: int) -> Path:
    """A synthetic capture of `bench/generate.c`: so many packets would take scapy minutes."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler, "no C compiler"
    generator, capture = folder / "generate", folder / "generated.pcap"
    subprocess.run([compiler, "-O2", ROOT / "bench" / "generate.c", "-o", generator], check=True)
    words: list[str | Path] = [generator, work, str(connections), str(packets), "-o", capture]
    with (folder / "truth.json").open("w") as truth:
        subprocess.run(words, check=True, stderr=truth)
    return capture


def written(scan: nagle_scan.Scan, folder: Path) -> dict[str, Any]:
    """The JSON of a scan, read back."""
    path = folder / "result.json"
    scan.write(path)
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def stalls_in(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The stalls of a result, with their connections."""
    return [
        {"connection": connection["connection"], **stall}
        for connection in result["connections"]
        for stall in connection["stalls"]
    ]


def endless(folder: Path, capture: Path) -> Path:
    """`capture` and empty records after it, which take a minute to read and no room on the disk."""
    path = folder / "endless.pcap"
    with path.open("wb") as file:
        file.write(capture.read_bytes())
        file.truncate(64 << 30)
    return path


@pytest.fixture(scope="module")
def one_shard() -> Iterator[None]:
    """All connections share one limit, whatever their addresses: small captures exceed it."""
    with pytest.MonkeyPatch.context() as patch:
        scan = partial(_core.scan_captures, trial=(4 << 20, 1))
        patch.setattr(_core, "scan_captures", scan)
        yield


def write_evidence(scan: nagle_scan.Scan, path: Path, payload: bool = False) -> None:
    """The frames of a ticket, without the ticket."""
    evidence.write(scan._result, str(path), Options(payload=payload))


def tshark(path: Path, *options: str | Path, fields: str = "frame.number") -> list[str]:
    """The fields of the frames that tshark selects, a line each. Skips where there is none."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("NOT CHECKED: tshark is not installed")
    command: list[str | Path] = [program, "-n", "-r", path, *options, "-T", "fields"]
    for field in fields.split():
        command += ["-e", field]
    # A capture that is cut off is an error to tshark.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Lua:" not in done.stderr
    return done.stdout.splitlines()
