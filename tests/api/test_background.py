"""Work in the background: it is waited for, and its errors are not lost."""

from __future__ import annotations

import threading

import pytest
from nagle_scan.system.background import Task


def test_it_runs_in_the_background_and_is_waited_for() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(10)
        done.set()

    task = Task(work)
    assert begun.wait(10)
    assert not done.is_set()
    may_end.set()
    task.join()
    assert done.is_set()


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_its_error_comes_when_it_is_waited_for(error: type[BaseException]) -> None:
    def work() -> None:
        raise error

    with pytest.raises(error):
        Task(work).join()
