"""What runs on a worker: it reads captures and returns small tables. It writes nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

from nagle_scan import _core
from nagle_scan.api import names
from nagle_scan.errors import CaptureError, NagleScanError
from nagle_scan.fleet import streams, tables
from nagle_scan.fleet.streams import TransportError
from nagle_scan.fleet.work import Answer, Capture, Failure, Job, Scanned, Settings

ATTEMPTS = 3
"""At a capture that comes over a network."""
PAUSE_S = 1.0
"""Before the second one; twice as long before the third."""
NO_CAPTURE = "not a capture file"
"""So the engine begins what will be true until the file changes."""


class BadCaptureError(Exception):
    """A capture cannot be read."""

    def __init__(self, capture: Capture, reason: str, attempts: int) -> None:
        super().__init__(reason)
        self.capture = capture
        self.attempts = attempts


def scan_sets(jobs: Sequence[Job], settings: Settings) -> list[Scanned]:
    """One result for each, in their order."""
    return [scan_set(job, settings) for job in jobs]


def scan_set(job: Job, settings: Settings) -> Scanned:
    """Scans a set; of several files those that can be read: others may be lost for ever.

    What goes wrong is returned: nobody must try again what cannot work.
    """
    failures: list[Failure] = []
    while job.captures:
        try:
            return Scanned(job, _answer(job, settings), tuple(failures))
        except BadCaptureError as bad:
            failures.append(failure(bad.capture, str(bad), job, bad.attempts))
            job = job._replace(captures=tuple(one for one in job.captures if one != bad.capture))
            if job.replaces:
                # The old result has what this capture held.
                break
        except BaseException as error:
            # A panic in the engine is not an `Exception`; the end of a worker is neither.
            if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                raise
            return failed(job, _told(error), 1, failures)
    return Scanned(job, None, tuple(failures))


def failed(job: Job, reason: str, attempts: int, others: Sequence[Failure] = ()) -> Scanned:
    """None of its captures was read."""
    own = (failure(capture, reason, job, attempts) for capture in job.captures)
    return Scanned(job._replace(captures=()), None, (*others, *own))


def failure(capture: Capture, reason: str, job: Job, attempts: int = 1) -> Failure:
    """For the table."""
    return Failure(
        capture.url,
        reason,
        capture.host,
        capture.size,
        capture.modified,
        job.replaces,
        attempts,
        is_final=reason.startswith(NO_CAPTURE),
    )


def _told(error: BaseException) -> str:
    if isinstance(error, NagleScanError):
        return str(error)
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _answer(job: Job, settings: Settings) -> Answer:
    """What a network failed to bring is asked for again. Raises `BadCaptureError`."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            scan = _scan(job, settings)
            break
        except CaptureError as error:
            bad = _bad_capture(error, job.captures, attempt)
            if bad is None:
                raise
            if not isinstance(error, TransportError) or attempt == ATTEMPTS:
                raise bad from error
            time.sleep(PAUSE_S * attempt)
    found = tables.of(scan, job, settings)
    incomplete = found["captures"]["complete"].to_pylist().count(False)
    summary = scan.summary()
    return Answer(job.id, tables.to_bytes(found), summary.packets, summary.verdict, incomplete)


def _scan(job: Job, settings: Settings) -> _core.Scan:
    with ExitStack() as opened:
        paths = {opened.enter_context(streams.opened(one)): one.shown for one in job.captures}
        return _core.scan_captures(
            list(paths),
            settings.filter,
            settings.min_wait_ms,
            exchanges=False,
            progress=_core.Progress(),
            threads=1,
            names=names.services(settings.labels),
            labels=paths,
            hourly=True,
        )


def _bad_capture(
    error: CaptureError, captures: Sequence[Capture], attempt: int
) -> BadCaptureError | None:
    """The one that an error names."""
    for capture in captures:
        if str(error).startswith(f"{capture.shown}: "):
            return BadCaptureError(capture, str(error).removeprefix(f"{capture.shown}: "), attempt)
    return None
