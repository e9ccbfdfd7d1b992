"""The captures of a set, read again: here, or on the host that alone has them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from nagle_scan.api.scan import Scan, scan
from nagle_scan.errors import CaptureError
from nagle_scan.fleet import inputs
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.table import Scope
from nagle_scan.fleet.work import Failure, File, Set

if TYPE_CHECKING:
    from distributed import Client


def scan_again(wanted: Set, scope: Scope) -> Scan:
    """Copies of remote captures stay as long as the scan: it may look into frames again.

    Raises `CaptureError` for a capture that is gone or has changed since.
    """
    every = [_as_it_was(file) for file in wanted.files]
    with ExitStack() as copies, ExitStack() as opened:
        paths = [
            (copies if is_url(one.path) else opened).enter_context(inputs.readable(one))
            for one in every
        ]
        found = scan(paths, scope.filter, scope.min_wait_ms)
        # Has one changed meanwhile?
        opened.close()
        weakref.finalize(found, copies.pop_all().close)
    return found


def report_here(every: Sequence[Set], scope: Scope, stream: int) -> bytes:
    """The page of one connection of a set, with stalls.

    Raises as `scan_again`, `CaptureError` for a connection without, and `UnknownConnectionError`.
    """
    from nagle_scan.report import html

    (wanted,) = every
    found = scan_again(wanted, scope)
    row = found.row_of(stream)
    if not row.stalls:
        raise CaptureError(f"stream {stream} of the set {wanted.id} has no stall")
    return html.connection_page(found, row)


def report(
    wanted: Set, scope: Scope, stream: int, client: Client | None, scheduler: str | None
) -> bytes:
    """The same, made by a worker of the host that alone has the captures, if this one has not."""
    first = wanted.files[0]
    if not first.host or _is_here(wanted):
        return report_here([wanted], scope, stream)
    if client is None and scheduler is None:
        told = f"only {first.host} has it: name a cluster with a worker there (--scheduler)"
        raise CaptureError(f"{first.shown}: {told}")
    from nagle_scan.fleet.cluster import connected
    from nagle_scan.fleet.workers import Task

    with connected(scheduler, client) as cluster:
        if first.host not in cluster.hosts:
            raise CaptureError(f"{first.shown}: no worker of the cluster is on {first.host}")
        task = Task(report_here, [wanted], (scope, stream), first.host, wanted.size)
        (done,) = cluster.run([task])
    if done.error:
        raise CaptureError(f"{first.shown}: {done.error}")
    page: bytes = done.result
    return page


def _as_it_was(file: File) -> File:
    """A capture of the fleet, if there is still the same under its name."""
    found = file if is_url(file.path) else inputs.of_path(file.path)._replace(host=file.host)
    (now,) = inputs.dated([found])
    if isinstance(now, Failure):
        raise CaptureError(f"{file.shown}: {now.reason}")
    if (now.size, now.first_ns) != (file.size, file.first_ns):
        raise CaptureError(f"{file.shown}: no longer the capture that was scanned")
    return now


def _is_here(wanted: Set) -> bool:
    """Can this process read all of it?"""
    try:
        return bool([_as_it_was(file) for file in wanted.files])
    except CaptureError:
        return False
