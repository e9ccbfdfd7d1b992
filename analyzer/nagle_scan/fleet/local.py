"""Workers of this machine: processes, of which each that dies is started again.

The nannies of distributed would do so, too, but not for a worker that dies in the first moments
after its start, and that is when it gets the capture that the one before died of. They also run
the caller's script a second time.
"""

from __future__ import annotations

import os
import subprocess
import sys

from nagle_scan.api import keys

LOOPBACK = "127.0.0.1"
OPTIONS = (
    *("--host", LOOPBACK, "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"),
    *("--no-nanny", "--nthreads", "1", "--memory-limit", "0", "--death-timeout", "30"),
)
"""Without a host it listens to all networks. No limit of memory: what a scan takes is bounded, and
a worker that pauses at its limit never ends. One whose coordinator was killed before it could
connect ends after 30 s."""


class Processes:
    """So many workers of a scheduler, with their files in `folder`."""

    def __init__(self, scheduler: str, workers: int, folder: str) -> None:
        self._command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", scheduler]
        self._command += [*OPTIONS, "--local-directory", folder]
        # They must find what this process has found, however it did.
        self._env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # It goes to them with their tasks, and is in no list of processes.
        self._env.pop(keys.VARIABLE, None)
        self._processes = [self._start() for _ in range(workers)]

    @property
    def ids(self) -> list[int]:
        """Of the processes."""
        return [process.pid for process in self._processes]

    def start_again(self) -> None:
        """Those that have died."""
        self._processes = [
            process if process.poll() is None else self._start() for process in self._processes
        ]

    def end(self) -> None:
        """At once: they hold nothing."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        # In a session of their own they do not hear Ctrl-C.
        return subprocess.Popen(
            self._command,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
