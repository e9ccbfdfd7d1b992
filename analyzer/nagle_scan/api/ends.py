"""Two captures of the same connections, one at each end: one scan, without a common clock."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nagle_scan import _core
from nagle_scan.api import captures
from nagle_scan.result.options import ScanOptions

Scanned = tuple[list[str], _core.Scan]
"""The paths of a scan in the order of its frames, and the scan."""


def parts(paths: Sequence[str]) -> list[list[str]]:
    """The files of each of two ends; empty if they can be no two ends.

    They are read once to see whether they are, and if not, once more.
    """
    sets: dict[str, list[str]] = {}
    for path in paths:
        sets.setdefault(captures.rotated_name(path), []).append(path)
    if len(sets) != 2 or not all(map(os.path.isfile, paths)):
        return []
    return sorted(sets.values(), key=_begin)


def _begin(paths: Sequence[str]) -> tuple[bool, int]:
    """By which the one comes first that a scan of both as one capture would read first."""
    first_ns = _core.first_time_ns(paths[0])
    return first_ns is None, first_ns or 0


def scanned(
    two: Sequence[list[str]],
    options: ScanOptions,
    progress: _core.Progress,
    only_both: bool = False,
) -> list[Scanned]:
    """One scan of `two` captures of the same connections; else each, or none if `only_both`."""
    first, second = two
    scans, is_swapped = _core.scan_ends(first, second, options, progress, only_both)
    if len(scans) == 1:
        return [(second + first if is_swapped else first + second, scans[0])]
    return list(zip(two, scans, strict=True)) if scans else []
