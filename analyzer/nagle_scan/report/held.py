"""Sentences about a group of stalls: who held what, how often, for how long, and why.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nagle_scan import _core
from nagle_scan.words import causes, certainty
from nagle_scan.words.acks import DELAYED, Acks
from nagle_scan.words.wording import count, duration, endpoint, range_ms, round_trip_counts, times

ALIKE = 1.25
"""Holds are equally long if the longest is at most this many times as long as the shortest."""
HEADS = ("held by", "to", "stalls, time lost", "ACKs")
MOST_NAMED = 2
"""Senders that a sentence on several groups calls by their names."""
NOT_FIXED = "no fixed timer"
"""The engine's name for delays that no timer explains."""


def sentence(group: _core.ServerGroupRow) -> str:
    """Who held data, how often, for how long, how sure and why."""
    sure, reason = certainty.sure(group), _reason(group)
    return _sentence(party(group), group, group.held_ms, sure, reason, at_most([group]))


def that_count(groups: Sequence[_core.ServerGroupRow]) -> list[_core.ServerGroupRow]:
    """Groups that a report names: those with stalls that count, which come first."""
    are_possible = certainty.is_only_possible(groups[0])
    return [group for group in groups if certainty.is_only_possible(group) == are_possible]


def sum_sentence(groups: Sequence[_core.ServerGroupRow]) -> str:
    """One sentence on several groups: all stalls are counted, groups named if theirs count."""
    named = that_count(groups)
    held_ms = min(each.held_ms[0] for each in named), max(each.held_ms[1] for each in named)
    reason = _reason(named[0]) if len(named) == 1 else f"{_waiting(named)}."
    parties = set(map(party, named))
    own = certainty.total([group for group in groups if party(group) in parties])
    total, own_possible = certainty.total(groups), certainty.possible(own)
    elsewhere = ", some elsewhere" if own_possible else " elsewhere"
    sure = certainty.sure(total, elsewhere if own_possible != certainty.possible(total) else "")
    return _sentence(_who(named), certainty.total(named), held_ms, sure, reason, at_most(named))


def _waiting(groups: Sequence[_core.ServerGroupRow]) -> str:
    """The ACKs that several groups wait for: the kind that costs more than half of the time."""
    lost_ms: dict[Acks, float] = {}
    for group in groups:
        acks = acks_of(group)
        lost_ms[acks] = lost_ms.get(acks, 0.0) + certainty.counted_ms(group)
    most = max(lost_ms, key=lambda acks: lost_ms[acks])
    if len(lost_ms) == 1:
        return f"waiting for {most.several}"
    if lost_ms[most] > sum(lost_ms.values()) / 2:
        return f"mostly waiting for {most.several}"
    return "waiting for ACKs of several kinds (see the table)"


def at_most(groups: Sequence[_core.ServerGroupRow]) -> str:
    """'At most', if a person typed what was held: each key may come long after the one before."""
    from nagle_scan import advice

    return "at most " if all(advice.is_typed(group.worst) for group in groups) else ""


def _sentence(
    who: str,
    counted: certainty.Counted,
    held_ms: tuple[float, float],
    sure: str,
    reason: str,
    most: str,
) -> str:
    stalls, lost_ms = certainty.counted_stalls(counted), certainty.counted_ms(counted)
    total, each_ms = duration(lost_ms), lost_ms / stalls
    each = f"~{each_ms:.1f} ms each"
    if held_ms[1] > ALIKE * held_ms[0]:
        each = f"{range_ms(*held_ms)} each ({each_ms:.1f} ms on average)"
    said = f"{times(stalls)} for {most}{each}, {total} in all"
    if stalls == 1:
        said = f"once, for {most}{total}"
    held = certainty.HELD[certainty.shares(counted)[0].word]
    return f"{who} {held} data back {said}{sure}, {reason}"


def _who(groups: Sequence[_core.ServerGroupRow]) -> str:
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


def cells(group: _core.ServerGroupRow, name: Callable[[str], str] = str) -> tuple[str, ...]:
    """The cells of a group, below `HEADS`; `name` marks up addresses."""
    worst = group.worst
    client = worst.sender_addr if worst.sender == "client" else worst.receiver_addr
    clients = count(group.clients, "client") if group.clients > 1 else f"client {name(client)}"
    ends = clients, name(server(worst))
    by, to = ends if worst.sender == "client" else ends[::-1]
    return by, to, certainty.cell(group), _acks_in_detail(group)


def may_forward(group: _core.ServerGroupRow) -> bool:
    """May the side that holds be a proxy, as far as this capture shows?"""
    return group.may_be_relay and group.nagle != "on"


def option(group: _core.ServerGroupRow) -> str:
    """Whether `TCP_NODELAY` is in effect on the side that holds."""
    worst = group.worst
    where = party(group)
    if worst.sender == "client":
        where = f"{worst.sender_addr}'s sockets to port {worst.server_port}"
        if group.clients > 1:
            where = f"the clients' sockets to {server(worst)}"
    if group.nagle == "on":
        return _not_in_effect(group, where)
    if may_forward(group):
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
    is_only_possible = certainty.is_only_possible(group)
    if off + switched:
        which = f"{off + switched:,} of {count(off + unknown + switched, 'connection')}"
        others = "probably not on the others"
        if is_only_possible:
            others = "not on the others if these are stalls"
        return f"TCP_NODELAY is in effect on {which} to {server(worst)}, and {others}."
    if is_only_possible:
        return f"If these are stalls, TCP_NODELAY is not in effect on {where}."
    return f"TCP_NODELAY is probably not in effect on {where}."


def _not_in_effect(group: _core.ServerGroupRow, where: str) -> str:
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


def in_plain_words(group: _core.ServerGroupRow, is_split: bool | None) -> str:
    """Plain words on a group's stalls, for a reader who has never seen a packet.

    `is_split`: parts of a message are held, not messages of their own.
    """
    message = "message"
    if is_split:
        message = "reply" if group.worst.sender == "server" else "request"
    unless = ", if these are stalls" if certainty.is_only_possible(group) else ""
    if may_forward(group):
        unless = ", unless it is a proxy"
    begin = f"In plain words{unless}: {_in_pieces(group, is_split, message)}"
    begin += " until what came before is acknowledged (Nagle's algorithm)"
    return begin + acks_of(group).plainly.format(message=message)


def _in_pieces(group: _core.ServerGroupRow, is_split: bool | None, message: str) -> str:
    """The segments that the sender's kernel sends, and those that it holds."""
    each = "each of " if _several_hold(group) else ""
    program = f"the program on {each}{party(group)}"
    if group.worst.unacked_full_sized:
        # It may be the tail of a single write.
        return (
            f"the {message} of {program} is not a multiple of the MSS. "
            "The kernel sends the full segments and holds the small last one"
        )
    if is_split is None:
        return (
            f"{program} sends small segments one after another, parts of a message or messages of "
            "their own. The kernel holds the next"
        )
    if not is_split:
        return f"{program} sends small messages one after another. The kernel holds the next"
    return (
        f"{program} writes its {message} in several pieces. "
        "The kernel sends the first and holds a small one"
    )


def party(group: _core.ServerGroupRow) -> str:
    """The sender: a server by its port, a client by the server it called."""
    worst = group.worst
    if worst.sender == "server":
        return server(worst)
    if _several_hold(group):
        return f"{group.clients:,} clients of {server(worst)}"
    return f"{worst.sender_addr} (client of port {worst.server_port})"


def receiver(group: _core.ServerGroupRow) -> str:
    """The end that delays its ACKs."""
    several = group.clients > 1 and group.worst.sender == "server"
    return f"{group.clients:,} clients" if several else group.worst.receiver_addr


def server(pair: _core.HostPairRow) -> str:
    """Its address and port."""
    addr = pair.sender_addr if pair.sender == "server" else pair.receiver_addr
    return endpoint(addr, pair.server_port)


def _several_hold(group: _core.ServerGroupRow) -> bool:
    return group.clients > 1 and group.worst.sender == "client"


def _acks_in_detail(group: _core.ServerGroupRow) -> str:
    """The kind of ACKs that ended its stalls, and how late they were."""
    acks = acks_of(group)
    return f"{acks.kind} ({_timer(group)})" if acks is DELAYED else acks.kind


def _reason(group: _core.ServerGroupRow) -> str:
    acks, worst = acks_of(group), group.worst
    waited_for = acks.a if certainty.counted_stalls(group) == 1 else acks.several
    after = range_ms(worst.ack_after_min_ms, worst.ack_after_max_ms)
    other, timer = receiver(group), _timer(group)
    return acks.reason.format(acks=waited_for, other=other, timer=timer, after=after)


def acks_of(group: _core.ServerGroupRow) -> Acks:
    """The kind of ACKs that ended its stalls."""
    return causes.acks_of(group.worst.cause, not group.worst.ack_after_max_ms)


def _timer(group: _core.ServerGroupRow) -> str:
    """The timer that explains the ACK delay, and whether a round trip is the rest of the wait."""
    worst = group.worst
    if not worst.ack_delay_ms:
        return "how late is not known"
    if not group.consistent_with:
        return f"{_how_late(worst)} late: no common default"
    if group.consistent_with == NOT_FIXED:
        return f"{_how_late(worst)} late: fits no known ACK timer"
    named = f"consistent with {group.consistent_with}"
    has_rest = round_trip_counts(worst.stalled_ms / worst.stalls, worst.ack_delay_ms)
    if has_rest or worst.ack_delay_max_ms > ALIKE * worst.ack_delay_min_ms:
        named = f"{_how_late(worst)} late, {named}"
    return f"{named}; the rest is network round trip" if has_rest else named


def _how_late(worst: _core.HostPairRow) -> str:
    return range_ms(worst.ack_delay_min_ms, worst.ack_delay_max_ms)
