"""The arrows of a ladder: which segments it shows, and when each left and reached a host."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from nagle_scan.timeline.subject import ACK, FIN, NS_PER_MS, RST, SEQUENCE_SPACE, SYN, Subject
from nagle_scan.words import causes
from nagle_scan.words.wording import peer

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.result.rows import Rows

MAX_BEFORE, MAX_WITHIN, MAX_AFTER = 4, 6, 4
"""Segments shown before the wait, within it and after it."""
FIRST_SEGMENTS = 8
"""Segments shown of a connection without a wait."""
LEAST_STEP_MS = 1e-4
"""Between departures from one host that a coarse clock stamped alike."""
LEAST_SHARE_MS = 0.001
"""A share of an unknown round trip, since an arrow needs a direction."""

UNACKED, RELEASE, HELD = "1", "2", "3"
"""Roles of the three frames that make a stall, as they are numbered in the picture."""
CAUSES = {RELEASE: UNACKED, HELD: RELEASE}
"""The role of the arrow that caused another one, by the role of the effect."""


@dataclass(frozen=True)
class Arrow:
    """A segment on its way; times in ms since the wait began, by the clock of the capture."""

    frame: int
    sender: str
    length: int
    flags: int
    end: int
    """The sequence number after its last byte."""
    ack: int
    captured_ms: float
    sent_ms: float
    received_ms: float
    role: str

    def acknowledges(self, other: Arrow) -> bool:
        """Does it cover all the bytes of `other`?"""
        if not other.length or not self.flags & ACK:
            return False
        return (self.ack - other.end) % SEQUENCE_SPACE < SEQUENCE_SPACE // 2

    @property
    def kind(self) -> str:
        """The kind of segment: what it carries."""
        if self.flags & SYN and self.flags & ACK:
            return "SYN+ACK"
        named = [
            word for bit, word in ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST")) if self.flags & bit
        ]
        size = [f"{self.length:,} B"] if self.length else []
        return " ".join([*named, *size]) or "ACK"

    def at(self, side: str) -> float:
        """When it left or reached `client` or `server`."""
        return self.sent_ms if side == self.sender else self.received_ms


@dataclass(frozen=True)
class Omitted:
    """Segments the ladder leaves out."""

    count: int
    sender: str
    at_ms: float


def shown(subject: Subject, wait: _core.WaitRow | None) -> tuple[list[Arrow], list[Omitted]]:
    """The arrows around a wait, in the order of capture, and what was left out between them.

    Without a wait, the first segments of the connection.
    """
    segments = subject.segments
    if wait is None:
        first = () if segments is None else segments[:FIRST_SEGMENTS]
        return _in_order([_arrow(subject, segment, None) for segment in first]), []
    if segments is None or not _holds(subject, segments, wait):
        known = [_arrow(subject, segment, wait) for segment in _kept_by_scan(wait)]
        return _in_order(_causal(known)), []
    rows, gap = _neighbours(segments, wait)
    arrows = [_arrow(subject, segment, wait) for segment in rows]
    omitted = []
    if len(gap):
        first_left_out = _arrow(subject, next(iter(gap)), wait)
        omitted = [Omitted(len(gap), first_left_out.sender, first_left_out.sent_ms)]
    return _in_order(_causal(arrows)), omitted


def _holds(subject: Subject, segments: Rows, wait: _core.WaitRow) -> bool:
    """Is the wait among the segments? In an excerpt it may not be."""
    if not subject.is_excerpt:
        return True
    frames = segments["frame"]
    return bool(len(frames) and frames[0] <= wait.frame_from and wait.frame_to <= frames[-1])


def _neighbours(segments: Rows, wait: _core.WaitRow) -> tuple[Rows, Rows]:
    """The segments to show, and those left out in the middle of the wait."""
    frames = segments["frame"]
    first = int(frames.searchsorted(wait.frame_from))
    last = int(frames.searchsorted(wait.frame_to))
    data_of_peer = (segments["len"] > 0) & (segments["sender"] != wait.sender)
    before = data_of_peer[max(0, first - MAX_BEFORE) : first].nonzero()[0]
    begin = max(0, first - MAX_BEFORE) + int(before[-1]) if len(before) else max(0, first - 1)
    after = data_of_peer[last + 1 : last + 1 + MAX_AFTER].nonzero()[0]
    end = last + 2 + int(after[0]) if len(after) else last + 2
    if last - first - 1 <= MAX_WITHIN:
        return segments[begin:end], segments[:0]
    half = MAX_WITHIN // 2
    at = np.arange(begin, end)
    is_left_out = (at > first + half) & (at < last - half)
    is_left_out &= ~np.isin(frames[begin:end], list(_roles(wait)))
    return segments[begin:end][~is_left_out], segments[begin:end][is_left_out]


def _roles(wait: _core.WaitRow | None) -> dict[int, str]:
    """The roles of the three frames that make a stall; none of another wait."""
    if wait is None or not causes.of(wait.cause).is_stall:
        return {}
    return {wait.frame_from: UNACKED, wait.frame_ack: RELEASE, wait.frame_to: HELD}


def _arrow(subject: Subject, segment: SimpleNamespace, wait: _core.WaitRow | None) -> Arrow:
    """The capture point saw it half a round trip after its sender, before its receiver."""
    shares = {
        "client": max(subject.row.client_rtt_ms or 0.0, LEAST_SHARE_MS),
        "server": max(subject.row.server_rtt_ms or 0.0, LEAST_SHARE_MS),
    }
    frame, sender = int(segment.frame), str(segment.sender)
    begin_ns = subject.row.first_ns if wait is None else wait.from_ns
    captured_ms = (int(segment.time_ns) - begin_ns) / NS_PER_MS
    return Arrow(
        frame=frame,
        sender=sender,
        length=int(segment.len),
        flags=int(segment.flags),
        end=(int(segment.seq) + int(segment.len)) % SEQUENCE_SPACE,
        ack=int(segment.ack),
        captured_ms=captured_ms,
        sent_ms=captured_ms - shares[sender] / 2,
        received_ms=captured_ms + shares[peer(sender)] / 2,
        role=_roles(wait).get(frame, ""),
    )


def _kept_by_scan(wait: _core.WaitRow) -> Iterator[SimpleNamespace]:
    """The frames that the scan itself kept of a stall: enough where nothing can be read again."""
    if not causes.of(wait.cause).is_stall:
        return
    for frame, sender, length, time_ns in (
        (wait.frame_from, wait.sender, wait.len_unacked, wait.from_ns),
        (wait.frame_ack, peer(wait.sender), 0, wait.ack_ns),
        (wait.frame_to, wait.sender, wait.len, wait.to_ns),
    ):
        numbers = {"flags": 0, "seq": 0, "ack": 0}
        yield SimpleNamespace(frame=frame, sender=sender, len=length, time_ns=time_ns, **numbers)


def _in_order(arrows: list[Arrow]) -> list[Arrow]:
    """Spreads out departures from one host to which a coarse clock gives the same time."""
    latest = {"client": -math.inf, "server": -math.inf}
    arrived: dict[str, float] = {}
    ordered = []
    for arrow in arrows:
        caused = arrived.get(CAUSES.get(arrow.role, ""), -math.inf)
        earliest = max(latest[arrow.sender] + LEAST_STEP_MS, caused)
        sent_ms = max(arrow.sent_ms, earliest)
        received_ms = max(arrow.received_ms, sent_ms + LEAST_STEP_MS)
        latest[arrow.sender] = sent_ms
        if arrow.role:
            arrived[arrow.role] = received_ms
        ordered.append(replace(arrow, sent_ms=sent_ms, received_ms=received_ms))
    return ordered


def _causal(arrows: list[Arrow]) -> list[Arrow]:
    """Each arrow arrives before what it causes leaves, and before the next one of its sender.

    Only arrivals are moved: they are estimates.
    """
    earliest = {"client": math.inf, "server": math.inf}
    placed = []
    for place, arrow in reversed(list(enumerate(arrows))):
        effect_ms = _effect_ms(arrow, arrows[place + 1 :])
        latest = min(earliest[arrow.sender], math.inf if effect_ms is None else effect_ms)
        received_ms = max(arrow.sent_ms, min(arrow.received_ms, latest))
        earliest[arrow.sender] = received_ms
        placed.append(replace(arrow, received_ms=received_ms))
    return placed[::-1]


def _effect_ms(arrow: Arrow, later: list[Arrow]) -> float | None:
    """When the first segment left that acknowledges this one, or that it released."""
    for other in later:
        released = bool(other.role) and CAUSES.get(other.role) == arrow.role
        if released or (other.sender != arrow.sender and other.acknowledges(arrow)):
            return other.sent_ms
    return None
