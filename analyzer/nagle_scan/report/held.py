"""Sentences about a group of stalls: who held what, how often, for how long, and why.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagle_scan import _core
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import count, duration, endpoint, round_trip_counts, times

LATE = "delayed by the receiver or by the path"
"""Of ACKs that came later than the round trip explains, and that no timer explains either."""
HELD = {"certain": "held", "likely": "probably held", "possible": "may have held"}


def sentence(group: _core.ServerGroup) -> str:
    """Who held what, how often, for how long and why; the surest stalls first."""
    surest = certainty.shares(group)[0]
    part = f"{party(group)} {HELD[surest.word]} part of {_whose_message(group)}"
    total = duration(surest.lost_ms)
    each = f"~{surest.lost_ms / surest.stalls:.1f} ms"
    said = f"{part} {times(surest.stalls)} for {each} each, {total} in all"
    if surest.stalls == 1:
        said = f"{part} once, for {total}"
    return f"{said}{certainty.more(group)}, {_reason(group)}"


def sum_sentence(groups: Sequence[_core.ServerGroup]) -> str | None:
    """The total of several servers that stall alike; None for a single one."""
    first = groups[0].worst
    alike = [
        group
        for group in groups
        if (group.worst.sender, group.worst.cause) == (first.sender, first.cause)
        and group.worst.timer_proven == first.timer_proven
        and word(group) == "stalls"
    ]
    servers = {server(group.worst) for group in alike}
    if len(servers) < 2:
        return None
    total = certainty.total(alike)
    surest = certainty.shares(total)[0]
    who, what = f"{len(servers):,} servers", "parts of their replies"
    if first.sender == "client":
        clients = {group.worst.sender_addr for group in alike}
        who, what = f"The clients of {len(servers):,} servers", "parts of their requests"
        if len(clients) == 1 and not any(map(_several_hold, alike)):
            who, what = (
                f"{first.sender_addr}, client of {len(servers):,} servers,",
                "parts of its requests",
            )
    acks = "prompt ACKs, a network round trip each"
    if causes.of(first.cause).ack_was_delayed:
        acks = "delayed ACKs" if first.timer_proven else f"late ACKs ({LATE})"
    return (
        f"{who} {HELD[surest.word]} {what} {times(surest.stalls)} for "
        f"~{surest.lost_ms / surest.stalls:.1f} ms each, {duration(surest.lost_ms)} in all"
        f"{certainty.more(total)}, waiting for {acks}."
    )


def word(group: _core.ServerGroup) -> str:
    """The verdict on the group."""
    return "possible" if certainty.is_only_possible(group) else "stalls"


def option(group: _core.ServerGroup) -> str:
    """Whether `TCP_NODELAY` is in effect on the side that holds."""
    worst = group.worst
    where = party(group)
    if worst.sender == "client":
        where = f"{worst.sender_addr}'s sockets to port {worst.server_port}"
        if group.clients > 1:
            where = f"the clients' sockets to {server(worst)}"
    if group.nagle == "on":
        return _not_in_effect(group, where)
    if group.may_be_relay and group.nagle != "on":
        # Forwarded data does not reveal the option.
        return (
            f"A proxy on {worst.sender_addr} that only forwards would look the same: capture its "
            "other connections to find out."
        )
    if group.nagle == "switched":
        held, unheld = worst.nagle_frames
        return (
            f"TCP_NODELAY was set on {where} only after the stalls: frame {held:,} was still held, "
            f"frame {unheld:,} no longer (tcp.stream {worst.connection})."
        )
    if group.nagle == "off":
        return f"TCP_NODELAY is in effect on {where}; if it stalled, it was set only later."
    on, off, unknown, switched = group.sockets
    if on:
        return _not_in_effect(group, where)
    if off + switched:
        others = f"on {off + switched:,} of {count(off + unknown + switched, 'connection')} it is"
        return f"If so, TCP_NODELAY is not in effect where it stalls; {others}."
    return f"If so, TCP_NODELAY is not in effect on {where}."


def _not_in_effect(group: _core.ServerGroup, where: str) -> str:
    """`TCP_NODELAY` is proven off on some or all connections."""
    on, off, unknown, switched = group.sockets
    said = f"TCP_NODELAY is not in effect on {where}"
    if not off + unknown + switched:
        return f"{said}."
    others = [f"on {off:,} it is"] if off else []
    others += [f"on {switched:,} it was set later"] if switched else []
    others += [f"on {unknown:,} it is not known"] if unknown else []
    which = f"{on:,} of {count(on + off + unknown + switched, 'connection')}"
    return f"On {which} {said}; {', '.join(others)}."


def in_plain_words(group: _core.ServerGroup) -> str:
    """What happens, for a reader who has never seen a packet."""
    message = "reply" if group.worst.sender == "server" else "request"
    unless = ", unless it is a proxy" if group.may_be_relay and group.nagle != "on" else ""
    if word(group) == "possible" and not unless:
        unless = ", if so"
    begin = f"In plain words{unless}: {_in_pieces(group, message)}"
    begin += " until what came before is acknowledged (Nagle's algorithm)"
    if not causes.of(group.worst.cause).ack_was_delayed:
        return f"{begin}: each such {message} costs an extra network round trip."
    if not group.worst.timer_proven:
        return f"{begin}, and that acknowledgement came late: {LATE}."
    return (
        f"{begin}. The receiver, meanwhile, delays that ACK, hoping to send it along with a reply "
        "(delayed ACK). Both sides wait until the receiver's ACK timer fires."
    )


def _in_pieces(group: _core.ServerGroup, message: str) -> str:
    """What the sender's kernel sends, and what it holds."""
    each = "each of " if _several_hold(group) else ""
    program = f"the program on {each}{party(group)}"
    if group.worst.unacked_full_sized:
        # It may be the tail of a single write.
        return (
            f"the {message} of {program} is not a multiple of the MSS. "
            "The kernel sends the full segments and holds the small last one"
        )
    return (
        f"{program} writes its {message} in several pieces. "
        "The kernel sends the first and holds a small one"
    )


