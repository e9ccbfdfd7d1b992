"""What all reports say, in the same words: who held what, why, and what the capture did not show.

Plain text; addresses come from the engine and hold nothing that needs escaping, names of files do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nagle_scan import _core, advice
from nagle_scan.report.layout import count, duration, endpoint, printable

STALLS = ("nagle_delack", "nagle_rtt")
"""The causes that are stalls."""

COARSE_CLOCK_MS = 10.0
"""A clock with longer steps hides the shortest waits that are asked for by default."""

NO_STALL_MEANS = (
    "If something is slow here, it is not that the sender holds data back until an ACK comes: "
    "setting TCP_NODELAY will not help."
)
WAITS_BELOW = "What the waits were instead stands below."


def cost(summary: _core.Summary) -> str | None:
    """What an exchange costs now and would cost; None where exchanges mean nothing."""
    exchanges = summary.affected_exchanges
    # Many stalls in few exchanges: a stream of messages, whose 'latency' says nothing.
    if exchanges == 0 or exchanges * 4 < summary.stalls:
        return None
    now_ms = summary.affected_latency_ms / exchanges
    then_ms = max(summary.affected_latency_ms - summary.affected_stalled_ms, 0.0) / exchanges
    return (
        f"An exchange on these connections takes {duration(now_ms)} on average; without the "
        f"stalls it would take {duration(then_ms)}."
    )


def no_stall(summary: _core.Summary, min_wait_ms: float) -> str:
    """The verdict on a clean capture."""
    return (
        f"No Nagle or delayed-ACK stall of {min_wait_ms:g} ms or more in "
        f"{count(summary.connections, 'connection')}."
    )


def cannot_tell(summary: _core.Summary) -> str:
    """Why nothing can be told, and what would change that."""
    if summary.tcp_packets == 0:
        return "the capture holds no TCP segment that could be used."
    if summary.one_sided:
        return (
            "only one direction was captured, and a stall shows in the ACKs of the other. "
            "Capture both (no 'src' or 'dst' in the tcpdump filter; both links of a mirror port)."
        )
    return "no connection in it carries data."


def notices(summary: _core.Summary) -> Iterator[str]:
    """What a reader must know of the capture; without a full stop."""
    if summary.anonymized:
        yield f"addresses anonymized: {summary.anonymized}, keyed"
    several = len({path for path, _ in summary.warnings}) > 1
    for path, warning in summary.warnings:
        yield (f"{printable(path)}: " if several else "") + warning
    if summary.one_sided:
        yield (
            f"{count(summary.one_sided, 'connection')} captured in one direction only: "
            "no stall can be told there"
        )
    if summary.blurred:
        yield (
            f"{count(summary.blurred, 'connection')} with round trips that vary too much to tell "
            "a hold from a pause of the program: 'no stall' is not proven there"
        )
    if summary.clock_ms >= COARSE_CLOCK_MS:
        times, there = "its times", ""
        if summary.clocks_differ:
            times, there = "times of a part of the captures", " there"
        yield (
            f"{times} come in steps of {summary.clock_ms:g} ms or more: shorter waits cannot "
            f"be seen{there}, nor holds be proven"
        )
    if summary.without_handshake:
        their = "its" if summary.without_handshake == 1 else "their"
        yield (
            f"{count(summary.without_handshake, 'connection')} without {their} handshake: "
            "round trips, windows and the MSS are estimates there"
        )
    if summary.connections_not_listed:
        yield (
            f"{count(summary.connections_not_listed, 'connection')} of a port scan, refused or "
            "never answered, counted but not listed"
        )
    if summary.waits_not_listed:
        yield f"{count(summary.waits_not_listed, 'wait')} without a stall counted but not listed"


def holder(row: _core.ConnectionRow) -> str:
    """Which side of a connection holds data back."""
    if row.client_stalls and row.server_stalls:
        return "both"
    return "client" if row.client_stalls else "server"


def first_exchange(
    rows: Sequence[_core.ConnectionRow], groups: Sequence[_core.Group]
) -> str | None:
    """Why the first exchange was fast, where it was and delayed ACKs explain it."""
    # Quick ACKs are Linux'; the tail of one large write may have had no like in the first exchange.
    if any(not advice.has_quick_acks(group) or group.unacked_full_sized for group in groups):
        return None
    fast = [row for row in rows if _began_fast(row)]
    if not fast or len(fast) < len(rows):
        return None
    slowest_ms = max(row.first_latency_ms or 0.0 for row in fast)
    spared = f"of each was spared (at most {slowest_ms:.1f} ms)"
    if len(rows) == 1:
        spared = f"was spared ({slowest_ms:.1f} ms)"
    return (
        f"The first exchange {spared}: a connection begins "
        "with quick ACKs, and the receiver delays its ACKs only once it has answered. "
        "So a test with one request per connection looks healthy."
    )


def _began_fast(row: _core.ConnectionRow) -> bool:
    first_ms, mean_ms = row.first_latency_ms, row.mean_latency_ms
    if first_ms is None or mean_ms is None or row.exchanges < 2:
        return False
    return not row.first_exchange_stalled and first_ms < mean_ms / 2


class StallFrame(NamedTuple):
    """One of the three frames of a stall."""

    frame: int
    after_ms: float
    sender: str
    receiver: str
    length: int
    what: str


def frames(stall: _core.WaitRow) -> tuple[StallFrame, StallFrame, StallFrame]:
    """The unacknowledged segment, its ACK and the segment that was held."""
    ack_ms = (stall.ack_ns - stall.from_ns) / 1e6
    after_ms = (stall.to_ns - stall.from_ns) / 1e6
    late = "pure ACK, not delayed"
    if stall.cause == "nagle_delack":
        late = f"pure ACK, {stall.ack_delay_ms:.1f} ms late"
    there = (stall.sender, stall.receiver)
    back = (stall.receiver, stall.sender)
    unacked = "not yet acknowledged: the next small segment is held"
    held = f"held, leaves {stall.release_ms:.3f} ms after the ACK"
    return (
        StallFrame(stall.frame_from, 0.0, *there, stall.len_from, unacked),
        StallFrame(stall.frame_ack, ack_ms, *back, 0, late),
        StallFrame(stall.frame_to, after_ms, *there, stall.len_to, held),
    )


class Option(NamedTuple):
    """Is `TCP_NODELAY` in effect on these sockets?"""

    answer: str
    sockets: str
    connections: int
    proof: str


def options(parties: Sequence[_core.NagleRow]) -> Iterator[Option]:
    """What the wire shows of `TCP_NODELAY`, whatever the source code says."""
    for row in parties:
        sockets = f"client {row.addr} to port {row.server_port}"
        if row.side == "server":
            sockets = f"server {endpoint(row.addr, row.server_port)}"
        for answer, connections, proof in (
            ("no", row.on, row.on_proof),
            ("yes", row.off, row.off_proof),
            ("cannot tell", row.unknown, None),
        ):
            if connections:
                variant = _variant(row.variant) if answer == "no" else ""
                yield Option(answer, sockets, connections, _proof(answer, proof) + variant)


def _variant(proof: tuple[str, int, int, int] | None) -> str:
    """Which of Nagle's algorithms the sender runs, and where it shows."""
    if proof is None:
        return ""
    variant, connection, full, small = proof
    if variant == "minshall":
        return (
            f"; Nagle as in Linux (Minshall's variant): small frame {small} left while full-sized "
            f"frame {full} was unacknowledged (tcp.stream {connection})"
        )
    return (
        f"; Nagle as in Windows and BSD (RFC 896): small frame {small} waited for the ACK of "
        f"full-sized frame {full} (tcp.stream {connection})"
    )


