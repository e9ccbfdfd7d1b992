"""A program that is killed while it writes a fleet: `fleet_victim.py PLAN`, a pickle of `Plan`.

It forks a writer for each death, from a process without threads: a fork knows nothing of those.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.work import Answer, Failure, Job, Settings

CALLS = ("replace", "unlink", "mkdir", "rmdir", "fsync")
DONE = "done"
"""In the folder of a death: a line for each flush that returned."""


class Plan(NamedTuple):
    """What to write, and how to die."""

    base: str
    """The folder as it is before."""
    folder: str
    """Gets a folder for each death."""
    settings: Settings
    flushes: Sequence[Sequence[tuple[Job, Answer]]]
    random_deaths: int
    """So many at random moments; 0: before each call that changes the file system."""


def write(plan: Plan, place: Path) -> None:
    dataset = Dataset(str(place / "fleet"), plan.settings)
    dataset.fail(Failure("broken.pcap", "", "cannot read", 1))
    for number, added in enumerate(plan.flushes):
        for each in added:
            dataset.add(*each)
        dataset.flush()
        with open(place / DONE, "a") as file:
            file.write(f"{number}\n")


def deadly(calls_left: int) -> None:
    """Kills this process before the call of that number."""
    left = calls_left

    def before(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*arguments, **named)

        return called

    for name in CALLS:
        setattr(os, name, before(getattr(os, name)))


def killed(plan: Plan, place: Path, at: int | None, after_s: float) -> bool:
    """Did the writer die before it was done?"""
    shutil.copytree(plan.base, place / "fleet")
    child = os.fork()
    if child == 0:
        if at is not None:
            deadly(at)
        write(plan, place)
        os._exit(0)
    if at is None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


def main() -> None:
    # A process that is killed loses nothing that it gave to the system; only power failures do.
    setattr(os, "fsync", lambda _: None)  # noqa: B010
    plan: Plan = pickle.loads(Path(sys.argv[1]).read_bytes())
    folder = Path(plan.folder)
    if not plan.random_deaths:
        at = 0
        while killed(plan, folder / f"{at:04d}", at, 0.0):
            at += 1
        return
    begin = time.monotonic()
    killed(plan, folder / "whole", 1 << 30, 0.0)
    whole_s = time.monotonic() - begin
    chance = random.Random(0)
    for number in range(plan.random_deaths):
        killed(plan, folder / f"{number:04d}", None, chance.uniform(0, whole_s))


if __name__ == "__main__":
    main()
