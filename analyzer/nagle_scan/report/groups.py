"""Groups of stalls by server, holding side and cause.

The engine groups by pair of hosts: a server with a thousand clients would be a thousand groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan import _core


class ServerGroup(NamedTuple):
    """What one side of one server's connections holds back, for one cause."""

    worst: _core.Group
    """The pair of hosts that loses most; its lengths and frames serve as the example."""
    stalls: int
    stalled_ms: float
    clients: int
    """Hosts at the other end of the server."""
    nagle: str
    consistent_with: str
    """The timer of the delayed ACKs; empty if unknown, or not the same for all pairs."""


def by_server(groups: Sequence[_core.Group]) -> list[ServerGroup]:
    """`groups` by server, side and cause; those that lose most come first."""
    alike: dict[tuple[str, str, str, int], list[_core.Group]] = {}
    for group in groups:
        server = group.sender_addr if group.sender == "server" else group.receiver_addr
        alike.setdefault((group.cause, group.sender, server, group.server_port), []).append(group)
    merged = [_merged(members) for members in alike.values()]
    return sorted(merged, key=lambda group: -group.stalled_ms)


def _merged(members: Sequence[_core.Group]) -> ServerGroup:
    timers = {group.consistent_with for group in members}
    options = {group.nagle for group in members}
    return ServerGroup(
        worst=members[0],
        stalls=sum(group.stalls for group in members),
        stalled_ms=sum(group.stalled_ms for group in members),
        clients=len(members),
        nagle=options.pop() if len(options) == 1 else "unknown",
        consistent_with=timers.pop() if len(timers) == 1 else "",
    )
