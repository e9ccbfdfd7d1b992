"""Thousands of captures, and captures larger than a machine, on Dask. Needs `nagle-scan[fleet]`.

The way of the data; a worker holds nothing, and one process, the coordinator, writes:

    command                 the options of `nagle-scan fleet`
    run                     the coordinator: from names to a dataset
    inputs, remote          names and URLs become files
    identity, sets          what they hold; which are one capture, which are known
    cluster, scanning       the workers; a bounded number of tasks, and what became of them
    task, streams, passes   on a worker: reads a set, or its part of a large one
    tables                  what was found, as Arrow tables
    dataset, about          what was found, and with which settings, in a folder
    parquet, journal        its files, which change together
    parts, sums             what each part of it adds up to, and all of it
    changes, fleet          what is new; the class `Fleet`
    originals               the captures of a set, read again for a report
    page, hours             the page
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

from nagle_scan import _core
from nagle_scan.api import keys
from nagle_scan.api.scan import KINDS, as_paths, check_kinds, check_min_wait, check_number
from nagle_scan.errors import OutputError
from nagle_scan.fleet.work import Settings
from nagle_scan.result import DEFAULT_MIN_WAIT_MS
from nagle_scan.system import files, terminal

if TYPE_CHECKING:
    from distributed import Client

    from nagle_scan.fleet.fleet import Fleet

__all__ = ["Fleet", "scan_fleet"]

EXTRA = "pip install 'nagle-scan[fleet]'"
PACKAGES = {"dask", "distributed", "fsspec", "pyarrow"}
SPLIT_ABOVE = 8 * 10**9
"""Bytes of a capture of several files that are shared among all workers."""
_FOLDER = "a folder (str or os.PathLike)"
OWN_KINDS = {
    "output": (str | os.PathLike, _FOLDER),
    "scheduler": (str | None, "the address of a scheduler (str)"),
    "workers": (SupportsIndex | None, "an integer"),
    "split_above": (SupportsFloat, "a number of bytes"),
    "scratch": (str | os.PathLike | None, _FOLDER),
}
"""As `scan.KINDS`."""


def missing(error: ImportError) -> str:
    """What to say of a package that is not there. Raises `error` if it is none of the extra's."""
    if (error.name or "").partition(".")[0] not in PACKAGES:
        raise error
    return f"fleets need {error.name}, which is not there: {EXTRA}"


def scan_fleet(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str] = "fleet",
    client: Client | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
    on_hosts: bool = False,
    split_above: int = SPLIT_ABOVE,
    scratch: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Fleet:
    """Scans many captures and adds what is new in them to the dataset in the folder `output`.

    `paths` are files, folders, patterns (`"captures/**/*.pcap*"`) and URLs that fsspec opens. The
    work is done by the workers of a Dask `client`, which stays open, of a `scheduler`
    (`"tcp://10.0.0.5:8786"`), or by so many `workers` (processes) of this machine, one for each
    processor unless told otherwise. `on_hosts`: the captures are files of the hosts of the
    cluster. A capture of several files with more bytes than `split_above` is shared among all
    workers, through the folder `scratch`, which all must see. The others are as in `scan`; all
    runs into one folder must have the same.

    Captures that cannot be read are in `Fleet.failures`. Raises `CaptureError` where nothing is
    found, `OutputError` for a folder that cannot be written, or holds something else,
    `NagleScanError` without a scheduler or workers, and if they are lost: what was done until then
    stays, and the next call goes on. `ValueError` for a bad key or limit and for what contradicts
    itself, `TypeError` as `scan`, `ImportError` without Dask.
    """
    try:
        from distributed import Client

        from nagle_scan.fleet import run
        from nagle_scan.fleet.fleet import Fleet
    except ImportError as error:
        raise ImportError(missing(error)) from None
    check_kinds(
        {**KINDS, **OWN_KINDS, "client": (Client | None, "a Client of Dask")},
        output=output,
        client=client,
        scheduler=scheduler,
        workers=workers,
        filter=filter,
        min_wait_ms=min_wait_ms,
        anonymize=anonymize,
        split_above=split_above,
        scratch=scratch,
    )
    check_min_wait(min_wait_ms)
    check_number("workers", workers)
    if not split_above >= 0:
        raise ValueError(f"split_above must be 0 or more: {split_above}")
    key = None if anonymize is None else keys.checked(anonymize)
    asked = run.Asked(
        as_paths(paths),
        None,
        files.utf8_name(output, OutputError),
        Settings(_core.VERSION, filter, float(min_wait_ms), key),
        scheduler,
        workers,
        on_hosts,
        split_above,
        None if scratch is None else files.utf8_name(scratch, OutputError),
    )
    run.check(asked, client)
    stream = sys.stderr if progress else None
    run.run(asked, terminal.note if progress else _say_nothing, stream, client)
    return Fleet(asked.output)


def _say_nothing(_: str) -> None:
    """Notes are for whoever watches."""


def __getattr__(name: str) -> object:
    """`Fleet` needs packages of the extra."""
    if name != "Fleet":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from nagle_scan.fleet.fleet import Fleet
    except ImportError as error:
        raise ImportError(missing(error)) from None
    return Fleet
