"""Thousands of captures: sums, stalls and the worst connections, in Parquet files.

Needs `nagle-scan[fleet]`. The way of the data; a worker holds nothing and writes nothing:

    command                 the options of `nagle-scan fleet`
    run                     from names to batches
    inputs, remote          names and URLs become files
    sets                    which are new, which are known, which are one capture
    workers, cluster        executors: processes of this machine, or a Dask cluster
    scanning, rows          on a worker: reads a set, and makes rows of it
    batch, parquet          rows become files, the last of which is the commit
    folder                  the files, on this machine or in a store
    fields, table           the columns; what counts of all rows, asked in SQL
    mend, tidy              what is damaged is put aside; few files of many
    rises, changes, turns   where a share rises; what is not yet told, and whose turn it is
    fleet, services, trends the class `Fleet`: what to change, and since when a service stalls
    page                    the page
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

from nagle_scan.api import keys
from nagle_scan.api.names import Label, checked_labels
from nagle_scan.api.spooling import as_paths
from nagle_scan.errors import OutputError
from nagle_scan.fleet.work import Settings
from nagle_scan.result.options import (
    DEFAULT_MIN_WAIT_MS,
    ScanOptions,
    check_kinds,
    check_number,
)
from nagle_scan.system import files, terminal

if TYPE_CHECKING:
    from distributed import Client

    from nagle_scan.fleet.fleet import Fleet

__all__ = ["Fleet", "scan_fleet"]

EXTRA = "pip install duckdb fsspec pyarrow"
CLUSTER = "pip install dask distributed"
PACKAGES = {"duckdb": EXTRA, "fsspec": EXTRA, "pyarrow": EXTRA}
PACKAGES |= {"dask": CLUSTER, "distributed": CLUSTER}
OWN_KINDS = {
    "output": (str | os.PathLike, "a folder (str or os.PathLike)"),
    "scheduler": (str | None, "the address of a scheduler (str)"),
    "workers": (SupportsIndex | None, "an integer"),
    "keep_days": (SupportsFloat | None, "a number of days"),
    "labels": (Mapping, "a mapping of addresses to Label"),
}
"""The types of options, in the form of those of a scan."""


def missing(error: ImportError) -> str:
    """The advice to install a missing package. Raises `error` if it is none of the extras."""
    package = (error.name or "").partition(".")[0]
    if package not in PACKAGES:
        raise error
    return f"fleets need {error.name}, which is not there: {PACKAGES[package]}"


def scan_fleet(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str] = "fleet",
    client: Client | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    filter: str | None = None,
    min_wait_ms: float = DEFAULT_MIN_WAIT_MS,
    anonymize: bytes | None = None,
    labels: Mapping[str, Label] = {},
    everything: bool = False,
    keep_days: float | None = None,
    progress: bool = False,
) -> Fleet:
    """Scans many captures and adds what is new in them to the fleet in `output`.

    `paths` are files, folders, patterns (`"captures/**/*.pcap*"`) and URLs that fsspec opens;
    `output` is a folder, also in a store (`s3://`, `gs://`, `az://`). `workers` processes of this
    machine do the work, one for each processor by default, or those of a Dask `client` or
    `scheduler` (`"tls://10.0.0.5:8786"`), which must reach the captures. Any number of hosts may
    write into one folder at the same time. `labels` names servers by `10.0.0.5` or `10.0.0.5:80`.
    `everything` also keeps clean connections, possible stalls and other waits; `keep_days` removes
    older days, but for their sums. The others are as in `scan`; all runs into one folder must have
    the same `filter`, `min_wait_ms` and key. Processes begin with the script that calls this: it
    needs `if __name__ == "__main__":`.

    Captures that cannot be read are in `Fleet.failures`. Raises `CaptureError` where nothing is
    found, `OutputError` for a folder that cannot be written or holds something else,
    `NagleScanError` without a scheduler or workers, and if they are lost: what was done until then
    stays, and the next call goes on. `ValueError` for a bad key or limit and for what contradicts
    itself, `TypeError` as `scan`, `ImportError` without a package of the extra.
    """
    try:
        from nagle_scan.fleet import run
        from nagle_scan.fleet.fleet import Fleet
    except ImportError as error:
        raise ImportError(missing(error)) from None
    options = ScanOptions(filter, min_wait_ms)
    options.check()
    check_kinds(
        OWN_KINDS,
        {
            "output": output,
            "scheduler": scheduler,
            "workers": workers,
            "labels": labels,
            "keep_days": keep_days,
        },
    )
    check_number("workers", workers)
    if keep_days is not None and not keep_days > 0:
        raise ValueError(f"keep_days must be more than 0: {keep_days}")
    key = None if anonymize is None else keys.checked(anonymize)
    request = run.RunRequest(
        as_paths(paths),
        None,
        files.utf8_name(output, OutputError),
        Settings.of(options, key, everything, checked_labels(labels)),
        scheduler,
        workers,
        None if keep_days is None else float(keep_days),
    )
    run.check(request, client)
    stream = sys.stderr if progress else None
    run.run(request, terminal.note if progress else lambda _: None, stream, client)
    return Fleet(request.output)


def __getattr__(name: str) -> object:
    """`Fleet` needs packages of the extra."""
    if name != "Fleet":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from nagle_scan.fleet.fleet import Fleet
    except ImportError as error:
        raise ImportError(missing(error)) from None
    return Fleet
