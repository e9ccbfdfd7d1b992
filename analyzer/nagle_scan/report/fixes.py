"""Changes to make, for each side that holds data; sides with the same advice share them."""

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from nagle_scan import _core, advice
from nagle_scan.report import held
from nagle_scan.words import certainty
from nagle_scan.words.wording import sentence_start

SENDER = "{sender}"
NUMBERS = {2: "two", 3: "three"}
MOST_PARTIES = 20
"""Sides that get advice, from their messages: the first ones."""
MOST_NAMED = 3
"""Senders, and proxies, that a sentence calls by their names."""


class Fix(NamedTuple):
    """The changes to make where data is held, best remedy first."""

    senders: Sequence[str]
    """Sides that need it, the surest first."""
    receiver: str
    """The side that sends the ACKs, where a remedy there helps."""
    remedies: Sequence[advice.Remedy]
    test_well: str
    unsure: frozenset[str]
    """Senders with possible stalls only."""
    proxies: Sequence[str] = ()
    """Addresses of senders that may only forward."""
    is_of_some: bool = False
    """More sides hold data than were looked at."""
    is_split: bool | None = None
    """Does the first of the senders hold parts of a message? `None` if that does not show."""

    @property
    def is_nothing(self) -> bool:
        """Is there nothing to change, and a reason?"""
        return advice.KEY_EXCHANGE in self.remedies

    @property
    def choice(self) -> str:
        """The number of remedies, for a heading; empty without any."""
        if self.is_nothing:
            return ""
        ways = {0: "", 1: "one way to fix it"}
        number = len(self.remedies)
        return ways.get(number, f"{NUMBERS.get(number, number)} ways to fix it, best first")

    @property
    def sender(self) -> str:
        """The senders, in words."""
        return self.named(str)

    def named(self, mark: Callable[[str], str]) -> str:
        """The senders, each marked up, with a star at those with only possible stalls."""
        senders, unsure = self.senders, self.unsure.intersection(self.senders)
        more = max(len(senders) - MOST_NAMED, 0)
        # A name takes no more room than '1 more'.
        shown = senders[: len(senders) - more] if more > 1 else senders
        star = "*" if len(unsure) < len(senders) else ""
        names = [mark(sender) + star * (sender in unsure) for sender in shown]
        if len(shown) < len(senders):
            names.append("others" if self.is_of_some else f"{more} more")
        *first, last = names
        said = f"{', '.join(first)} and {last}" if first else last
        if not unsure.isdisjoint(shown) and star:
            return f"{said} ({star} only possible)"
        return said if star else f"{said} (if {'they stall' if first else 'it stalls'})"

    def where(self, remedy: advice.Remedy) -> str:
        """Where to make the change."""
        return remedy.where.format(sender=self.sender, receiver=self.receiver)

    def where_there(self, remedy: advice.Remedy, mark: Callable[[str], str] = str) -> str:
        """The place of a remedy below a heading that names the senders."""
        return remedy.where.replace(" on {sender}", "").format(receiver=mark(self.receiver))

    @property
    def first(self) -> str:
        """The question to settle first; empty without a likely proxy."""
        if not self.proxies:
            return ""
        named = [*self.proxies[:MOST_NAMED], "others"][: len(self.proxies)]
        return (
            f"If {' or '.join(named)} is a proxy, capture its upstream first: where it only "
            "forwards, the fix belongs there."
        )

    @property
    def in_few_words(self) -> str:
        """The first remedy without its details."""
        return self.remedies[0].short if self.remedies else "none here"

    @property
    def in_short(self) -> str:
        """The question to settle first, and the first remedy with its place."""
        if not self.remedies:
            return self.first
        where = sentence_start(self.where(self.remedies[0]))
        return f"{self.first} {where}: {self.in_few_words}.".lstrip()

    def of(self, senders: Set[str]) -> "Fix":
        """This fix for some of its senders."""
        return self._replace(senders=[one for one in self.senders if one in senders])

    @property
    def in_full(self) -> str:
        """The best remedy, with its price; empty without any."""
        if not self.remedies:
            return ""
        remedy = self.remedies[0]
        where = sentence_start(f"{self.where(remedy)}: {remedy.what} {remedy.price}")
        return f"{self.first} {where}".lstrip()


