"""`-o evidence.pcapng`: the frames of the clearest stalls and their neighbours, with comments."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from nagle_scan import _core, outputs
from nagle_scan.outputs import Options
from nagle_scan.report import pcapng
from nagle_scan.report.layout import count, duration, file_names
from nagle_scan.results import Scan

MAX_CONNECTIONS = 5
SHOWN_STALLS = 5
"""Stalls of a connection whose neighbours are shown, if it is too long to be shown whole."""
MAX_STALLS = 2000
"""More cannot lie within the frames that are shown of one connection."""
MOST_NAMES = 40_000
"""Bytes of capture names in the file's comment, which holds 65,535; beyond, a few stand for all."""
FEW_NAMES = 20

Comments = dict[int, list[str]]


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes the evidence. Raises `OutputError`."""
    scan.to_evidence(path, payload=options.payload)


def save(scan: Scan, path: str, payload: bool) -> None:
    """Writes the evidence file; see `Scan.to_evidence`."""
    _check(scan, path)
    rows = scan.core.affected(MAX_CONNECTIONS)
    shown = _core.choose_frames(scan.paths, scan.filter, [_wanted(scan, row) for row in rows])
    numbers = sorted(frame for connection in shown for frame, _ in connection.frames)
    frames = _core.read_frames(scan.paths, numbers, payload, scan.key)
    here = {row.frame: place for place, row in enumerate(frames, 1)}
    comments: Comments = defaultdict(list)
    for row, connection in zip(rows, shown, strict=True):
        _comment_connection(row, connection, here, comments)
        for stall in scan.core.stalls_of(row.id, MAX_STALLS):
            _comment_stall(stall, here, comments)
    pcapng.write(
        path, "\n".join(_about(scan, payload, len(numbers) - len(frames))), frames, comments
    )


def _check(scan: Scan, path: str) -> None:
    """The captures are read again, and must not be overwritten."""
    if not scan.can_be_read_again:
        raise _core.OutputError(f"{path}: {outputs.CANNOT_READ_AGAIN}")
    if os.path.realpath(path) in map(os.path.realpath, scan.paths):
        raise _core.OutputError(f"{path}: would overwrite the capture")


def _wanted(scan: Scan, row: _core.ConnectionRow) -> tuple[int, list[tuple[int, int]]]:
    stalls = scan.core.stalls_of(row.id, SHOWN_STALLS)
    return row.id, [(stall.frame_from, stall.frame_to) for stall in stalls]


def _comment_connection(
    row: _core.ConnectionRow, shown: _core.ShownRow, here: dict[int, int], comments: Comments
) -> None:
    """What its first frame and each frame after a gap need to say."""
    present = [(frame, place) for frame, place in shown.frames if frame in here]
    if not present:
        return
    comments[present[0][0]].append(
        f"tcp.stream {row.id} of the capture: client {row.client}, server {row.server}: "
        f"{count(row.stalls, 'stall')}, {duration(row.stalled_ms)} lost; "
        f"{len(present):,} of its {count(shown.of, 'frame')} are in this file"
    )
    for (_, before), (frame, place) in pairwise(present):
        if place > before + 1:
            comments[frame].append(
                f"{count(place - before - 1, 'frame')} of this connection before this one "
                "left out of this file"
            )


def _comment_stall(stall: _core.WaitRow, here: dict[int, int], comments: Comments) -> None:
    keys = (stall.frame_from, stall.frame_ack, stall.frame_to)
    if not all(frame in here for frame in keys):
        return
    unacked, ack, held = (_named(frame, here) for frame in keys)
    late = f"{stall.ack_delay_ms:.1f} ms late"
    if stall.cause == "nagle_rtt":
        late = "not delayed"
    comments[stall.frame_from].append(
        f"[{unacked}] unacknowledged: the next small segment waits for its ACK"
    )
    comments[stall.frame_ack].append(f"[{ack}] pure ACK, {late}; it releases {held}")
    comments[stall.frame_to].append(
        f"[{held}] held {stall.wait_ms:.1f} ms by Nagle; released by {ack}"
    )


def _named(frame: int, here: dict[int, int]) -> str:
    """A frame by its number in the capture, and in the evidence where that differs."""
    return f"frame {frame}" + (f" (here {here[frame]})" if here[frame] != frame else "")


def _about(scan: Scan, payload: bool, refused: int) -> Iterator[str]:
    """The comment on the file."""
    summary = scan.core.summary()
    yield (
        f"Evidence of Nagle stalls found by nagle-scan {_core.VERSION} in {_names(scan.names)} "
        f"({count(summary.packets, 'packet')})"
    )
    if not summary.stalls:
        yield "No stall was found: this file holds no frames"
    yield "Frame and stream numbers in comments are those of the capture, 'here' those of this file"
    if scan.filter is not None:
        yield "A capture filter was used: streams count only what it let through"
    yield "Display filter for the commented frames: frame.comment"
    if not payload:
        yield (
            "Frames are cut after the TCP header; where payload was cut, the TCP checksum is that "
            "of zeros in its place, since the real one would tell of it"
        )
    elif summary.anonymized:
        yield "Payload was kept: it may name hosts and addresses that were replaced elsewhere"
    if summary.anonymized:
        yield f"Addresses anonymized: {summary.anonymized}, keyed; MAC addresses too"
        yield "IP options are zeros and TCP options NOPs where they could hold an address"
    if refused:
        yield f"{count(refused, 'frame')} left out: addresses in extension headers"


def _names(names: list[str]) -> str:
    every = file_names(names)
    if len(every.encode()) <= MOST_NAMES:
        return every
    return f"{file_names(names[:FEW_NAMES])} and {len(names) - FEW_NAMES:,} more"
