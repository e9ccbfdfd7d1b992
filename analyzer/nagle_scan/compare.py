"""Two captures of the same service, before and after a change."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal, NamedTuple

from nagle_scan.chances import Chances, chances
from nagle_scan.moves import check, only_pairs, servers
from nagle_scan.result import Endpoint, Pairs, Result
from nagle_scan.words import certainty
from nagle_scan.words.wording import PERCENTILES, endpoint

WORSE = 1.1
"""Growth of the lost time per exchange by less than a tenth is noise between two runs."""
LEAST_GAIN = 0.75
"""The part of what the stalls cost that must be gained: the rest is noise between two runs."""

State = Literal[
    "none", "gone", "slow", "remain", "worse", "new", "possible", "unseen", "hidden", "untested"
]
Outcome = Literal["clean", "fixed", "remain", "worse", "possible", "inconclusive"]


class Numbers(NamedTuple):
    """Numbers of a server in one capture; percentiles as in `PERCENTILES`, none without exchanges.

    `predicted_ms` are the percentiles without the stalls.
    """

    stalls: int = 0
    stalled_ms: float = 0.0
    exchanges: int = 0
    latency_ms: tuple[float, ...] = ()
    predicted_ms: tuple[float, ...] = ()
    stalls_by_confidence: tuple[int, ...] = (0, 0, 0)
    stalled_ms_by_confidence: tuple[float, ...] = (0.0, 0.0, 0.0)

    def lost_ms(self, per_exchange: bool) -> float:
        """Time lost to stalls that count, in all or per exchange."""
        lost_ms = certainty.counted_ms(self) if self.stalls else 0.0
        return lost_ms / self.exchanges if per_exchange else lost_ms


class ServerChange(NamedTuple):
    """One server endpoint in both captures; `None` where it has no data in one of them."""

    addr: str
    port: int
    before: Numbers | None
    after: Numbers | None
    hidden: bool = False
    """Would a stall not show on any of its connections in the second capture?"""
    name: str = ""
    """The user's name for its address."""
    was: str = ""
    """How reports name the server of the baseline that only its port pairs with this one."""
    chances: Chances | None = None
    """Could a stall have been seen? Of a server that stalled before and shows none now."""

    @property
    def place(self) -> Endpoint:
        """Its address and port."""
        return self.addr, self.port

    @property
    def shown(self) -> str:
        """The server's name in reports."""
        return endpoint(self.name or self.addr, self.port)

    @property
    def state(self) -> State:
        """The fate of its stalls: `unseen` if the server has no data in the second capture,
        `hidden` if a stall would not show there, `untested` if hardly anything could have stalled,
        `slow` if exchanges take as long as before for no reason that is seen, `possible` if no
        stall of it is more than that, `worse` if more time is lost per exchange (in all, where
        there are no exchanges).
        """
        before, after = self.before or Numbers(), self.after or Numbers()
        if certainty.is_only_possible(after):
            return "possible"
        if not before.stalls:
            return "new" if after.stalls else "none"
        if self.after is None:
            return "unseen"
        if not after.stalls:
            proof = self.chances.proof if self.chances else "chances"
            if self.hidden or not proof:
                return "hidden" if self.hidden else "untested"
            return "slow" if self.missed and proof == "chances" else "gone"
        per_exchange = before.exchanges > 0 and after.exchanges > 0
        grew = after.lost_ms(per_exchange) > WORSE * before.lost_ms(per_exchange)
        return "worse" if grew else "remain"

    @property
    def prediction(self) -> tuple[float, float] | None:
        """Median latency in ms, as predicted from before and as measured after, of a server whose
        stalls are gone."""
        if self.state not in {"gone", "slow"} or self.before is None or self.after is None:
            return None
        if not self.before.predicted_ms or not self.after.latency_ms:
            return None
        return self.before.predicted_ms[0], self.after.latency_ms[0]

    @property
    def missed(self) -> tuple[str, float, float] | None:
        """The lowest percentile that the stalls made longer, as predicted and as measured in ms, if
        it did not become as short as it should."""
        if self.before is None or self.after is None or not self.after.latency_ms:
            return None
        before = zip(
            PERCENTILES,
            self.before.latency_ms,
            self.before.predicted_ms,
            self.after.latency_ms,
            strict=False,
        )
        for name, was_ms, predicted_ms, now_ms in before:
            if was_ms > WORSE * predicted_ms:
                gained = was_ms - now_ms >= LEAST_GAIN * (was_ms - predicted_ms)
                return None if gained else (name, predicted_ms, now_ms)
        return None


