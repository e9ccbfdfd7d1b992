"""Progress of long work: one line on a terminal or in a notebook, rewritten in place and erased at
the end."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import TextIO

    from nagle_scan import _core

SILENT_S = 1.0
"""Time before anything is shown."""

REDRAW_S = 0.2


class ProgressLine:
    """Shows how far it is on `stream` while the `with` block runs, if that is a terminal
    or the output of a notebook.

    `how_far` tells that from the seconds that have passed.
    """

    def __init__(self, how_far: Callable[[float], str], stream: TextIO | None) -> None:
        self._how_far = how_far
        self._stream = stream
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        """Starts to watch. `threading` is imported only if there is a terminal."""
        if self._stream is None or not (self._stream.isatty() or _is_notebook(self._stream)):
            return
        import threading

        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(self._stream,), daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Ends with the line erased."""
        if self._thread is not None:
            self._over.set()
            self._thread.join()

    def _watch(self, stream: TextIO) -> None:
        start = time.monotonic()
        pause_s = SILENT_S
        width = 0
        try:
            while not self._over.wait(pause_s):
                pause_s = REDRAW_S
                line = self._how_far(time.monotonic() - start)[: _columns(stream) - 1]
                stream.write("\r" + line.ljust(width))
                stream.flush()
                width = len(line)
            # Ctrl-C echoes two more characters.
            stream.write("\r" + " " * (width + 2) + "\r" if width else "")
            stream.flush()
        except OSError:
            # The terminal has gone; the scan goes on.
            return


class Doing:
    """Work that cannot tell how long it takes."""

    def __init__(self) -> None:
        self._now = ""

    def begin(self, what: str) -> None:
        """Sets what is shown from now on."""
        self._now = what

    def line(self, _elapsed_s: float) -> str:
        """The text of the progress line."""
        return self._now


def _is_notebook(stream: TextIO) -> bool:
    """Does Jupyter show it? Its pages know a carriage return, as terminals do."""
    return type(stream).__module__.partition(".")[0] == "ipykernel"


def _columns(stream: TextIO) -> int:
    """A terminal of unknown size reports 0."""
    if _is_notebook(stream):
        return 80
    return os.get_terminal_size(stream.fileno()).columns or 80


def line_of(progress: _core.Progress, elapsed_s: float) -> str:
    """Bytes, packets per second, and the time left; without a known size, what was found so far.

    At the end of the input, or of what Ctrl-C leaves of it, it is judged: that takes its own time.
    """
    read, total = progress.read_bytes, progress.total_bytes
    found = f"{progress.packets:,} packets, {progress.connections:,} connections"
    if progress.stopped or (total is not None and read >= total):
        return f"{'finishing' if progress.stopped else 'judging'}: {found}"
    speed = f"{quantity(progress.packets / elapsed_s)} packets/s"
    if total is None or not read:
        return f"{quantity(read)}B, {found}, {speed}"
    left_s = elapsed_s * max(total - read, 0) / read
    return f"{quantity(read)}B of {quantity(total)}B, {speed}, {time_left(left_s)} left"


def quantity(value: float) -> str:
    """Three digits and a power of a thousand: `1.23 M`."""
    for prefix in ("", "k", "M", "G"):
        if value < 999.5:
            return f"{value:.3g} {prefix}"
        value /= 1000
    return f"{value:.3g} T"


def time_left(seconds: float) -> str:
    """Hours, minutes and seconds, without leading zeros."""
    minutes, rest_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest_s:02} h"
    return f"{minutes}:{rest_s:02} min" if minutes else f"{rest_s} s"
