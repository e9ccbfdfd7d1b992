"""The rows of a truth file."""

from __future__ import annotations

from typing import Any

from packets import ACK, MODULUS, Direction
from truth import MS, SHORTEST_MS, STALL_MS, Coincidence, Held

Row = dict[str, Any]
Writes = list[tuple[int, int, int]]  # of one application: time, offset, length


def is_seen(held: Held, seen: Direction) -> bool:
    """The capture holds the segment, and before it the ACK that released it and what that acked."""
    sent, seq = seen.sent_set, held.segment.seq
    at = next((i for i, p in enumerate(seen.all) if p.length and p.seq == seq and p in sent), None)
    earlier = seen.all[:at]
    data = any(p.length and p.end == held.release_ack for p in earlier if p in sent)
    ack = any(p.flags & ACK and p.ack == held.release_ack for p in earlier if p not in sent)
    return at is not None and (held.release == "sender" or (data and ack))


def is_nagle(held: Held) -> bool:
    """Nagle held it, and an acknowledgment let it go."""
    return held.release != "sender" and held.nagle_ms >= SHORTEST_MS


def with_blur(
    held: list[Held], seen: Direction, connection: int, shift: int, writes: Writes
) -> list[Row]:
    """The rows of one direction's holds; each says how much longer than the quickest it left."""
    after_ack = [after_its_ack_ms(h, seen) for h in held]
    quickest = min(after_ack, default=0.0)
    return [
        stall_row(h, connection, shift, writes) | {"blur_ms": round(ms - quickest, 3)}
        for h, ms in zip(held, after_ack, strict=True)
    ]


def after_its_ack_ms(held: Held, seen: Direction) -> float:
    """How long after its ACK the segment passed this capture: the path to the sender and back."""
    sent = seen.sent_set
    left = next(p.time_ns for p in seen.all if p.length and p.seq == held.segment.seq and p in sent)
    ack = next(p for p in seen.received if p.flags & ACK and p.ack == held.release_ack)
    return (left - ack.time_ns) / MS


def stall_row(held: Held, connection: int, shift: int, writes: Writes) -> Row:
    """A segment that Nagle held."""
    end = held.offset + held.segment.length
    delayed = held.ack_delay_ms is not None and held.ack_delay_ms >= STALL_MS
    return {
        "connection": connection,
        "sender": held.sender,
        "rel_seq": (held.offset - shift) % MODULUS,
        "len": held.segment.length,
        "writes": sum(held.offset <= offset < end for _, offset, _ in writes),
        "hold_ms": round(held.nagle_ms, 3),
        "ack_delay_ms": None if held.ack_delay_ms is None else round(held.ack_delay_ms, 3),
        "cause": "nagle_delack" if delayed else "nagle_rtt",
        "release": held.release,
    }


def coincidence_row(alike: Coincidence, connection: int, shift: int) -> Row:
    """A segment that looks held and was not."""
    return {
        "connection": connection,
        "sender": alike.sender,
        "rel_seq": (alike.offset - shift) % MODULUS,
        "after_ack_ms": round(alike.after_ack_ms, 3),
        "wait_ms": round(alike.wait_ms, 3),
    }


def wait_row(held: Held, connection: int, shift: int) -> Row:
    """A wait in the kernel that was not Nagle's, or that no acknowledgment ended."""
    cause = held.longest_state
    names = {
        "nagle": "nagle_ended_by_sender",
        "loss": "retransmission",
        "window": "zero_window",
        "congestion": "congestion_window",
        "congestion+nagle": "congestion_window",
    }
    return {
        "connection": connection,
        "by": held.sender,
        "from_rel": (held.offset - shift) % MODULUS,
        "nagle_too": cause == "congestion+nagle",
        "cause": names.get(cause, cause),
        "wait_ms": round(held.hold_ms, 3),
    }


def other_row(by: str, connection: int, from_rel: int, cause: str, wait_ms: float) -> Row:
    """A wait that is not Nagle's."""
    return {
        "connection": connection,
        "by": by,
        "from_rel": from_rel,
        "cause": cause,
        "wait_ms": round(wait_ms, 3),
    }
