"""Work under a limit of memory (`ulimit -v`): where it is reached, one line says so.

A library that gets no memory may end the process at once, even with the status of a verdict. So the
work is done in a second process, and what it says on standard error is kept until it has ended.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from nagle_scan.command.gate import EXIT_BUG, EXIT_UNUSABLE
from nagle_scan.system import terminal

SIGNS = (b"MemoryError", b"allocat", b"map segment", b"start new thread", b"spawn thread")
"""What is said where memory lacks: by Python, libraries, the linker, and the engine."""
FROM_OUTSIDE = {signal.SIGINT, signal.SIGTERM}


def run(work: Callable[[], int]) -> int:
    """The exit status of `work`."""
    limit = _limit_bytes()
    if limit is None or not hasattr(os, "memfd_create"):
        return work()
    said, (ends, begins) = os.memfd_create("said"), os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(said, 2)
        status = work()
        os.write(begins, bytes([status]))
        os._exit(status)
    os.close(begins)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A terminal sends it to both.
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(child, number))
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) in FROM_OUTSIDE:
        signal.signal(os.WTERMSIG(ended), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(ended))
    told = os.pread(said, os.fstat(said).st_size, 0)
    answered = os.read(ends, 1)
    if not answered or (answered[0] == EXIT_BUG and any(sign in told for sign in SIGNS)):
        terminal.note(f"not enough memory: the limit is {limit / 1e6:,.0f} MB (ulimit -v)")
        return EXIT_UNUSABLE
    os.write(2, told)
    return answered[0]


def _limit_bytes() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit
