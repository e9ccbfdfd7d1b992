"""Chains of relays, hop by hop: who holds, who forwards, what remains without the stalls.

Plain text; addresses come from the engine and hold nothing that needs escaping.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.report import held
from nagle_scan.report.nodelay import IN_EFFECT
from nagle_scan.words.wording import count, duration, maybe_duration, sentence_start

HEADS = (
    "hop",
    "client",
    "TCP_NODELAY",
    "server",
    "TCP_NODELAY",
    "stalls",
    "lost",
    "passed on",
    "mean",
)
"""Heads of a hop's cells; beside each end, whether `TCP_NODELAY` is in effect on its sockets."""
MAX_NAMES = 3


NO_STALL = "No stall at any of these hops."


class Chain(NamedTuple):
    """The hops of a chain in their order, and what they show."""

    hops: Sequence[_core.HopRow]
    leads: list[str]
    """Who holds what, who forwards it, and what it costs the whole chain."""
    predictions: Sequence[str]
    """The first client's latency once a hop is fixed."""


def chains(
    rows: Sequence[_core.HopRow], limit: int, groups: Sequence[_core.ServerGroupRow] = ()
) -> list[Chain]:
    """The chains losing the most time first; `limit` hops in total, `groups` of stalls."""
    found = [list(hops) for _, hops in groupby(rows, lambda row: row.chain)]
    found.sort(key=lambda hops: -sum(hop.stalled_ms for hop in hops))
    shown, left = [], limit
    for hops in found:
        if left > 0:
            leads = [_lead(hop, hops) for hop in hops if _holds(hop)] or [NO_STALL]
            shown.append(Chain(hops[:left], leads, list(_predictions(hops))))
        left -= len(hops)
    if shown and (apart := _apart(rows, groups)):
        shown[0].leads.append(apart)
    return shown


def _apart(rows: Sequence[_core.HopRow], groups: Sequence[_core.ServerGroupRow]) -> str:
    """Servers with stalls outside any chain; empty if there are none."""
    servers = dict.fromkeys(held.server(group.worst) for group in groups)
    apart = [server for server in servers if server not in {row.server for row in rows}]
    if not apart:
        return ""
    return f"The stalls with {_names(apart)} could not be linked to any hop."


def passed_on(group: _core.ServerGroupRow, rows: Sequence[_core.HopRow]) -> str:
    """Where else what this group holds is waited for, as a sentence; empty if nowhere."""
    hop = next((hop for hop in rows if hop.server == held.server(group.worst)), None)
    elsewhere = _elsewhere(hop, rows, [group.worst.sender]) if hop else ""
    return f"{sentence_start(elsewhere)}: the same time, counted once." if elsewhere else ""


def cells(hop: _core.HopRow, name: Callable[[str], str] = str) -> tuple[str, ...]:
    """The cells of a hop, below `HEADS`; `name` marks up who calls and who is called."""
    stalls = (hop.client_stalls, "client"), (hop.server_stalls, "server")
    return (
        str(hop.number),
        name(caller(hop)),
        IN_EFFECT[hop.client_nagle],
        name(hop.server),
        IN_EFFECT[hop.server_nagle],
        ", ".join(f"{number:,} {side}" for number, side in stalls if number) or "-",
        duration(hop.stalled_ms) if hop.stalled_ms else "-",
        f"{hop.client_passed_on + hop.server_passed_on:,}",
        maybe_duration(hop.mean_latency_ms),
    )


def caller(hop: _core.HopRow) -> str:
    """Who calls: a client, or a relay by its own server address."""
    if hop.called_by:
        return _names(hop.called_by, " or ")
    return hop.client if hop.clients == 1 else count(hop.clients, "client")


def _holds(hop: _core.HopRow) -> bool:
    return hop.client_stalls + hop.server_stalls > 0


def _lead(hop: _core.HopRow, chain: Sequence[_core.HopRow]) -> str:
    parts = []
    if hop.server_stalls:
        parts.append(f"{hop.server} holds data back")
    if hop.client_stalls:
        several = not hop.called_by and hop.clients > 1
        holds = "hold" if several else "holds"
        parts.append(f"{caller(hop)} (client of {hop.server}) {holds} data back")
    sides = [side for side in ("server", "client") if getattr(hop, f"{side}_stalls")]
    lost = f"{duration(hop.stalled_ms)} lost"
    if elsewhere := _elsewhere(hop, chain, sides):
        lost = f"{elsewhere}; {lost}, once"
    return f"{' and '.join(parts)}; {lost}."


def _elsewhere(hop: _core.HopRow, chain: Sequence[_core.HopRow], sides: Sequence[str]) -> str:
    """Which other hops wait for what these sides of a hop hold."""
    places = []
    if relays := {relay for side in sides for relay in _relays(hop, chain, side)}:
        forward = "forwards" if len(relays) == 1 else "forward"
        places.append(f"{count(len(relays), 'relay')} {forward} it")
    replying = [row for row in chain if row.server in hop.called_by and row.server_passed_on]
    if "client" in sides and replying:
        places.append("its own replies are as late")
    return ", and ".join(places)


def _relays(hop: _core.HopRow, chain: Sequence[_core.HopRow], side: str) -> list[str]:
    """Relays that forwarded data held by this side of a hop: replies outwards, requests inwards."""
    chain = [row for row in chain if row.chain == hop.chain]
    if side == "server":
        return [row.server for row in chain if row.number < hop.number and row.server_passed_on]
    behind = [row for row in chain if row.number > hop.number and row.client_passed_on]
    return list(dict.fromkeys(relay for row in behind for relay in row.called_by))


def _predictions(chain: Sequence[_core.HopRow]) -> Iterator[str]:
    holders = [hop for hop in chain if _holds(hop)]
    now_ms = chain[0].mean_latency_ms
    for hop in holders:
        then_ms = hop.first_hop_predicted_latency_ms
        if then_ms is None or now_ms is None:
            continue
        which = f" of hop {hop.number} alone" if len(holders) > 1 else ""
        yield (
            f"Without the stalls{which}, an exchange of the first client would take "
            f"about {duration(then_ms)} instead of {duration(now_ms)}.{_unless(hop, chain)}"
        )


def _unless(hop: _core.HopRow, chain: Sequence[_core.HopRow]) -> str:
    """Relays that may hold what they forward today."""
    outwards = [row for row in chain if row.number < hop.number and row.server_nagle != "off"]
    inwards = [row for row in chain if row.number > hop.number and row.client_nagle != "off"]
    ends = []
    if hop.server_stalls and outwards:
        ends.append(f"{_names([row.server for row in outwards])} towards the client")
    if hop.client_stalls and inwards:
        relays = dict.fromkeys(relay for row in inwards for relay in row.called_by)
        ends.append(f"{_names(list(relays))} towards the server")
    if not ends:
        return ""
    return (
        " Once this is fixed, the relay may stall instead: no evidence of TCP_NODELAY on "
        f"{', '.join(ends)}."
    )


def _names(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - MAX_NAMES
    shown = between.join(names[:MAX_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown
