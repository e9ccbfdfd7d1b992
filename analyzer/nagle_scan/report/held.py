"""Sentences on one finding: who held what, how often, for how long, and why.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagle_scan import _core
from nagle_scan.report.findings import Finding
from nagle_scan.report.layout import duration, endpoint, times

TRAVEL_COUNTS = 1.25
"""Waits so many times longer than the delay of their ACKs look like another timer's."""


def verdict(finding: Finding) -> str:
    """Who held what, how often, for how long and why."""
    part = f"{party(finding)} held part of {_whose_message(finding)}"
    total = duration(finding.stalled_ms)
    each = f"~{finding.stalled_ms / finding.stalls:.1f} ms"
    held = f"{part} {times(finding.stalls)} for {each} each, {total} in all"
    if finding.stalls == 1:
        held = f"{part} once, for {total}"
    return f"{held}, {_reason(finding)}"


def option(finding: Finding) -> str:
    """What follows for `TCP_NODELAY` on the side that holds."""
    group = finding.group
    where = party(finding)
    if group.sender == "client":
        where = f"{group.sender_addr}'s sockets to port {group.server_port}"
        if finding.clients > 1:
            where = f"the clients' sockets to {_server(group)}"
    if finding.nagle == "on":
        return f"TCP_NODELAY is not in effect on {where}."
    if finding.nagle == "off":
        return f"TCP_NODELAY came into effect on {where} only later."
    return f"Probably TCP_NODELAY is not in effect on {where}."


def in_plain_words(finding: Finding) -> str:
    """What happens, for someone who never saw a packet."""
    message = "reply" if finding.group.sender == "server" else "request"
    begin = f"{_in_pieces(finding, message)} until the other end has confirmed what came before"
    begin += " (Nagle's algorithm)"
    if finding.group.cause == "nagle_rtt":
        return (
            f"{begin}. That confirmation has to travel to and fro, so each {message} pays for the "
            "way twice. The network is as fast as it can be, and no program is computing meanwhile."
        )
    return (
        f"{begin}, while the other end delays its confirmation in the hope of more data "
        "(delayed ACK). Until a timer runs out nothing is computed and nothing is sent: neither a "
        "program nor the network is slow."
    )


def _in_pieces(finding: Finding, message: str) -> str:
    """What the sender's operating system sends, and what it keeps back."""
    each = "each of " if _several_hold(finding) else ""
    program = f"the program on {each}{party(finding)}"
    if finding.group.unacked_full_sized:
        # It may be the tail of a single write.
        return (
            f"In plain words: what {program} hands over as its {message} does not fill its last "
            "packet. Its operating system sends the full ones and keeps the small rest back"
        )
    return (
        f"In plain words: {program} hands over its {message} in several pieces. Its operating "
        "system sends the first and keeps a small one back"
    )


def party(finding: Finding) -> str:
    """The sender as its owner knows it: a server by its port, a client by the server it called."""
    group = finding.group
    if group.sender == "server":
        return _server(group)
    if _several_hold(finding):
        return f"{finding.clients:,} clients of {_server(group)}"
    return f"{group.sender_addr} (client of port {group.server_port})"


def by_party(found: Sequence[Finding], limit: int) -> list[tuple[str, Finding]]:
    """Each side that holds something back, with its costliest finding."""
    parties: dict[str, Finding] = {}
    for finding in found:
        parties.setdefault(party(finding), finding)
    return list(parties.items())[:limit]


def receiver(finding: Finding) -> str:
    """The other end, which delays its ACKs."""
    several = finding.clients > 1 and finding.group.sender == "server"
    return f"{finding.clients:,} clients" if several else finding.group.receiver_addr


def _server(group: _core.Group) -> str:
    addr = group.sender_addr if group.sender == "server" else group.receiver_addr
    return endpoint(addr, group.server_port)


def _several_hold(finding: Finding) -> bool:
    return finding.clients > 1 and finding.group.sender == "client"


def _whose_message(finding: Finding) -> str:
    if _several_hold(finding):
        return "their requests"
    return "its reply" if finding.group.sender == "server" else "its request"


def _reason(finding: Finding) -> str:
    other = receiver(finding)
    if finding.group.cause == "nagle_rtt":
        acks = "an ACK" if finding.stalls == 1 else "ACKs"
        return f"waiting one round trip for {acks} of {other} that came at once."
    acks = "a delayed ACK" if finding.stalls == 1 else "delayed ACKs"
    timer = f" ({_timer(finding)})" if finding.consistent_with else ""
    return f"waiting for {acks} of {other}{timer}."


def _timer(finding: Finding) -> str:
    """What the delay of the ACKs is consistent with, and how much of the wait it is not."""
    named = f"consistent with {finding.consistent_with}"
    group = finding.group
    if group.stalled_ms / group.stalls < group.ack_delay_ms * TRAVEL_COUNTS:
        return named
    return f"~{group.ack_delay_ms:.1f} ms late, {named}; the rest is the way to and fro"