def party(group: _core.ServerGroup) -> str:
    """The sender: a server by its port, a client by the server it called."""
    worst = group.worst
    if worst.sender == "server":
        return server(worst)
    if _several_hold(group):
        return f"{group.clients:,} clients of {server(worst)}"
    return f"{worst.sender_addr} (client of port {worst.server_port})"


def receiver(group: _core.ServerGroup) -> str:
    """The other end, which delays its ACKs."""
    several = group.clients > 1 and group.worst.sender == "server"
    return f"{group.clients:,} clients" if several else group.worst.receiver_addr


def server(pair: _core.Group) -> str:
    """Its address and port."""
    addr = pair.sender_addr if pair.sender == "server" else pair.receiver_addr
    return endpoint(addr, pair.server_port)


def _several_hold(group: _core.ServerGroup) -> bool:
    return group.clients > 1 and group.worst.sender == "client"


def _whose_message(group: _core.ServerGroup) -> str:
    if _several_hold(group):
        return "their requests"
    return "its reply" if group.worst.sender == "server" else "its request"


def _reason(group: _core.ServerGroup) -> str:
    other = receiver(group)
    if not causes.of(group.worst.cause).ack_was_delayed:
        acks, were = ("an ACK", "was") if group.stalls == 1 else ("ACKs", "were")
        return f"waiting a network round trip for {acks} from {other}, which {were} not delayed."
    if not group.worst.timer_proven:
        ack = "an ACK" if group.stalls == 1 else "ACKs"
        return f"waiting for {ack} from {other} that came {_how_late(group.worst)} late: {LATE}."
    acks = "a delayed ACK" if group.stalls == 1 else "delayed ACKs"
    timer = f" ({_timer(group)})" if group.consistent_with else f" ({_no_timer(group.worst)})"
    return f"waiting for {acks} from {other}{timer}."


def _timer(group: _core.ServerGroup) -> str:
    """What the ACK delay is consistent with, and what share of the wait it explains."""
    named = f"consistent with {group.consistent_with}"
    worst = group.worst
    if not round_trip_counts(worst.stalled_ms / worst.stalls, worst.ack_delay_ms):
        return named
    return f"~{worst.ack_delay_ms:.1f} ms late, {named}; the rest is network round trip"


def _no_timer(worst: _core.Group) -> str:
    """How late the ACKs were, if no default timer fits."""
    return f"{_how_late(worst)} late: no common default"


def _how_late(worst: _core.Group) -> str:
    least, most = f"{worst.ack_delay_min_ms:.0f}", f"{worst.ack_delay_max_ms:.0f}"
    return f"{least} ms" if least == most else f"{least}-{most} ms"
