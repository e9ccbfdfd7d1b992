"""Standard output that may be closed, full, or read by somebody who has gone."""

from __future__ import annotations

import contextlib
import sys

from nagle_scan import _core


def say(report: str) -> None:
    """Prints `report`. A reader who has gone (head, less) is no error, a full disk is one."""
    # None where the shell closed it (`>&-`).
    if sys.stdout is None:
        return
    try:
        encoding = sys.stdout.encoding
        print(report.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            message = f"standard output: cannot write: {error.strerror}"
            raise _core.OutputError(message) from None


def flush() -> None:
    """Leaves nothing behind that is still buffered; that nobody reads it is no error."""
    for stream in (sys.stdout, sys.stderr):
        # None where the shell closed it.
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
