"""What runs on a worker: it reads captures and returns small tables. It writes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple, TypeVar

from nagle_scan import _core
from nagle_scan.errors import CaptureError, NagleScanError
from nagle_scan.fleet import parquet, streams, tables
from nagle_scan.fleet.streams import TransportError
from nagle_scan.fleet.work import Answer, Capture, Failure, Job, Settings

ATTEMPTS = 3
"""At a capture that comes over a network."""
PAUSE_S = 1.0
"""Before the second one; twice as long before the third."""
LARGE = 1 << 18
"""Bytes of a table that a worker encodes itself: one process does so for all that are smaller."""
T = TypeVar("T")


class VersionError(Exception):
    """A worker that came later has another version: nothing that it finds can be used."""


class BadCaptureError(Exception):
    """A capture cannot be read."""

    def __init__(self, capture: Capture, reason: str, attempts: int = 1) -> None:
        super().__init__(reason)
        self.capture = capture
        self.attempts = attempts

    def failure(self, set_id: str) -> Failure:
        """For the table."""
        return Failure(self.capture.shown, set_id, str(self), self.attempts)


class Scanned(NamedTuple):
    """What became of a set."""

    job: Job
    """With the captures that could be read."""
    answer: Answer | None
    """`None` if that was none of them, or too few to take the place of an old result."""
    failures: tuple[Failure, ...] = ()
    """The others."""


def scan_sets(jobs: Sequence[Job], settings: Settings) -> list[Scanned]:
    """One result for each, in their order. Raises `VersionError`."""
    check_version(settings)
    return [scan_set(job, settings) for job in jobs]


def scan_set(job: Job, settings: Settings) -> Scanned:
    """Scans a set; of several files those that can be read: others may be lost for ever.

    What goes wrong is returned: the scheduler must not try again what cannot work.
    """
    failures: list[Failure] = []
    while job.captures:
        try:
            return Scanned(job, _answer(job, settings), tuple(failures))
        except BadCaptureError as bad:
            failures.append(bad.failure(job.id))
            job = without(job, [bad.capture])
            if job.replaces:
                # The old result has what this capture held.
                break
        except BaseException as error:
            return failed(job, told(error), 1, failures)
    return Scanned(job, None, tuple(failures))


def answer(scan: _core.Scan, job: Job, settings: Settings) -> Answer:
    """The tables of a scan; with a key, without addresses."""
    if settings.key is not None:
        scan = scan.anonymized(settings.key)
    summary = scan.summary()
    found = tables.of(scan, job, settings)
    files = {}
    for name in tables.WITHOUT_CAPTURES:
        if found[name].nbytes > LARGE:
            files[name] = parquet.encoded(tables.with_run(found[name], settings.run))
            found[name] = found[name].slice(0, 0)
    incomplete = found["captures"]["complete"].to_pylist().count(False)
    sent = tables.to_bytes(found)
    return Answer(job.id, sent, summary.packets, summary.verdict, files, incomplete)


def failed(job: Job, reason: str, attempts: int, others: Sequence[Failure] = ()) -> Scanned:
    """None of its captures was read."""
    own = (Failure(capture.shown, job.id, reason, attempts) for capture in job.captures)
    return Scanned(job._replace(captures=()), None, (*others, *own))


def without(job: Job, captures: Sequence[Capture]) -> Job:
    """The rest of a set."""
    return job._replace(captures=tuple(one for one in job.captures if one not in captures))


def check_version(settings: Settings) -> None:
    """Raises `VersionError`."""
    if settings.version != _core.VERSION:
        raise VersionError(_core.VERSION)


def told(error: BaseException) -> str:
    """In one line. A panic in the engine is not an `Exception`; the end of a worker is neither."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        raise error
    if isinstance(error, NagleScanError):
        return str(error)
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def read(captures: Sequence[Capture], with_paths: Callable[[dict[str, str]], T]) -> T:
    """What `with_paths` makes of them, from the paths that the engine reads, and their labels.

    What a network failed to bring is asked for again. Raises `BadCaptureError` for the capture that
    an error names.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return _read(captures, with_paths, attempt)
        except BadCaptureError as error:
            if not isinstance(error.__cause__, TransportError):
                raise
            time.sleep(PAUSE_S * attempt)
    return _read(captures, with_paths, ATTEMPTS)


def _read(
    captures: Sequence[Capture], with_paths: Callable[[dict[str, str]], T], attempt: int
) -> T:
    try:
        with ExitStack() as opened:
            return with_paths(
                {opened.enter_context(streams.opened(one)): one.shown for one in captures}
            )
    except CaptureError as error:
        for capture in captures:
            if str(error).startswith(f"{capture.shown}: "):
                reason = str(error).removeprefix(f"{capture.shown}: ")
                raise BadCaptureError(capture, reason, attempt) from error
        raise


def _answer(job: Job, settings: Settings) -> Answer:
    def scan(paths: dict[str, str]) -> _core.Scan:
        return _core.scan_captures(
            list(paths),
            settings.filter,
            settings.min_wait_ms,
            exchanges=False,
            progress=_core.Progress(),
            threads=1,
            labels=paths,
        )

    return answer(read(job.captures, scan), job, settings)
