"""The options that callers of the Python interface give, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat, SupportsIndex

from nagle_scan.api import keys
from nagle_scan.errors import CaptureError
from nagle_scan.result import MAX_MIN_WAIT_MS, MAX_THREADS
from nagle_scan.system import files

_Path = str | os.PathLike[str]

KINDS: dict[str, tuple[Any, str]] = {
    "filter": (str | None, "a BPF expression (str)"),
    "min_wait_ms": (SupportsFloat, "a number"),
    "threads": (SupportsIndex | None, "an integer"),
    "anonymize": (bytes | None, f"a key of {keys.KEY_LEN} bytes"),
    "names": (Mapping | None, "a mapping of addresses to names"),
}
"""The type of each option, for `isinstance` and in words."""


def check_kinds(kinds: Mapping[str, tuple[Any, str]], **given: object) -> None:
    """Raises `TypeError` that says what was expected: the engine's says less."""
    for name, value in given.items():
        kind, expected = kinds[name]
        if not isinstance(value, kind):
            raise TypeError(f"{name} is {expected}, not {type(value).__name__}")


def check_min_wait(min_wait_ms: float) -> None:
    """Raises `ValueError`."""
    if not 0 < min_wait_ms <= MAX_MIN_WAIT_MS:
        raise ValueError(f"min_wait_ms must be more than 0 and at most an hour: {min_wait_ms}")


def check_number(name: str, number: int | None) -> None:
    """Checks a number of threads or processes, if it is told. Raises `ValueError`."""
    if number is not None and not 0 < number <= MAX_THREADS:
        raise ValueError(f"{name} must be 1 to {MAX_THREADS}: {number}")


def named(chosen: Mapping[str, str] | None, is_anonymized: bool) -> dict[str, str]:
    """The user's names of addresses, checked."""
    if not chosen:
        return {}
    from nagle_scan.api import names

    known = names.checked(chosen)
    return names.without_addresses(known) if is_anonymized else known


def as_paths(path_or_paths: _Path | Iterable[_Path]) -> list[str]:
    """Raises `TypeError` for what is no path, `CaptureError` for a name that is not UTF-8."""
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    if not isinstance(path_or_paths, Iterable) or isinstance(path_or_paths, bytes):
        kind = type(path_or_paths).__name__
        raise TypeError(f"a capture is a path (str or os.PathLike), or several, not {kind}")
    return [files.utf8_name(path, CaptureError) for path in path_or_paths]
