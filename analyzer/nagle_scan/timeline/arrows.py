"""The arrows of a ladder: which segments it shows, and when each left and reached a host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nagle_scan.timeline.subject import ACK, FIN, NS_PER_MS, RST, SYN, Subject

if TYPE_CHECKING:
    import pandas as pd

    from nagle_scan.timeline.pause import Pause

MAX_BEFORE, MAX_WITHIN, MAX_AFTER = 4, 6, 4
FIRST_SEGMENTS = 8
LEAST_SHARE_MS = 0.001
"""Where the round trip is unknown an arrow still has a direction."""

UNACKED, RELEASE, HELD = "1", "2", "3"


@dataclass(frozen=True)
class Arrow:
    """A segment on its way; times in ms since the wait began, by the clock of the capture."""

    frame: int
    sender: str
    length: int
    flags: int
    captured_ms: float
    sent_ms: float
    received_ms: float
    role: str = ""

    @property
    def kind(self) -> str:
        """What it carries."""
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


def peer(side: str) -> str:
    """The other end."""
    return "server" if side == "client" else "client"


def shown(subject: Subject, pause: Pause | None) -> tuple[list[Arrow], list[Omitted]]:
    """The arrows around a wait, in the order of capture, and what was left out between them."""
    if pause is None:
        return _beginning(subject), []
    segments = subject.segments
    if segments is None:
        return _frames_of(subject, pause), []
    rows, gap = _neighbours(segments, pause)
    arrows = [_arrow(subject, segment, pause) for segment in rows.itertuples()]
    if gap.empty:
        return _causal(arrows), []
    first = _arrow(subject, next(gap.itertuples()), pause)
    return _causal(arrows), [Omitted(len(gap), first.sender, first.sent_ms)]


def _neighbours(segments: pd.DataFrame, pause: Pause) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The segments to show, and those left out in the middle of the wait."""
    frames = segments["frame"]
    first = int(frames.searchsorted(pause.frame_from))
    last = int(frames.searchsorted(pause.frame_to))
    data_of_peer = (segments["len"] > 0) & (segments["sender"] != pause.by)
    before = data_of_peer.iloc[max(0, first - MAX_BEFORE) : first].to_numpy().nonzero()[0]
    begin = max(0, first - MAX_BEFORE) + int(before[-1]) if len(before) else max(0, first - 1)
    after = data_of_peer.iloc[last + 1 : last + 1 + MAX_AFTER].to_numpy().nonzero()[0]
    end = last + 2 + int(after[0]) if len(after) else last + 2
    if last - first - 1 <= MAX_WITHIN:
        return segments.iloc[begin:end], segments.iloc[:0]
    half = MAX_WITHIN // 2
    gap = segments.iloc[first + 1 + half : last - half]
    gap = gap[gap["frame"] != pause.frame_ack]
    return segments.iloc[begin:end].drop(gap.index), gap


def _arrow(subject: Subject, segment: object, pause: Pause) -> Arrow:
    frame, sender = int(segment.frame), str(segment.sender)  # type: ignore[attr-defined]
    length, flags = int(segment.len), int(segment.flags)  # type: ignore[attr-defined]
    time_ns = int(segment.time_ns)  # type: ignore[attr-defined]
    return _placed(subject, pause, frame, sender, length, flags, time_ns)


def _placed(
    subject: Subject,
    pause: Pause,
    frame: int,
    sender: str,
    length: int,
    flags: int,
    time_ns: int,
) -> Arrow:
    """The capture point saw it half a round trip after its sender, before its receiver."""
    shares = {
        "client": max(subject.row.client_rtt_ms or 0.0, LEAST_SHARE_MS),
        "server": max(subject.row.server_rtt_ms or 0.0, LEAST_SHARE_MS),
    }
    captured_ms = (time_ns - pause.from_ns) / NS_PER_MS
    sent_ms = captured_ms - shares[sender] / 2
    received_ms = captured_ms + shares[peer(sender)] / 2
    roles = {pause.frame_from: UNACKED, pause.frame_ack: RELEASE, pause.frame_to: HELD}
    role = roles.get(frame, "") if pause.frame_ack is not None else ""
    return Arrow(frame, sender, length, flags, captured_ms, sent_ms, received_ms, role)


def _frames_of(subject: Subject, pause: Pause) -> list[Arrow]:
    """What the scan itself kept of a stall: enough where nothing can be read again."""
    if pause.frame_ack is None:
        return []
    frames = [
        (pause.frame_from, pause.by, pause.len_from, pause.from_ns),
        (pause.frame_ack, peer(pause.by), 0, pause.ack_ns),
        (pause.frame_to, pause.by, pause.len_to, pause.to_ns),
    ]
    return _causal(
        [
            _placed(subject, pause, frame, sender, length, 0, time_ns)
            for frame, sender, length, time_ns in frames
        ]
    )


def _beginning(subject: Subject) -> list[Arrow]:
    """The first segments, for a connection that never waited."""
    from nagle_scan.timeline.pause import Pause

    if subject.segments is None:
        return []
    begin = Pause("", "", -1, None, -1, subject.row.first_ns, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    rows = subject.segments.head(FIRST_SEGMENTS)
    return [_arrow(subject, segment, begin) for segment in rows.itertuples()]


def _causal(arrows: list[Arrow]) -> list[Arrow]:
    """Cause before effect where jitter makes an estimated instant a little too early or late."""
    by_role = {arrow.role: arrow for arrow in arrows if arrow.role}
    for cause, effect in ((UNACKED, RELEASE), (RELEASE, HELD)):
        if cause not in by_role or effect not in by_role:
            continue
        came, left = by_role[cause], by_role[effect]
        if left.sent_ms < came.received_ms:
            between = (left.sent_ms + came.received_ms) / 2
            by_role[cause] = replace(came, received_ms=max(between, came.sent_ms))
            by_role[effect] = replace(left, sent_ms=min(between, left.received_ms))
    return [by_role.get(arrow.role, arrow) for arrow in arrows]
