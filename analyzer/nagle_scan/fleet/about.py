"""`fleet.json`: which version and which settings wrote a dataset. No others may add to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from nagle_scan.errors import OutputError
from nagle_scan.fleet import tables
from nagle_scan.fleet.work import Settings
from nagle_scan.system import files
from nagle_scan.words.wording import printable

FORMAT = 1
"""Of the folder. Another one is refused."""
NAME = "fleet.json"
NAMES = {"format", "version", "filter", "min_wait_ms", "key"}
DIGEST_LEN = 16


def check(path: str, settings: Settings) -> None:
    """Raises `OutputError` unless `path` can hold results of these settings; touches nothing."""
    if not os.path.lexists(path):
        return
    try:
        # What a lock or a run that was cut off left does not count.
        names = [name for name in os.listdir(path) if name[0] != "."]
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
    if NAME not in names:
        if names:
            raise OutputError(f"{path}: a folder with other files: name a new one")
        return
    there, here = read(path), _of(settings)
    for name, words in (
        ("version", "version of nagle-scan"),
        ("key", "key"),
        ("filter", "filter"),
        ("min_wait_ms", "--min-wait"),
    ):
        if there[name] != here[name]:
            values = "" if name == "key" or here["key"] else f" ({_told(there, here, name)})"
            raise OutputError(f"{path}: written with another {words}{values}: name a new folder")


def read(path: str) -> dict[str, Any]:
    """What `fleet.json` tells. Raises `OutputError` if it is none of this format."""
    name = os.path.join(path, NAME)
    try:
        with open(name, encoding="utf-8") as file:
            told = json.load(file)
        if told["format"] == FORMAT and set(told) >= NAMES:
            return dict(told)
    except OSError as error:
        raise OutputError(f"{name}: cannot read: {files.reason_of(error)}") from None
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise OutputError(f"{path}: written by another version of nagle-scan: name a new folder")


def write(path: str, settings: Settings) -> None:
    """Makes the folder, if it is not there. Raises `OutputError`."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {files.reason_of(error)}") from None
    name = os.path.join(path, NAME)
    if not os.path.exists(name):
        files.replace(name, json.dumps(_of(settings), indent=1).encode() + b"\n")


def _of(settings: Settings) -> dict[str, Any]:
    """Never the key itself; a filter may tell addresses that it hides."""
    key, filter = settings.key, settings.filter
    if key is not None and filter is not None:
        filter = tables.hidden(filter, key)
    return {
        "format": FORMAT,
        "version": settings.version,
        "filter": filter,
        "min_wait_ms": float(settings.min_wait_ms),
        "key": None if key is None else blake2b(digest_size=DIGEST_LEN, key=key).hexdigest(),
    }


def _told(there: Mapping[str, Any], here: Mapping[str, Any], name: str) -> str:
    was, now = (
        "none" if each[name] is None else printable(str(each[name])) for each in (there, here)
    )
    return f"{was} there, {now} now"
