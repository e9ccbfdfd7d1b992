"""Sentences about a group of stalls: who held what, how often, for how long, and why.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nagle_scan import _core
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import count, duration, endpoint, round_trip_counts, times

LATE = "delayed by the receiver or by the path"
"""Of ACKs that came later than the round trip explains, and that no timer explains either."""
HEADS = ("held by", "to", "stalls", "lost", "ACKs")
MOST_NAMED = 2


def sentence(group: _core.ServerGroup) -> str:
    """Who held what, how often, for how long, how sure and why."""
    return _told(party(group), _whose_message(group), group, _reason(group))


def sum_sentence(groups: Sequence[_core.ServerGroup]) -> str:
    """The same of several groups: all stalls, told by those of the surest groups."""
    total = certainty.total(groups)
    best = certainty.shares(total)[0].word
    surest = [group for group in groups if certainty.shares(group)[0].word == best]
    if len(surest) == 1:
        return _told(party(surest[0]), _whose_message(surest[0]), total, _reason(surest[0]))
    kinds = sorted({_acks(group) for group in surest})
    acks = f"{kinds[0]} ACKs" if len(kinds) == 1 else f"ACKs, some {' and some '.join(kinds)}"
    return _told(_who(surest), _whose(surest), total, f"waiting for {acks}.")


def _whose(groups: Sequence[_core.ServerGroup]) -> str:
    """The messages of several groups."""
    if len(set(map(party, groups))) == 1:
        return _whose_message(groups[0])
    sides = {group.worst.sender for group in groups}
    if len(sides) > 1:
        return "their messages"
    return "their replies" if sides == {"server"} else "their requests"


def _told(who: str, whose: str, counted: certainty.Counted, reason: str) -> str:
    surest = certainty.shares(counted)[0]
    total = duration(surest.lost_ms)
    said = (
        f"{times(surest.stalls)} for ~{surest.lost_ms / surest.stalls:.1f} ms each, {total} in all"
    )
    if surest.stalls == 1:
        said = f"once, for {total}"
    held = certainty.HELD[surest.word]
    return f"{who} {held} part of {whose} {said}{certainty.sure(counted)}, {reason}"


def _who(groups: Sequence[_core.ServerGroup]) -> str:
    """The senders of several groups: by name if they are few."""
    parties = list(dict.fromkeys(map(party, groups)))
    if len(parties) <= MOST_NAMED:
        return " and ".join(parties)
    servers = len({server(group.worst) for group in groups})
    sides = {group.worst.sender for group in groups}
    if sides == {"server"}:
        return f"{servers:,} servers"
    clients = {group.worst.sender_addr for group in groups}
    if sides == {"client"} and len(clients) == 1 and not any(map(_several_hold, groups)):
        return f"{clients.pop()}, client of {servers:,} servers,"
    return (
        f"The clients of {servers:,} servers"
        if sides == {"client"}
        else f"{len(parties):,} endpoints"
    )


def cells(group: _core.ServerGroup, name: Callable[[str], str] = str) -> tuple[str, ...]:
    """What a table shows of a group, below `HEADS`; `name` marks up addresses."""
    worst = group.worst
    client = worst.sender_addr if worst.sender == "client" else worst.receiver_addr
    told = count(group.clients, "client") if group.clients > 1 else f"client {name(client)}"
    ends = told, name(server(worst))
    by, to = ends if worst.sender == "client" else ends[::-1]
    return by, to, certainty.counts(group), certainty.lost(group), _acks_in_detail(group)


def _acks(group: _core.ServerGroup) -> str:
    """What kind of ACKs the sender waited for."""
    cause = causes.of(group.worst.cause)
    if cause.ack_was_data:
        return "on data"
    if not cause.ack_was_delayed:
        return "prompt"
    return "delayed" if group.worst.timer_proven else "late"


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
        return f"If these are stalls, TCP_NODELAY is not in effect where it stalls; {others}."
    return f"If these are stalls, TCP_NODELAY is not in effect on {where}."


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
    message = "message" if _is_whole(group) else message
    unless = ", unless it is a proxy" if group.may_be_relay and group.nagle != "on" else ""
    if word(group) == "possible" and not unless:
        unless = ", if these are stalls"
    begin = f"In plain words{unless}: {_in_pieces(group, message)}"
    begin += " until what came before is acknowledged (Nagle's algorithm)"
    cause = causes.of(group.worst.cause)
    if cause.ack_was_data:
        return (
            f"{begin}, and that comes only with the next data of the other side: what was meant to "
            "be sent ahead waits until the other side has answered."
        )
    if not cause.ack_was_delayed:
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
    if message == "message":
        return f"{program} sends small messages one after another. The kernel holds the next"
    return (
        f"{program} writes its {message} in several pieces. "
        "The kernel sends the first and holds a small one"
    )


def _is_whole(group: _core.ServerGroup) -> bool:
    """Are whole messages held: keystrokes, or those of a stream?"""
    # Imported here: a clean capture does not need it.
    from nagle_scan import advice

    worst = group.worst
    typed = advice.is_typed(worst) and not worst.unacked_full_sized
    return typed or advice.is_stream(worst.exchanges, worst.stalls)


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
    if _is_whole(group):
        return "its messages"
    return "its reply" if group.worst.sender == "server" else "its request"


def _acks_in_detail(group: _core.ServerGroup) -> str:
    """The same, and how late they were."""
    acks = _acks(group)
    if acks == "late":
        return f"{_how_late(group.worst)} late"
    return acks if acks in {"prompt", "on data"} else f"{acks} ({_timer(group)})"


def _reason(group: _core.ServerGroup) -> str:
    other = receiver(group)
    cause = causes.of(group.worst.cause)
    if cause.ack_was_data:
        return f"waiting for data from {other} that acknowledged what came before."
    if not cause.ack_was_delayed:
        acks, were = ("an ACK", "was") if group.stalls == 1 else ("ACKs", "were")
        return f"waiting a network round trip for {acks} from {other}, which {were} not delayed."
    if not group.worst.timer_proven:
        ack = "an ACK" if group.stalls == 1 else "ACKs"
        return f"waiting for {ack} from {other} that came {_how_late(group.worst)} late: {LATE}."
    acks = "a delayed ACK" if group.stalls == 1 else "delayed ACKs"
    return f"waiting for {acks} from {other} ({_timer(group)})."


def _timer(group: _core.ServerGroup) -> str:
    """What the ACK delay is consistent with, and what share of the wait it explains."""
    worst = group.worst
    if not group.consistent_with:
        return f"{_how_late(worst)} late: no common default"
    named = f"consistent with {group.consistent_with}"
    if not round_trip_counts(worst.stalled_ms / worst.stalls, worst.ack_delay_ms):
        return named
    return f"~{worst.ack_delay_ms:.1f} ms late, {named}; the rest is network round trip"


def _how_late(worst: _core.Group) -> str:
    least, most = f"{worst.ack_delay_min_ms:.0f}", f"{worst.ack_delay_max_ms:.0f}"
    return f"{least} ms" if least == most else f"{least}-{most} ms"
