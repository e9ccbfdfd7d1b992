"""What runs on a worker: it reads captures and returns rows. It writes nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

from nagle_scan import _core
from nagle_scan.api import names
from nagle_scan.errors import CaptureError, NagleScanError
from nagle_scan.fleet import inputs, rows
from nagle_scan.fleet.work import Failure, File, Scanned, Set, Settings

ATTEMPTS = 3
"""At a capture that comes over a network."""
PAUSE_S = 1.0
"""Before the second one; twice as long before the third."""
NO_CAPTURE = "not a capture file"
"""So the engine begins what will be true until the file changes."""


def scan(sets: Sequence[Set], settings: Settings) -> list[Scanned]:
    """One result for each. What goes wrong is returned: nobody must try again what cannot work."""
    return [_scan(one, settings) for one in sets]


def failed(wanted: Set, reason: str, others: Sequence[Failure] = ()) -> Scanned:
    """None of its files was read."""
    own = (_failure(file, reason, wanted) for file in wanted.files)
    return Scanned(wanted._replace(files=()), {}, failures=(*others, *own))


def _scan(wanted: Set, settings: Settings) -> Scanned:
    """Of several files those that can be read: others may be lost for ever."""
    failures: list[Failure] = []
    while wanted.files:
        try:
            found = _patiently(wanted, settings)
            summary, made = found.summary(), rows.of(found, wanted, settings)
            cut = made["captures"]["complete"].count(False)
            return Scanned(wanted, made, summary.packets, summary.verdict, cut, tuple(failures))
        except BaseException as error:
            # A panic in the engine is not an `Exception`; the end of a worker is neither.
            if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                raise
            bad = _bad(error, wanted.files)
            if bad is None:
                told = f"{type(error).__name__}: {error}".partition("\n")[0]
                why = str(error) if isinstance(error, NagleScanError) else told
                return failed(wanted, why, failures)
            failures.append(_failure(bad, str(error).removeprefix(f"{bad.shown}: "), wanted))
            if wanted.replaces:
                # The old result has what this file held.
                break
            wanted = wanted._replace(files=tuple(one for one in wanted.files if one != bad))
    return Scanned(wanted._replace(files=()), {}, failures=tuple(failures))


def _failure(file: File, reason: str, wanted: Set) -> Failure:
    return Failure(file, reason, wanted.replaces, reason.startswith(NO_CAPTURE))


def _bad(error: BaseException, every: Sequence[File]) -> File | None:
    """The one that an error names."""
    is_told = isinstance(error, CaptureError)
    return next((one for one in every if is_told and str(error).startswith(f"{one.shown}: ")), None)


def _patiently(wanted: Set, settings: Settings) -> _core.Scan:
    """What a network failed to bring is asked for again."""
    for attempt in range(1, ATTEMPTS):
        try:
            return _once(wanted, settings)
        except inputs.TransportError:
            time.sleep(PAUSE_S * attempt)
    return _once(wanted, settings)


def _once(wanted: Set, settings: Settings) -> _core.Scan:
    with ExitStack() as opened:
        paths = {opened.enter_context(inputs.readable(one)): one.shown for one in wanted.files}
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
