"""What all reports say of a scan, in the same words.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagle_scan import _core, causes, certainty
from nagle_scan.wording import duration, sentence_start

WITHOUT_STALLS = "without stalls, at best"
"""Of a prediction: a segment that the program wrote late was held for less."""
WAITS_BELOW = "The waits that there were are listed below."


def cost(summary: _core.Summary, *, elsewhere: bool = False) -> str | None:
    """Latency of an exchange now and without stalls; None where exchanges mean nothing.

    `elsewhere`: it was not captured where the client is.
    """
    # A clean capture has no use for what it imports.
    from nagle_scan import advice

    exchanges = summary.affected_exchanges
    # The 'latency' of a stream of messages says nothing.
    if exchanges == 0 or advice.is_stream(exchanges, summary.stalls):
        return None
    now_ms = summary.affected_latency_ms / exchanges
    then_ms = max(summary.affected_latency_ms - summary.affected_stalled_ms, 0.0) / exchanges
    without = "without the stalls"
    if certainty.is_only_possible(summary):
        without = "if these are stalls, without them"
    elif certainty.more(summary):
        less_sure = " and ".join(share.word for share in certainty.shares(summary)[1:])
        without = f"without these stalls, including the {less_sure} ones,"
    seen = " (as seen at the capture point)" if elsewhere else ""
    return (
        f"An exchange on these connections takes {duration(now_ms)} on average{seen}; {without} "
        f"it would take {duration(then_ms)} at best."
    )


def connecting(row: _core.ConnectingRow | None) -> str | None:
    """What it took of the time that users wait for the first reply, where it was slow."""
    if row is None:
        return None
    took = (
        f"connecting took {duration(row.connect_ms)} of the {duration(row.first_reply_ms)} until "
        "the end of the first reply"
    )
    if row.connections == 1:
        return sentence_start(f"{took} ({row.median_share:.0%}).")
    return f"On {row.connections:,} connections {took} (median: {row.median_share:.0%})."


def holder(row: _core.ConnectionRow) -> str:
    """Which side of a connection holds data back."""
    if row.client_stalls and row.server_stalls:
        return "both"
    return "client" if row.client_stalls else "server"


def _is_fast_by_chance(group: _core.ServerGroup) -> bool:
    """Need quick ACKs not be the reason why a first exchange of these was fast?"""
    quick = causes.of(group.worst.cause).ack_was_delayed and group.quick_acks
    return not quick or group.some_full_sized


def first_exchange(
    rows: Sequence[_core.ConnectionRow], groups: Sequence[_core.ServerGroup]
) -> str | None:
    """Why the first exchange was fast, if it was and quick ACKs explain it."""
    # Only Linux has quick ACKs, and the first exchange may not have had a tail to hold.
    if any(_is_fast_by_chance(group) for group in groups):
        return None
    fast = [row for row in rows if _began_fast(row)]
    if not fast or len(fast) < len(rows):
        return None
    slowest_ms = max(row.first_latency_ms or 0.0 for row in fast)
    was_fast = f"on each connection was fast (at most {slowest_ms:.1f} ms)"
    if len(rows) == 1:
        was_fast = f"was fast ({slowest_ms:.1f} ms)"
    return (
        f"The first exchange {was_fast}: a connection begins "
        "with quick ACKs, and the receiver delays its ACKs only once it has answered. "
        "So a test with one request per connection looks healthy."
    )


def _began_fast(row: _core.ConnectionRow) -> bool:
    first_ms, mean_ms = row.first_latency_ms, row.mean_latency_ms
    if first_ms is None or mean_ms is None or row.exchanges < 2:
        return False
    return not row.first_exchange_stalled and first_ms < mean_ms / 2


def place(row: _core.ConnectionRow) -> str:
    """Where a connection was captured."""
    names = {"client": "at the client", "server": "at the server", "between": "between the two"}
    where = names.get(row.capture_point, "capture point unknown")
    if row.client.rpartition(":")[0] == row.server.rpartition(":")[0]:
        where = "within one host"
    return where if row.handshake else f"{where}, without the handshake"
