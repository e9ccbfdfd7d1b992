"""What to change, for each side that holds data; sides with the same advice share it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nagle_scan import _core, advice
from nagle_scan.report import held

WORDS = {2: "two", 3: "three"}
MOST_PARTIES = 20
"""Only these have their messages read."""
MOST_NAMED = 3


class Fix(NamedTuple):
    """What to change where data is held, best remedy first."""

    senders: Sequence[str]
    """Those that need it, the one losing the most time first."""
    receiver: str
    remedies: Sequence[advice.Remedy]
    test_well: str
    condition: str
    """', if it stalls' for possible stalls."""
    first: str = ""
    """What to find out first."""

    @property
    def choice(self) -> str:
        """The number of remedies, for a heading; empty without any."""
        ways = {0: "", 1: "one way to fix it"}
        number = len(self.remedies)
        return ways.get(number, f"{WORDS.get(number, number)} ways to fix it, best first")

    @property
    def sender(self) -> str:
        """The senders, in words."""
        return self.named(str)

    def named(self, mark: Callable[[str], str]) -> str:
        """The senders, each marked up."""
        more = max(len(self.senders) - MOST_NAMED, 0)
        # A name takes no more room than '1 more'.
        more = more if more > 1 else 0
        shown = [mark(sender) for sender in self.senders[: len(self.senders) - more]]
        last = f"{more} more" if more else shown.pop()
        return f"{', '.join(shown)} and {last}" if shown else last

    def where(self, remedy: advice.Remedy) -> str:
        """Where to make the change."""
        return remedy.where.format(sender=self.sender, receiver=self.receiver)


class _Party(NamedTuple):
    """A side that holds data, with the group that costs it most."""

    name: str
    group: _core.ServerGroup
    remedies: Sequence[advice.Remedy]

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for parties with the same advice."""
        general = [(one.where, one.in_general or one.what, one.settings) for one in self.remedies]
        worst = self.group.worst
        well = advice.test_well(worst, timer=False)
        return (worst.sender, *general, _condition(self.group), _find_out_first(self.group), well)


def fixes(
    groups: Sequence[_core.ServerGroup], limit: int, paths: Sequence[str], first_told: bool
) -> list[Fix]:
    """One fix per kind of advice, for the cause that costs a side most.

    `first_told`: the report explains the fast first exchange elsewhere.
    """
    kinds: dict[tuple[object, ...], list[_Party]] = {}
    for party in _parties(groups, paths):
        kinds.setdefault(party.kind, []).append(party)
    return [_fix(alike, first_told) for alike in list(kinds.values())[:limit]]


def _parties(groups: Sequence[_core.ServerGroup], paths: Sequence[str]) -> list[_Party]:
    worst: dict[str, _core.ServerGroup] = {}
    for group in groups:
        worst.setdefault(held.party(group), group)
    chosen = list(worst.items())[:MOST_PARTIES]
    remedies = advice.for_groups([group.worst for _, group in chosen], paths)
    return [
        _Party(name, group, [] if _only_passes_on(group) else told)
        for (name, group), told in zip(chosen, remedies, strict=True)
    ]


def _fix(alike: Sequence[_Party], first_told: bool) -> Fix:
    group = alike[0].group
    receivers = {held.receiver(party.group) for party in alike}
    several = "their clients" if group.worst.sender == "server" else "their servers"
    told = {advice.test_well(party.group.worst) for party in alike}
    return Fix(
        [party.name for party in alike],
        receivers.pop() if len(receivers) == 1 else several,
        _shared(alike),
        advice.test_well(group.worst, first_told=first_told, timer=len(told) == 1),
        _condition(group),
        _find_out_first(group),
    )


def _shared(alike: Sequence[_Party]) -> list[advice.Remedy]:
    """The remedies common to all, without details of a single side."""
    first, *others = (party.remedies for party in alike)
    return [
        remedy
        if all(other[place].what == remedy.what for other in others)
        else remedy._replace(what=remedy.in_general or remedy.what)
        for place, remedy in enumerate(first)
    ]


def _condition(group: _core.ServerGroup) -> str:
    return ", if it stalls" if held.word(group) == "possible" else ""


def _only_passes_on(group: _core.ServerGroup) -> bool:
    """Is there no remedy: a relay with TCP_NODELAY in effect?"""
    return group.may_be_relay and group.nagle == "off"


def _find_out_first(group: _core.ServerGroup) -> str:
    if not group.may_be_relay or group.nagle == "on":
        return ""
    return (
        f"First capture the other connections of {group.worst.sender_addr}: if it is a proxy that "
        "only forwards, fix its upstream instead."
    )
