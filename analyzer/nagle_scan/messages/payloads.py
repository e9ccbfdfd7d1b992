"""Payload bytes, read again from the captures to recognise protocols."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from nagle_scan import _core


def read(
    paths: Sequence[str], numbers: Iterable[int], only_whole: bool = False
) -> dict[int, bytes]:
    """The payloads of these frames, by frame number, as far as they were captured.

    Frames that hold no TCP segment are left out; with `only_whole`, so are cut payloads. Empty
    unless all captures are files: opening a pipe again may block for ever.

    Raises `CaptureError` for a file that cannot be read again.
    """
    wanted = sorted(set(numbers))
    if not wanted or not all(os.path.isfile(path) for path in paths):
        return {}
    rows = _core.read_frames(list(paths), wanted, True, None)
    found = {row.frame: _payload(row) for row in rows}
    if only_whole:
        found = {row.frame: found[row.frame] for row in rows if _is_whole(row)}
    return found


def _payload(row: _core.FrameRow) -> bytes:
    return row.data[row.payload_at : row.payload_at + row.payload_len]


def _is_whole(row: _core.FrameRow) -> bool:
    return len(row.data) >= row.payload_at + row.payload_len