class _Party(NamedTuple):
    """A side that holds data, with the group that costs it most."""

    name: str
    group: _core.ServerGroupRow
    advised: advice.Advised
    receivers: frozenset[str]

    @property
    def address(self) -> str:
        """The address of its host."""
        return self.group.worst.sender_addr

    @property
    def remedies(self) -> Sequence[advice.Remedy]:
        """Remedies on both sides; none for a relay with TCP_NODELAY in effect, which passes on."""
        only_passes_on = self.group.may_be_relay and self.group.nagle == "off"
        return [] if only_passes_on else self.advised.remedies

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for sides with the same remedies of their own; those of the receiver may differ."""
        own = [one for one in self.remedies if SENDER in one.where]
        general = [(one.where, one.how, one.settings) for one in own]
        return (*general, held.may_forward(self.group))


def fixes(
    groups: Sequence[_core.ServerGroupRow],
    paths: Sequence[str],
    scan: _core.Scan,
    is_explained: bool,
) -> list[Fix]:
    """One fix per kind of advice, for the cause that costs a side most.

    `is_explained`: the report explains the fast first exchange elsewhere.
    """
    kinds: dict[tuple[object, ...], list[_Party]] = {}
    for party in _parties(groups, paths, scan):
        kinds.setdefault(party.kind, []).append(party)
    is_of_some = len(set(map(held.party, groups))) > MOST_PARTIES
    return [_fix(alike, is_explained)._replace(is_of_some=is_of_some) for alike in kinds.values()]


def each_once(fixes: Sequence[Fix]) -> list[Fix]:
    """These fixes, each remedy explained in full only where it comes first."""
    explained: set[object] = set()
    shown = []
    for fix in fixes:
        remedies = [one.as_above if one.how in explained else one for one in fix.remedies]
        asked = () if fix.proxies in explained else fix.proxies
        explained |= {fix.proxies, *(one.how for one in fix.remedies)}
        shown.append(fix._replace(remedies=remedies, proxies=asked))
    return shown


def in_short(fixes: Sequence[Fix]) -> str:
    """All fixes in one paragraph: a sentence for all sides with the same first remedy.

    The question about proxies comes first, once.
    """
    alike: dict[tuple[str, ...], list[Fix]] = {}
    for fix in fixes:
        remedy = fix.remedies[0] if fix.remedies else None
        key = (remedy.where, remedy.short) if remedy else ()
        # Remedies at a receiver differ by the sender of the ACKs.
        alike.setdefault(
            key if remedy and SENDER in remedy.where else (*key, fix.sender), []
        ).append(fix)
    proxies = dict.fromkeys(address for fix in fixes for address in fix.proxies)
    sentences = [
        same[0]
        ._replace(
            senders=[sender for fix in same for sender in fix.senders],
            unsure=frozenset().union(*(fix.unsure for fix in same)),
            proxies=(),
        )
        .in_short
        for same in alike.values()
    ]
    first = fixes[0]._replace(proxies=tuple(proxies)).first
    return " ".join(filter(None, (first, *sentences)))


def of_each(
    groups: Sequence[_core.ServerGroupRow], paths: Sequence[str], scan: _core.Scan
) -> dict[str, Fix]:
    """The fix of each side alone, which names no other that needs the same."""
    parties = _parties(groups, paths, scan)
    return {party.name: _fix([party], is_explained=True) for party in parties}


def _parties(
    groups: Sequence[_core.ServerGroupRow], paths: Sequence[str], scan: _core.Scan
) -> list[_Party]:
    worst: dict[str, _core.ServerGroupRow] = {}
    receivers: dict[str, set[str]] = {}
    for group in groups:
        worst.setdefault(held.party(group), group)
        receivers.setdefault(held.party(group), set()).add(held.receiver(group))
    chosen = list(worst.items())[:MOST_PARTIES]
    advised = advice.for_groups([group.worst for _, group in chosen], paths, scan)
    relays = _relays(scan)
    parties = []
    for (name, group), advice_of in zip(chosen, advised, strict=True):
        pair = group.worst
        if (pair.sender, held.server(pair), pair.sender_addr) in relays:
            advice_of = advice.of_relay(advice_of, pair.sender)
        parties.append(_Party(name, group, advice_of, frozenset(receivers[name])))
    return parties


def _fix(alike: Sequence[_Party], is_explained: bool) -> Fix:
    most = max(len(party.remedies) for party in alike)
    fullest = [party for party in alike if len(party.remedies) == most]
    receivers = set().union(*(party.receivers for party in fullest))
    senders = {party.group.worst.sender for party in fullest}
    several: dict[tuple[str, ...], str] = {("client",): "the servers", ("server",): "the clients"}
    return Fix(
        [party.name for party in alike],
        receivers.pop()
        if len(receivers) == 1
        else several.get((*senders,), "whichever delays its ACKs"),
        _shared(alike, fullest[0].remedies),
        _test_well(alike, is_explained),
        frozenset(party.name for party in alike if certainty.is_only_possible(party.group)),
        tuple(dict.fromkeys(party.address for party in alike if held.may_forward(party.group))),
        is_split=alike[0].advised.is_split,
    )


def _test_well(alike: Sequence[_Party], is_explained: bool) -> str:
    """For the first side that a test may miss; how late its ACKs were, if that holds for all."""
    alike = [party for party in alike if advice.KEY_EXCHANGE not in party.remedies]
    texts = {advice.how_to_test(party.group.worst) for party in alike}
    every = (
        advice.how_to_test(party.group.worst, is_explained=is_explained, timer=len(texts) == 1)
        for party in alike
    )
    return next(filter(None, every), "")


def _shared(alike: Sequence[_Party], fullest: Sequence[advice.Remedy]) -> list[advice.Remedy]:
    """The remedies of all, without details of a single side."""
    return [
        remedy if all(remedy in party.remedies for party in alike) else remedy._replace(why="")
        for remedy in fullest
    ]


def _relays(scan: _core.Scan) -> set[tuple[str, str, str]]:
    """Relays that were seen to pass on: the side on which they may hold, the server, the sender."""
    relays = [(relay, hop.server) for hop in scan.hops() for relay in hop.called_by]
    downstream = [("server", relay, relay) for relay, _ in relays]
    upstream = [("client", server, relay) for relay, server in relays]
    return {
        (side, server, relay.rpartition(":")[0].strip("[]"))
        for side, server, relay in downstream + upstream
    }
