"""The work of a worker: it reads captures and returns rows. It writes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from nagle_scan import _core
from nagle_scan.api import names
from nagle_scan.errors import CaptureError, NagleScanError
from nagle_scan.fleet import inputs, rows
from nagle_scan.fleet.work import Failure, File, Scanned, Set, Settings
from nagle_scan.fleet.workers import ClusterError

PAUSES_S = (1.0, 2.0)
"""Before a capture that comes over a network is tried again."""


def scan(sets: Sequence[Set], settings: Settings) -> Scanned:
    """Their rows. What goes wrong is returned: nobody must try again what cannot work."""
    if settings.version != _core.VERSION:
        raise ClusterError(f"a worker has nagle-scan {_core.VERSION}, this is {settings.version}")
    made: dict[str, rows.Columns] = {}
    read: list[Set] = []
    failures: list[Failure] = []
    for one in sets:
        if found := _scan(one, settings, failures):
            read.append(found[0])
            rows.extend(made, found[1])
    return Scanned(tuple(read), made, tuple(failures))


def failed(sets: Iterable[Set], reason: str) -> Scanned:
    """None of them was read."""
    failures = (Failure(file, reason) for one in sets for file in one.files)
    return Scanned(failures=tuple(failures))


def _scan(
    wanted: Set, settings: Settings, failures: list[Failure]
) -> tuple[Set, dict[str, rows.Columns]] | None:
    """The rows of the files of a set that can be read, if any: the others may be lost for ever."""
    while wanted.files:
        try:
            return wanted, _patiently(wanted, settings)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # A panic in the engine is not an `Exception`.
            bad = _bad(error, wanted.files)
            if bad is None:
                kind = f"{type(error).__name__}: {error}".partition("\n")[0]
                why = str(error) if isinstance(error, NagleScanError) else kind
                failures += failed([wanted], why).failures
                return None
            failures.append(Failure(bad, str(error).removeprefix(f"{bad.path}: ")))
            if wanted.replaces:
                # The old result has what this file held.
                return None
            wanted = wanted._replace(files=tuple(one for one in wanted.files if one != bad))
    return None


def _bad(error: BaseException, every: Sequence[File]) -> File | None:
    """The one that an error names."""
    names_file = isinstance(error, CaptureError)
    return next(
        (one for one in every if names_file and str(error).startswith(f"{one.path}: ")), None
    )


def _patiently(wanted: Set, settings: Settings) -> dict[str, rows.Columns]:
    """Rows, tried again where a network failed to bring the files."""
    for pause_s in PAUSES_S:
        try:
            return _once(wanted, settings)
        except inputs.TransportError:
            time.sleep(pause_s)
    return _once(wanted, settings)


def _once(wanted: Set, settings: Settings) -> dict[str, rows.Columns]:
    with ExitStack() as opened:
        paths = {opened.enter_context(inputs.readable(one)): one for one in wanted.files}
        options = settings.options._replace(
            threads=1,
            names=names.services(settings.labels),
            labels={path: one.path for path, one in paths.items()},
            hourly=True,
        )
        scan = _core.scan_captures(list(paths), options, _core.Progress())
        ends = [inputs.hash_of_ends(path, one.size, settings.key) for path, one in paths.items()]
    return rows.of(scan, wanted, settings, ends)
