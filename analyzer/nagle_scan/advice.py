"""What to change, on which side, and what it costs. Kept as data: one entry, one remedy."""

from __future__ import annotations

from typing import NamedTuple

from nagle_scan import _core


class Remedy(NamedTuple):
    """One way to get rid of a stall, with its price."""

    where: str
    what: str
    price: str


MERGE = Remedy(
    "the program on {sender}",
    "send the whole message in one write: one buffer, writev(), MSG_MORE, or a buffered stream "
    "that is flushed once.",
    "Price: a change in the program. It also saves packets, and Nagle may stay on.",
)
NODELAY = Remedy(
    "the socket on {sender}",
    "set TCP_NODELAY on the connected socket itself (the one that accept() or connect() gave), "
    "then scan again: this report proves whether it took effect.",
    "Price: every small write becomes a packet of its own.",
)
QUICKACK = Remedy(
    "the other end, {receiver}, as the last resort",
    "acknowledge at once (Linux: TCP_QUICKACK after each read, or 'ip route change ... quickack "
    "1'; Windows: TcpAckFrequency = 1; macOS: net.inet.tcp.delayed_ack = 0).",
    "Price: more ACKs; TCP_QUICKACK does not stick, and each message still waits one round trip.",
)

REMEDIES = {
    "nagle_delack": (MERGE, NODELAY, QUICKACK),
    # A faster ACK does not help where the ACK came at once.
    "nagle_rtt": (MERGE, NODELAY),
}
"""By cause, the best first."""


def remedies(group: _core.Group, sender: str) -> list[Remedy]:
    """What to change against the stalls of a group, the best first, for the named sender."""
    return [
        remedy._replace(where=remedy.where.format(sender=sender, receiver=group.receiver_addr))
        for remedy in REMEDIES[group.cause]
    ]


HINTS = {
    "retransmission": "packets were lost: look at interface errors, queues and policers",
    "zero_window": "the receiving program did not read, or its receive buffer is small",
    "delayed_ack": "harmless unless the sender waits for it (one segment in flight)",
    "congestion_window": "slow start: keep connections open, or send less at once",
    "unknown": "the capture does not tell: capture both directions, at the host that waits",
}
"""By cause of a wait that is no stall: what it means."""


def hint(wait: _core.WaitRow) -> str:
    """What a wait that is no stall means for its owner, in one phrase."""
    if wait.cause != "sender_app":
        return HINTS[wait.cause]
    if wait.by == "client" and not wait.own_data_before:
        return "the client was idle between two requests"
    if wait.own_data_before:
        return f"the {wait.by} paused in the middle of what it sent"
    return "the server worked on the request, or was too busy to: look there, not at the network"
