"""Names and paths that callers of the Python interface give, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from nagle_scan.errors import CaptureError
from nagle_scan.system import files

_Path = str | os.PathLike[str]


def named(chosen: Mapping[str, str] | None, is_anonymized: bool) -> dict[str, str]:
    """The user's names of addresses, checked."""
    if not chosen:
        return {}
    from nagle_scan.api import names

    known = names.checked(chosen)
    return names.without_addresses(known) if is_anonymized else known


def as_paths(path_or_paths: _Path | Iterable[_Path]) -> list[str]:
    """Raises `TypeError` for anything but a path, `CaptureError` for a name that is not UTF-8."""
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    if not isinstance(path_or_paths, Iterable) or isinstance(path_or_paths, bytes):
        kind = type(path_or_paths).__name__
        raise TypeError(f"a capture is a path (str or os.PathLike), or several, not {kind}")
    return [files.utf8_name(path, CaptureError) for path in path_or_paths]
