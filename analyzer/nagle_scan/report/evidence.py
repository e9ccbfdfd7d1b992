"""The frames of the clearest stalls and their neighbours, with comments: a part of the ticket."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from nagle_scan import _core
from nagle_scan.errors import OutputError
from nagle_scan.report import every_stall, notices, verdicts
from nagle_scan.report.options import Options
from nagle_scan.result import NO_FRAMES, Result
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.wording import count, file_names, sentence_start

MAX_CONNECTIONS = 5
"""Connections with frames in the file, the worst ones."""
SHOWN_STALLS = 5
"""Stalls shown with their neighbours, in a connection too long to show whole."""
MAX_STALLS = 2000
"""Stalls of a connection that get comments: the frames shown of one hold no more."""
MOST_NAMES = 40_000
"""Bytes of capture names in the file's comment, which holds 65,535; more names are abbreviated."""
FEW_NAMES = 20
"""Names that are left if all are too many."""
NUMBERS = "Frame and stream numbers in comments are those of the capture, 'here' those of this file"
NO_FRAMES_HERE = "No stall was found: this file contains no frames"


def write(result: Result, path: str, options: Options) -> None:
    """Writes the evidence. Raises `OutputError`, and `CaptureError` for a capture that is gone."""
    check(result, path)
    rows = _connections(result)
    wanted = [
        (row.connection, [(stall.frame_from, stall.frame_to) for stall in stalls])
        for row in rows
        for stalls in [result.core.stalls_of(row.connection, SHOWN_STALLS)]
    ]
    shown = _core.choose_frames(result.read_paths, result.options, wanted)
    numbers = sorted(frame for connection in shown for frame, _ in connection.frames)
    frames = _core.read_frames(result.read_paths, numbers, options.payload, result.key, result.core)
    here = {row.frame: place for place, row in enumerate(frames, 1)}
    comments: every_stall.Comments = defaultdict(list)
    names, used = result.core.names(), dict[str, str]()
    for row, connection in zip(rows, shown, strict=True):
        _comment_connection(row, connection, here, comments)
        for stall in result.core.stalls_of(row.connection, MAX_STALLS):
            ends = (stall.sender_ip, stall.receiver_ip)
            used |= {addr: names[addr] for addr in ends if addr in names}
            if all(frame in here for frame in every_stall.frames(stall)):
                every_stall.comment(stall, partial(_named, here=here), comments)
    numbering = NUMBERS if result.core.summary().stalls else f"{NO_FRAMES_HERE}\n{NUMBERS}"
    said = "\n".join(about(result, options.payload, numbering))
    with files.whole(path) as name:
        _core.write_pcapng(name, said, frames, comments, used)


def check(result: Result, path: str) -> None:
    """The captures are read again, and must not be overwritten."""
    why = result.why_not_again
    if why:
        raise OutputError(f"{path}: {why}")
    if result.core.summary().is_text:
        raise OutputError(f"{path}: {NO_FRAMES}")
    if os.path.realpath(path) in map(os.path.realpath, result.paths):
        raise OutputError(f"{path}: would overwrite the capture")


def _connections(result: Result) -> list[_core.ConnectionRow]:
    """The worst, and that of the clearest stall, which the reports show."""
    rows = result.core.affected(MAX_CONNECTIONS)
    clearest = result.core.clearest()
    if clearest is None or clearest.connection in {row.connection for row in rows}:
        return rows
    row = result.core.connection(clearest.connection)
    return [*rows[:-1], row] if row is not None else rows


def _comment_connection(
    row: _core.ConnectionRow,
    shown: _core.ChosenFrames,
    here: dict[int, int],
    comments: every_stall.Comments,
) -> None:
    """Comments on its first frame and on each frame after a gap."""
    present = [(frame, place) for frame, place in shown.frames if frame in here]
    if not present:
        return
    comments[present[0][0]].append(
        f"tcp.stream {row.connection} of the capture: client {row.client}, server {row.server}: "
        f"{certainty.in_words(row)}; "
        f"{len(present):,} of its {count(shown.of, 'frame')} are in this file"
    )
    for (_, before), (frame, place) in pairwise(present):
        if place > before + 1:
            comments[frame].append(
                f"{count(place - before - 1, 'earlier frame')} of this connection not in this file"
            )


def _named(frame: int, here: dict[int, int]) -> str:
    """A frame by its number in the capture, and in the evidence where that differs."""
    return f"frame {frame}" + (f" (here {here[frame]})" if here[frame] != frame else "")


def about(result: Result, payload: bool, numbers: str) -> Iterator[str]:
    """The comment on the file; `numbers` says how its frames are numbered."""
    summary = result.core.summary()
    stalls = f"Evidence of Nagle stalls{verdicts.mark(summary)}"
    yield (
        f"{stalls} found by nagle-scan {_core.VERSION} in {_names(result.captures)} "
        f"({count(summary.packets, 'packet')})"
    )
    yield numbers
    if result.options.filter is not None:
        yield "A capture filter was used: stream numbers count only connections that pass it"
    yield "Display filter for the commented frames: frame.comment"
    if not payload:
        yield (
            "Frames are cut after the TCP header; where payload was cut, the TCP checksum is "
            "computed over zeros, since the original would reveal it"
        )
    elif summary.anonymized:
        yield "Payload is included: it may name hosts and addresses that were replaced elsewhere"
    if summary.anonymized:
        yield sentence_start(notices.anonymized(result))
        yield (
            "Packets are rewritten with IP and TCP headers only: no link layers, tunnels, IP "
            "options or extension headers; TCP options that could contain an address are NOPs"
        )


def _names(names: list[str]) -> str:
    every = file_names(names)
    if len(every.encode()) <= MOST_NAMES:
        return every
    return f"{file_names(names[:FEW_NAMES])} and {len(names) - FEW_NAMES:,} more"
