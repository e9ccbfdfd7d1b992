"""Payload bytes, read again from the captures to recognise protocols."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nagle_scan import _core


class Payload(NamedTuple):
    """The payload of a segment, as far as it was captured; lengths in bytes."""

    data: bytes
    cut: int
    """Bytes that were sent beyond `data`."""
    frame_len: int
    """Captured bytes of its frame."""


NONE = Payload(b"", 0, 0)


class PayloadPair(NamedTuple):
    """Payloads of the unacknowledged segment and of the one held behind it."""

    unacked: bytes
    held: bytes
    server_port: int
    by_client: bool
    unacked_cut: int = 0
    """Bytes at its end that were not captured."""
    held_cut: int = 0


def pair_of(unacked: Payload, held: Payload, server_port: int, by_client: bool) -> PayloadPair:
    """The pair of a payload and of the one that waited for its ACK."""
    return PayloadPair(unacked.data, held.data, server_port, by_client, unacked.cut, held.cut)


def read(
    paths: Sequence[str], numbers: Iterable[int], scan: _core.Scan | None = None
) -> dict[int, Payload]:
    """The payloads of these frames, by frame number; with the `scan` of the captures it is faster.

    Frames that hold no TCP segment are left out. Empty unless all captures are files, and there is
    one at least: opening a pipe again may block for ever.

    Raises `CaptureError` for a file that cannot be read again.
    """
    wanted = sorted(set(numbers))
    if not wanted or not paths or not all(os.path.isfile(path) for path in paths):
        return {}
    found = {}
    for row in _core.read_frames(list(paths), wanted, True, None, scan):
        data = row.data[row.payload_at : row.payload_at + row.payload_len]
        found[row.frame] = Payload(data, row.payload_len - len(data), len(row.data))
    return found
