"""One scan of each of many captures, in processes of their own: `scan_each()`."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from nagle_scan import _core
from nagle_scan.api import keys
from nagle_scan.api.scan import Scan, as_paths, check_number, named, scan
from nagle_scan.errors import CaptureError
from nagle_scan.result import DEFAULT_MIN_WAIT_MS

Path = str | os.PathLike[str]
Options = dict[str, Any]


def scan_each(
    captures: Iterable[Path | Iterable[Path]],
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
    exchanges: bool = False,
    names: Mapping[str, str] | None = None,
    processes: int | None = None,
) -> Iterator[Scan]:
    """Scans many captures at once, each in a process of its own, and yields them in their order.

    Each of `captures` is what `scan` takes: a path, or several that are one capture. There are as
    many `processes` as processors, unless told otherwise; at most twice as many scans are kept.
    Raises as `scan`, when it is that capture's turn; `CaptureError` also where a process dies.

    >>> import nagle_scan
    >>> names = ["captures/java-split.pcap", "captures/java-split-nodelay.pcap"]
    >>> [scan.verdict for scan in nagle_scan.scan_each(names)]
    ['stalls', 'clean']
    """
    check_number("processes", processes)
    key = None if anonymize is None else keys.checked(anonymize)
    options = {
        "filter": filter,
        "min_wait_ms": min_wait_ms,
        "exchanges": exchanges,
        "names": named(names, key is not None),
        "threads": 1,
    }
    many = processes or os.cpu_count() or 1

    def begun() -> Iterator[Scan]:
        with ThreadPoolExecutor(many) as pool:
            running: deque[tuple[list[str], Future[bytes]]] = deque()
            try:
                for capture in captures:
                    paths = as_paths(capture)
                    running.append((paths, pool.submit(_state, paths, options)))
                    if len(running) >= 2 * many:
                        yield _made(*running.popleft(), options, key)
                while running:
                    yield _made(*running.popleft(), options, key)
            finally:
                pool.shutdown(cancel_futures=True)

    return begun()


def _made(paths: list[str], state: Future[bytes], options: Options, key: bytes | None) -> Scan:
    core = _core.scan_of_state(state.result())
    if key is not None:
        core = core.anonymized(key)
    return Scan(paths, options["filter"], core, key, options["min_wait_ms"], options["exchanges"])


def _state(paths: list[str], options: Options) -> bytes:
    """Of a scan in another process. Raises what it raised there."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        input=pickle.dumps((paths, options)),
        # It must find what this process has found, however it did.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise CaptureError(f"{paths[0]}: the scan ended with status {done.returncode}")
    found: bytes | Exception = pickle.loads(done.stdout)
    if isinstance(found, Exception):
        raise found
    return found


def _scan_here() -> None:
    paths, options = pickle.load(sys.stdin.buffer)
    try:
        answer: bytes | Exception = scan(paths, **options).core.state()
    except Exception as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    _scan_here()
