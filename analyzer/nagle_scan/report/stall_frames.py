"""The three frames that make a stall, as tables show them."""

from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import duration


class StallFrame(NamedTuple):
    """One of the three frames of a stall."""

    frame: int
    after_ms: float
    sender: str
    receiver: str
    length: int
    what: str


def waits_since(stall: _core.WaitRow) -> str:
    """Since when the sender can have waited, where that is not the unacknowledged segment."""
    after_ms = (stall.to_ns - stall.from_ns) / 1e6
    return "since the other end's last data" if round(after_ms - stall.wait_ms, 1) > 0 else ""


def frames(stall: _core.WaitRow) -> tuple[StallFrame, StallFrame, StallFrame]:
    """The unacknowledged segment, its ACK and the segment that was held."""
    ack_ms = (stall.ack_ns - stall.from_ns) / 1e6
    after_ms = (stall.to_ns - stall.from_ns) / 1e6
    there = (stall.sender_end, stall.receiver_end)
    back = (stall.receiver_end, stall.sender_end)
    is_held = certainty.IS_HELD[stall.confidence]
    unacked = f"not yet acknowledged: the next small segment {is_held}"
    held = certainty.WAS_HELD[stall.confidence]
    held += f", leaves {stall.release_ms:.3f} ms after the ACK"
    if since := waits_since(stall):
        held += f"; waiting for {duration(stall.wait_ms)} at most, {since}"
    return (
        StallFrame(stall.frame_from, 0.0, *there, stall.len_unacked, unacked),
        StallFrame(stall.frame_ack, ack_ms, *back, stall.len_ack, causes.ack(stall)),
        StallFrame(stall.frame_to, after_ms, *there, stall.len, held),
    )
