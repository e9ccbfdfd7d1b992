"""What tests give to workers: tasks, and captures that do harm."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from nagle_scan.fleet.work import Answer, Job, Scanned, Settings


def die() -> None:
    """As if the system had ended the process for its memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def freeze() -> None:
    """As a host does whose disk hangs."""
    os.kill(os.getpid(), signal.SIGSTOP)


def freeze_once(mark: str) -> str:
    """Freezes the first of its workers."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return "done"
    freeze()
    return "never"


def loaded() -> list[str]:
    """Modules that are slow to load."""
    return [
        name for name in ("pandas", "matplotlib", "distributed", "scapy") if name in sys.modules
    ]


def pid(pause_s: float = 0.0) -> int:
    """Of the worker."""
    time.sleep(pause_s)
    return os.getpid()


def scan_sets(jobs: Sequence[Job], _: Settings) -> list[Scanned]:
    """Stands for `task.scan_sets`."""
    for job in jobs:
        if "kills" in job.captures[0].url:
            die()
    return [Scanned(job, Answer(job.id, {}, 1, "clean")) for job in jobs]
