"""Ctrl-C: the first ends a scan early and keeps what was read; the next ends the process."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nagle_scan import _core


def end_at_once() -> None:
    """Lets Ctrl-C end the process, also while the engine writes a result."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class StoppedByInterrupt:
    """While the `with` block runs, Ctrl-C stops the scan that `progress` belongs to."""

    def __init__(self, progress: _core.Progress) -> None:
        self._progress = progress

    def __enter__(self) -> None:
        """Replaces the handler of `end_at_once`."""
        signal.signal(signal.SIGINT, self._stop)

    def __exit__(self, *_: object) -> None:
        """Restores it."""
        end_at_once()

    def _stop(self, *_: object) -> None:
        end_at_once()
        self._progress.stop()
