"""Work beside other work: it is waited for, and its errors are not lost."""

from __future__ import annotations

import threading

import pytest
from nagle_scan.beside import Beside


def test_it_goes_on_beside_and_is_waited_for() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(10)
        done.set()

    beside = Beside(work)
    assert begun.wait(10)
    assert not done.is_set()
    may_end.set()
    beside.join()
    assert done.is_set()


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_its_error_comes_when_it_is_waited_for(error: type[BaseException]) -> None:
    def work() -> None:
        raise error

    with pytest.raises(error):
        Beside(work).join()
