"""Turns to tell: hosts that see a change in the same minutes tell it once.

A turn follows from what was told before, and is taken by writing a file that may not be there
yet. Whoever finds it taken waits for what the other tells, and then looks for what is left.
"""

from __future__ import annotations

import os
import time
from hashlib import blake2b
from itertools import count

from nagle_scan.errors import CaptureError
from nagle_scan.fleet import inputs
from nagle_scan.fleet.fields import CHANGES
from nagle_scan.fleet.folder import TURNS, Folder
from nagle_scan.fleet.table import Table
from nagle_scan.fleet.work import digits

PATIENCE_S = 180.0
"""Time for a run of another host to tell: then it is taken for killed."""
LOOK_S = 0.5


def taken(table: Table, key: bytes | None) -> str:
    """The name of the turn, if it is ours; empty if another run has told something meanwhile.

    Raises `CaptureError`, `OutputError`."""
    host = blake2b(inputs.host().encode(), key=key or b"", digest_size=8).hexdigest()
    before = table.names(CHANGES)
    for number in count():
        name = f"{TURNS}/{digits(repr((number, before)).encode())}"
        if table.folder.create(name, f"{host} {os.getpid()}".encode()):
            return name
        if _is_told(table.folder, name, host, before):
            return ""
    raise AssertionError


def _is_told(folder: Folder, name: str, host: str, before: list[str]) -> bool:
    """Has who took it told something? False if that run has ended without."""
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s:
        is_over = _is_over(folder, name, host)
        if Table(folder).names(CHANGES) != before:
            return True
        if is_over:
            return False
        time.sleep(LOOK_S)
    return False


def _is_over(folder: Folder, name: str, host: str) -> bool:
    """Nobody can tell of a process of another host."""
    try:
        owner, _, process = folder.content(name).decode().partition(" ")
        if owner != host:
            return False
        if int(process) != os.getpid():
            os.kill(int(process), 0)
            return False
    except PermissionError:
        return False
    except (CaptureError, ProcessLookupError, ValueError):
        # Its run has failed and taken it back, or was killed.
        return True
    return True
