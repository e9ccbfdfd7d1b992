"""A Dask cluster of two hosts on this machine, each with a folder of its own."""

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

HOSTS = {"web-1": "127.0.0.1", "web-2": "127.0.0.2"}
HERE = "/proc/self/cwd"
"""One name, which leads each worker into the folder of its host."""
PATIENCE_S = 60
PATHS = os.pathsep.join(
    [
        str(Path(nagle_scan.__file__).parents[1]),
        *(str(ROOT / "tests" / name) for name in ("", "fleet")),
    ]
)


class Hosts:
    """The address of a scheduler, and what each host has."""

    def __init__(self, top: Path, stack: ExitStack) -> None:
        self._top = top
        self._stack = stack
        self._known = top / "scheduler.json"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._begin("scheduler", top, "--host", "127.0.0.1", "--port", "0")
        give_up_s = time.monotonic() + PATIENCE_S
        while not (self._known.exists() and self._known.read_text().endswith("}")):
            assert time.monotonic() < give_up_s
            time.sleep(0.01)
        self.scheduler: str = json.loads(self._known.read_text())["address"]
        for host in HOSTS:
            self.folder(host).mkdir()
            self.start(host)

    def start(self, host: str) -> None:
        """A worker on it."""
        words = ["--no-nanny", "--nthreads", "1", "--memory-limit", "0", "--host", HOSTS[host]]
        words += ["--local-directory", str(self._top)]
        process = self._begin("worker", self.folder(host), *words, NAGLE_SCAN_HOST=host)
        self.processes[host] = process

    def folder(self, host: str) -> Path:
        """What it sees as `HERE`."""
        return self._top / host

    def put(self, host: str, name: str, content: bytes) -> Path:
        """A file on it."""
        path = self.folder(host) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def _begin(
        self, part: str, folder: Path, *words: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        options = ["--no-dashboard", "--scheduler-file", str(self._known), *words]
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{part}", *options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": PATHS, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@contextmanager
def started(top: Path) -> Iterator[Hosts]:
    """While the block runs."""
    with ExitStack() as stack:
        yield Hosts(top, stack)
