"""One direction of a connection as numbers to draw: what was sent, acknowledged and allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nagle_scan.timeline.subject import rel_acks
from nagle_scan.words.wording import peer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan.result.rows import Rows
    from nagle_scan.timeline.subject import Subject

    Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """Times in ms since the connection began, places as bytes of the stream."""

    sent_ms: Numbers
    low: Numbers
    high: Numbers
    held: NDArray[np.bool_]
    acked_ms: Numbers
    acked: Numbers
    allowed: Numbers
    """The end of the window at each `acked_ms`; NaN where its scale is unknown."""
    waits_ms: tuple[Numbers, Numbers]
    """Begins and ends, clipped to the picture."""
    wait_lengths_ms: Numbers
    """Their whole lengths."""


def stream(subject: Subject, segments: Rows, side: str, begin_ms: float, end_ms: float) -> Stream:
    """The segments of `side` between two times, and the ACKs of its peer."""
    sent = segments[(segments["sender"] == side) & (segments["len"] > 0)]
    sent_ms = subject.since_begin_ms(sent["time_ns"])
    inside = (sent_ms >= begin_ms) & (sent_ms <= end_ms)
    sent, sent_ms = sent[inside], sent_ms[inside]
    low = sent["rel_seq"].astype(float)
    acked_ms, acked, allowed = _acknowledged(subject, segments, side, begin_ms, end_ms)
    return Stream(
        sent_ms,
        low,
        low + sent["len"].astype(float),
        np.isin(sent["frame"], subject.stalls["frame_held"]),
        acked_ms,
        acked,
        allowed,
        *_waits(subject, side, begin_ms, end_ms),
    )


def _acknowledged(
    subject: Subject, segments: Rows, side: str, begin_ms: float, end_ms: float
) -> tuple[Numbers, Numbers, Numbers]:
    """The staircase of ACKs, beginning with what was acknowledged before."""
    by_peer = segments[segments["sender"] == peer(side)]
    acks = rel_acks(segments, peer(side))
    known = acks >= 0
    at_ms = subject.since_begin_ms(by_peer["time_ns"])[known]
    acked = np.maximum.accumulate(acks[known].astype(float)) if known.any() else acks[known] + 0.0
    allowed = acked + by_peer["window_bytes"].astype(float)[known]
    before = int(np.searchsorted(at_ms, begin_ms))
    inside = slice(max(before - 1, 0), int(np.searchsorted(at_ms, end_ms, side="right")))
    return np.maximum(at_ms[inside], begin_ms), acked[inside], allowed[inside]


def _waits(
    subject: Subject, side: str, begin_ms: float, end_ms: float
) -> tuple[tuple[Numbers, Numbers], Numbers]:
    """The stalls of this side, clipped to the picture, and their whole lengths."""
    stalls = subject.stalls[subject.stalls["sender"] == side]
    ends = subject.since_begin_ms(stalls["time_ns"])
    lengths = stalls["wait_ms"]
    begins = ends - lengths
    inside = (ends > begin_ms) & (begins < end_ms)
    drawn = np.maximum(begins[inside], begin_ms), np.minimum(ends[inside], end_ms)
    return drawn, lengths[inside]