class Comparison(NamedTuple):
    """Totals, and the servers of both captures; those that lost most come first."""

    before: Numbers
    after: Numbers
    servers: tuple[ServerChange, ...]
    conclusive: bool
    """Is neither capture inconclusive?"""

    @property
    def outcome(self) -> Outcome:
        """`inconclusive` if the stalls of a server may be there still."""
        if certainty.is_only_possible(self.after):
            return "possible"
        if self.after.stalls:
            return "worse" if any(map(self._is_worse, self.servers)) else "remain"
        stays = any(
            one.before and one.before.stalls and one.state != "gone" for one in self.servers
        )
        if not self.conclusive or stays:
            return "inconclusive"
        return "fixed" if self.before.stalls else "clean"

    @property
    def moves(self) -> list[tuple[ServerChange, ServerChange]]:
        """Servers that stalled before and are missing now, each with the new one it may be: the
        only one on its address, or the only one of all."""
        missing = {server.place: server for server in self.servers if server.state == "unseen"}
        new = {server.place: server for server in self.servers if server.before is None}
        pairs = only_pairs(missing, new, lambda place: place[0])
        if not pairs:
            pairs = only_pairs(missing, new, lambda _: None)
        return [(missing[was], new[now]) for now, was in pairs.items()]

    def _is_worse(self, server: ServerChange) -> bool:
        """Did it grow worse? A server that the baseline did not see may have been another one."""
        if server.state == "new":
            return server.before is not None or not self.before.stalls
        return server.state == "worse"


def compare(before: Result, after: Result, known: Pairs = ()) -> Comparison:
    """Pairs servers by endpoint, or by port if each capture has just one unpaired server on it.

    `known` are pairs of endpoints that are the same server, before and after.
    Raises `CaptureError` for one that is not in its capture. Reports ask several times.
    """
    comparison: Comparison | None = after.compared.get((before, known))
    if comparison is None:
        comparison = after.compared[before, known] = _compare(before, after, known)
    return comparison


def _compare(before: Result, after: Result, known: Pairs) -> Comparison:
    check(known, before, after)
    old, new = _numbers(before), _numbers(after)
    stalled = {endpoint for endpoint, numbers in old.items() if numbers.stalls}
    is_conclusive = servers(after)
    if stalled - new.keys():
        ports = {port for _, port in (*stalled, *(now for _, now in known))}
        quiet = (place for place in is_conclusive if place[1] in ports)
        new = dict.fromkeys(quiet, Numbers()) | new
    moved = {now: was for was, now in known if now in new and was in old}
    rest = set(old) - set(moved.values()), set(new) - set(moved)
    by_port = only_pairs(*rest, lambda place: place[1])
    moved |= by_port
    names = before.core.names() | after.core.names()
    was = {place: moved.get(place, place) for place in new if not new[place].stalls}
    seen = chances(before, after, {now: at for now, at in was.items() if at in stalled})
    changes = [
        ServerChange(
            *place,
            old.get(moved.get(place, place)),
            new[place],
            not is_conclusive.get(place, True),
            names.get(place[0], ""),
            _shown(by_port[place], names) if place in by_port else "",
            seen.get(place),
        )
        for place in new
    ]
    paired = {moved.get(place, place) for place in new}
    changes += [
        ServerChange(*place, old[place], None, name=names.get(place[0], ""))
        for place in old
        if place not in paired
    ]
    changes.sort(key=_loss, reverse=True)
    conclusive = "inconclusive" not in (before.verdict, after.verdict)
    return Comparison(_totals(before), _totals(after), tuple(changes), conclusive)


def _shown(place: Endpoint, names: Mapping[str, str]) -> str:
    addr, port = place
    return endpoint(names.get(addr, addr), port)


def _loss(change: ServerChange) -> tuple[float, float]:
    before, after = change.before or Numbers(), change.after or Numbers()
    return after.lost_ms(per_exchange=False), before.lost_ms(per_exchange=False)


def _totals(result: Result) -> Numbers:
    summary = result.core.summary()
    return Numbers(
        summary.stalls,
        summary.stalled_ms,
        summary.exchanges,
        stalls_by_confidence=tuple(summary.stalls_by_confidence),
        stalled_ms_by_confidence=tuple(summary.stalled_ms_by_confidence),
    )


def _numbers(result: Result) -> dict[Endpoint, Numbers]:
    """By server: those with exchanges, and those with stalls only."""
    numbers = {
        (row.ip, row.port): Numbers(
            exchanges=row.exchanges,
            latency_ms=tuple(row.latency_ms),
            predicted_ms=tuple(row.predicted_ms),
        )
        for row in result.core.servers(sys.maxsize)
    }
    for group in result.core.groups():
        pair = group.worst
        known = numbers.get((pair.server_ip, pair.server_port), Numbers())
        numbers[pair.server_ip, pair.server_port] = known._replace(
            stalls=known.stalls + group.stalls,
            stalled_ms=known.stalled_ms + group.stalled_ms,
            **certainty.total([known, group])._asdict(),
        )
    return numbers
