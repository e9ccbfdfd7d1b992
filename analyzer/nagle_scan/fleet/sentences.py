"""What a scan says of its services: their names, who held what, and what to change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nagle_scan.api.names import Label
from nagle_scan.report.options import Options
from nagle_scan.report.view import Limits, View
from nagle_scan.result import Result
from nagle_scan.words.wording import endpoint

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.fleet.work import Job, Settings

ALL = Limits(*[sys.maxsize] * len(Limits._fields))


def label(addr: str, port: int, settings: Settings, shown: str) -> Label:
    """What the user calls a server; without a name `shown`, its address as the tables have it."""
    end = endpoint(addr, port)
    if end in settings.labels:
        known = settings.labels[end]
        return known._replace(service=known.service or endpoint(shown, port))
    known = settings.labels.get(addr, Label())
    service = f"{known.service}:{port}" if known.service else endpoint(shown, port)
    return known._replace(service=service)


def of(
    scan: _core.Scan, job: Job, settings: Settings
) -> dict[tuple[str, int], tuple[str, str, str]]:
    """Of each server with stalls (address, port): who held what, and the change to make, in short
    and in full."""
    files = [file.shown for file in job.captures]
    result = Result(files, settings.filter, scan, settings.key, settings.min_wait_ms)
    view = View(result, ALL, Options())
    told: dict[tuple[str, int], tuple[str, str, str]] = {}
    for group in view.groups:
        # The surest comes first.
        end = group.worst.server_ip, group.worst.server_port
        fix = view.fix_for(group)
        change = fix.in_short if fix else ""
        told.setdefault(end, (view.sentence(group), change, view.first_remedy(group)))
    return told
