"""The captures of a set, read again: here, or on the host that alone has them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.api.scan import Scan, scan
from nagle_scan.errors import CaptureError
from nagle_scan.fleet import identity, streams
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.work import Capture, Failure, Located

if TYPE_CHECKING:
    from distributed import Client


class Set(NamedTuple):
    """What is to be read, and how it was."""

    id: str
    files: Sequence[Capture]
    filter: str | None
    min_wait_ms: float


def scan_again(wanted: Set) -> Scan:
    """Copies of remote captures stay as long as the scan: it may look into frames again.

    Raises `CaptureError` for a capture that is gone or has changed since.
    """
    captures = [_as_it_was(file) for file in wanted.files]
    with ExitStack() as copies, ExitStack() as opened:
        paths = [
            (copies if is_url(each.url) else opened).enter_context(streams.opened(each))
            for each in captures
        ]
        found = scan(paths, wanted.filter, wanted.min_wait_ms)
        # Has one changed meanwhile?
        opened.close()
        weakref.finalize(found, copies.pop_all().close)
    return found


def report(wanted: Set, stream: int) -> bytes:
    """The page of one connection with stalls.

    Raises as `scan_again`, `CaptureError` for a connection without, and `UnknownConnectionError`.
    """
    from nagle_scan.report import html

    found = scan_again(wanted)
    row = found.row_of(stream)
    if not row.stalls:
        raise CaptureError(f"stream {stream} of the set {wanted.id} has no stall")
    return html.connection_page(found, row)


def report_where_it_is(
    wanted: Set, stream: int, client: Client | None, scheduler: str | None
) -> bytes:
    """The same, made by a worker of the host that has the captures, if this one does not.

    Raises `CaptureError` also if there is no such worker.
    """
    first = wanted.files[0]
    if not first.host or _is_here(wanted):
        return report(wanted, stream)
    if client is None and scheduler is None:
        raise CaptureError(
            f"{first.shown}: only {first.host} has it: name a cluster with a worker there "
            "(--scheduler)"
        )
    from nagle_scan.fleet import workers

    with workers.connected(scheduler, None, client) as pool:
        size = sum(file.size for file in wanted.files)
        task = workers.Task(report, (wanted, stream), first.host, size)
        (done,) = pool.run([task])
    if done.error:
        raise CaptureError(f"{first.shown}: {done.error}")
    page: bytes = done.result
    return page


def _as_it_was(file: Capture) -> Capture:
    """A capture of the fleet, if there is still the same under its name."""
    now = identity.of(Located(file.url))
    if isinstance(now, Failure):
        raise CaptureError(f"{file.shown}: {now.reason}")
    if now.content != file.content:
        raise CaptureError(f"{file.shown}: no longer the capture that was scanned")
    return now


def _is_here(wanted: Set) -> bool:
    """Can this process read all of it?"""
    try:
        for file in wanted.files:
            _as_it_was(file)
    except CaptureError:
        return False
    return True
