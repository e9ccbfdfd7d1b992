"""Signals that end the command. The first Ctrl-C ends a scan early and keeps what was read.

Any other ends the process, and nothing half-written stays. A thread waits for them, since Python's
own handlers would wait until the engine has done its work.
"""

from __future__ import annotations

import atexit
import signal
from _thread import start_new_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nagle_scan import _core

_scans: list[_core.Progress] = []
"""The scans that the next Ctrl-C stops."""


def watch() -> None:
    """Begins to wait for signals. No other thread may run yet: it would die of a signal.

    Without POSIX signals Python's own `KeyboardInterrupt` remains.
    """
    if not hasattr(signal, "sigwait"):
        return
    # nohup has SIGHUP ignored, and that must stay.
    ending = {
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ending.add(signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        start_new_thread(_wait, (ending,))
    except RuntimeError:
        raise MemoryError from None


def _wait(ending: set[signal.Signals]) -> None:
    while True:
        number = signal.sigwait(ending)
        if number != signal.SIGINT or not _scans:
            break
        _scans.pop().stop()
    try:
        atexit._run_exitfuncs()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.raise_signal(number)


class StoppedByInterrupt:
    """While the `with` block runs, Ctrl-C stops the scan that `progress` belongs to."""

    def __init__(self, progress: _core.Progress) -> None:
        self._progress = progress

    def __enter__(self) -> None:
        """The next Ctrl-C is for the scan."""
        _scans.append(self._progress)

    def __exit__(self, *_: object) -> None:
        """It is for the process again."""
        _scans.clear()
