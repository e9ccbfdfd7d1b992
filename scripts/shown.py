"""Commands that pages show: each runs on shipped captures, and its output stands below it.

A `console` block has commands after `$ ` and their output, which `filled` writes anew. Each line of
an `sh` or `powershell` block is a command. Programs of `ELSEWHERE` need rights or other machines:
the part before their `|` is not run, and the rest reads a capture instead. Pages do not mention
this, because readers paste the line as it is.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import schema

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(console|sh|powershell|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = (
    "docker",
    "dumpcap",
    "kubectl",
    "make",
    "nsenter",
    "pktmon",
    "ssh",
    "strace",
    "tcpdump",
    "tshark",
    "wireshark",
)
FAR = re.compile(r"\w://|\w\.example\b")
"""Matches a command that names a host, and therefore cannot run here."""
FOUND = (0, 1, 4)
"""Exit statuses of `nagle-scan` that are verdicts."""

STALLS = "captures/jdk-httpserver.pcap"
RING = "ring.pcap00"
FILES = {
    "traffic.pcap": STALLS,
    "before.pcap": STALLS,
    "after.pcap": "captures/jdk-httpserver-nodelay.pcap",
    "client.pcap": STALLS,
    "server.pcap": STALLS,
    RING: STALLS,
    "ring.pcap01": "captures/jdk-httpserver-nodelay.pcap",
    "calls.txt": "captures/calls/epoll-fd0.strace",
    "ticket.txt": "tests/printed/link-verbose.txt",
}
"""Shipped files, by the names that pages give to their readers' captures."""


class Shown(NamedTuple):
    """A block of a page."""

    kind: str
    text: str


class Line(NamedTuple):
    """A command line: the part to run elsewhere, and the part to run here."""

    elsewhere: str
    here: str


def blocks(page: str) -> Iterator[Shown]:
    """The blocks of a page in which something is run."""
    return (Shown(*match.groups()) for match in BLOCK.finditer(page))


def commands(shown: Shown) -> list[str]:
    """The command lines of a block, without comments."""
    lines = shown.text.replace("\\\n", "").splitlines()
    if shown.kind == "console":
        return [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def program(command: str) -> str:
    """The first program that a command line runs, without `sudo`."""
    words = shlex.split(command, comments=True)
    return next((word for word in words if word != "sudo"), "")


def divided(command: str) -> Line:
    """Splits a command into the part for another machine and the part to run here."""
    if FAR.search(command) and program(command) not in ELSEWHERE:
        return Line(command, "")
    if program(command) not in ELSEWHERE:
        return Line("", command)
    first, _, rest = command.partition(" | ")
    return Line(first, f"cat traffic.pcap | {rest}" if rest else "")


def laid_out(folder: Path) -> None:
    """Puts the files that the commands read into `folder`."""
    for name in ("captures", "docs"):
        (folder / name).symlink_to(ROOT / name)
    for name, source in FILES.items():
        shutil.copy(ROOT / source, folder / name)
    (folder / schema.NAME).write_text(schema.text())


def output(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Returns the output of a command. Raises `RuntimeError` if it fails."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode not in (FOUND if "nagle-scan" in command else (0,)):
        raise RuntimeError(f"{command}: status {done.returncode}: {done.stderr}")
    return done.stdout


def run_python(text: str, folder: Path, environment: dict[str, str]) -> None:
    """Runs a block of Python as a script."""
    subprocess.run([sys.executable, "-c", text], cwd=folder, env=environment, check=True)


def filled(page: str, folder: Path, environment: dict[str, str]) -> str:
    """The page, with the present output of its `console` blocks."""

    def anew(match: re.Match[str]) -> str:
        shown = Shown(*match.groups())
        if shown.kind != "console":
            return match[0]
        parts = (f"$ {line}\n{output(line, folder, environment)}" for line in commands(shown))
        return f"```console\n{''.join(parts)}```"

    return BLOCK.sub(anew, page)
