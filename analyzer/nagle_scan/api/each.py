"""One scan of each of many captures, several at once: `scan_each()`."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from glob import glob, has_magic
from typing import Literal

from nagle_scan.api import captures, keys
from nagle_scan.api.scan import Scan, scan_with
from nagle_scan.api.spooling import as_paths
from nagle_scan.errors import CaptureError
from nagle_scan.result.options import DEFAULT_MIN_WAIT_MS, ScanOptions, check_number

Path = str | os.PathLike[str]


def scan_each(
    captures: Path | Iterable[Path | Iterable[Path]],
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
    exchanges: bool = False,
    names: Mapping[str, str] | None = None,
    at_once: int | None = None,
    errors: Literal["raise", "skip"] = "raise",
) -> Iterator[Scan]:
    """Scans many captures, each in a thread of its own, and yields them in their order.

    Each of `captures` is a path, or several that are one capture; a folder or a pattern
    (`"captures/**/*.pcap*"`), also alone, stands for the captures in it, those of one rotation as
    one. `at_once` captures are scanned at the same time, one per processor by default; at most
    twice as many scans are kept. Raises as `scan`, when it is that capture's turn; with `errors`
    as "skip" a warning names the capture, and the next one follows.

    >>> import nagle_scan
    >>> names = ["captures/java-split.pcap", "captures/java-split-nodelay.pcap"]
    >>> [scan.verdict for scan in nagle_scan.scan_each(names)]
    ['stalls', 'clean']
    """
    check_number("at_once", at_once)
    if errors not in {"raise", "skip"}:
        raise ValueError(f"errors must be 'raise' or 'skip', not {errors!r}")
    key = None if anonymize is None else keys.checked(anonymize)
    many = at_once or os.cpu_count() or 1
    options = ScanOptions(filter, min_wait_ms, threads=1, exchanges=exchanges, names=names)

    def scanned(paths: list[str]) -> Scan:
        return scan_with(paths, options, key)

    def ended(scan: Future[Scan]) -> Iterator[Scan]:
        try:
            yield scan.result()
        except CaptureError as error:
            if errors == "raise":
                raise
            warnings.warn(str(error), stacklevel=3)

    def begun() -> Iterator[Scan]:
        with ThreadPoolExecutor(many) as pool:
            running: deque[Future[Scan]] = deque()
            try:
                for paths in _sets(captures):
                    running.append(pool.submit(scanned, paths))
                    if len(running) >= 2 * many:
                        yield from ended(running.popleft())
                while running:
                    yield from ended(running.popleft())
            finally:
                pool.shutdown(cancel_futures=True)

    return begun()


def _sets(given: Path | Iterable[Path | Iterable[Path]]) -> Iterator[list[str]]:
    for one in [given] if isinstance(given, (str, os.PathLike)) else given:
        paths = as_paths(one)
        if len(paths) == 1 and not os.path.lexists(paths[0]) and has_magic(paths[0]):
            found = sorted(filter(captures.may_be_capture, glob(paths[0], recursive=True)))
            # A pattern without captures is reported as a path that is not there.
            yield from (each.paths for each in captures.grouped(found or paths).sets)
        elif len(paths) == 1 and os.path.isdir(paths[0]):
            yield from (found.paths for found in captures.grouped(paths).sets)
        else:
            yield paths
