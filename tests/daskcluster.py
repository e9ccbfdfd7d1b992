"""A Dask cluster of two workers on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import nagle_scan
from conftest import ROOT

PATIENCE_S = 60
PATHS = os.pathsep.join(
    [
        str(Path(nagle_scan.__file__).parents[1]),
        *(str(ROOT / "tests" / name) for name in ("", "fleet")),
    ]
)


class Cluster:
    """The address of a scheduler, and its workers."""

    def __init__(self, top: Path, stack: ExitStack) -> None:
        self._top, self._stack = top, stack
        self._known = top / "scheduler.json"
        self._begin("scheduler", "--host", "127.0.0.1", "--port", "0")
        give_up_s = time.monotonic() + PATIENCE_S
        while not (self._known.exists() and self._known.read_text().endswith("}")):
            assert time.monotonic() < give_up_s
            time.sleep(0.01)
        self.scheduler: str = json.loads(self._known.read_text())["address"]
        self.workers: list[subprocess.Popen[bytes]] = [self._worker(), self._worker()]

    def start(self, number: int) -> None:
        """Another worker in the place of one that died."""
        self.workers[number] = self._worker()

    def _worker(self) -> subprocess.Popen[bytes]:
        words = ["--no-nanny", "--nthreads", "1", "--memory-limit", "0", "--host", "127.0.0.1"]
        return self._begin("worker", *words, "--local-directory", str(self._top))

    def _begin(self, part: str, *words: str) -> subprocess.Popen[bytes]:
        options = ["--no-dashboard", "--scheduler-file", str(self._known), *words]
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{part}", *options],
            cwd=self._top,
            env={**os.environ, "PYTHONPATH": PATHS},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@contextmanager
def started(top: Path) -> Iterator[Cluster]:
    """While the block runs."""
    with ExitStack() as stack:
        yield Cluster(top, stack)