def _proof(answer: str, proof: tuple[int, int, int] | None) -> str:
    if proof is None:
        return "neither two small segments in flight nor one that was held"
    connection, first, second = proof
    if answer == "no":
        return f"held data left with the ACK: frames {first}, {second} (tcp.stream {connection})"
    return f"two small segments in flight: frames {first}, {second} (tcp.stream {connection})"


MEANINGS = {
    (
        "sender_app",
        "client",
    ): "the client had nothing to send: idle between two requests, or paused",
    ("sender_app", "server"): "the server worked on a request, was too busy to, or paused while it "
    "answered: look into the program, not at the network",
}


def meaning(row: _core.CauseRow) -> str:
    """What waits of one cause mean for their owner."""
    return MEANINGS.get((row.cause, row.by)) or advice.HINTS[row.cause]


def place(row: _core.ConnectionRow) -> str:
    """Where a connection was captured."""
    names = {"client": "at the client", "server": "at the server", "between": "between the two"}
    where = names.get(row.capture_point, "place not known")
    if row.client.rpartition(":")[0] == row.server.rpartition(":")[0]:
        where = "within one host"
    return where if row.handshake else f"{where}, without the handshake"


def stall_kind(stall: _core.WaitRow) -> str:
    """What a stall waited for, in a few words."""
    if stall.cause == "nagle_rtt":
        return "held for one round trip"
    return "held until a delayed ACK came"


def hops(rows: Sequence[_core.HopRow]) -> str:
    """Which hosts stand between, and at which hop the stalls are."""
    stalling = sorted({row.number for row in rows if row.client_stalls + row.server_stalls})
    if not stalling:
        return "Some hosts are called and call others, as a proxy does. No hop stalls."
    which = " and ".join(str(number) for number in stalling)
    return f"Some hosts are called and call others, as a proxy does. The stalls are at hop {which}."
