"""The command, forked from a process that has imported the whole package.

The tests call the command a thousand times, and importing what draws takes two seconds of CPU. What
a call leaves behind ends with its process, as ever.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import nagle_scan
from nagle_scan.command import cli
from nagle_scan.command.gate import EXIT_BUG

TIMEOUT_S = 60


class Forked:
    """Runs calls of the command, one after another."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server = server
        self._written = [folder / "stdout", folder / "stderr"]

    def __call__(
        self, words: Sequence[str | bytes | Path], folder: Path, environ: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        assert self._server.stdin
        assert self._server.stdout
        call = [*map(os.fsdecode, words)], str(folder), dict(environ), [*map(str, self._written)]
        print(json.dumps(call), file=self._server.stdin, flush=True)
        status = int(self._server.stdout.readline())
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired([*words], TIMEOUT_S)
        return subprocess.CompletedProcess(
            [*words], status, *(it.read_bytes() for it in self._written)
        )


@contextmanager
def forked(folder: Path) -> Iterator[Forked]:
    """While the block runs."""
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        yield Forked(server, folder)


def serve() -> None:
    """Answers each call with its status."""
    for module in pkgutil.walk_packages(nagle_scan.__path__, "nagle_scan."):
        importlib.import_module(module.name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                answer(*json.loads(line))
            finally:
                os._exit(EXIT_BUG)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def answer(words: list[str], folder: str, environ: dict[str, str], written: list[str]) -> None:
    signal.alarm(TIMEOUT_S)
    for number, path in enumerate([os.devnull, *written]):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["nagle-scan", *words]
    cli.command()


if __name__ == "__main__":
    serve()
