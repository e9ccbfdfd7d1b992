"""Work in the background: the engine writes a result while Python prepares the report."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Task:
    """Starts `work` in a thread of its own, at once."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._do, args=(work,))
        self._thread.start()

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # A panic in the engine is not an `Exception`.
            self._error = error

    def join(self) -> None:
        """Waits until it is done, and raises what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
