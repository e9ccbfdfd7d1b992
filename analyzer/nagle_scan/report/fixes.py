"""What to change, for each side that holds something back."""

from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan import _core, advice
from nagle_scan.report import held

WORDS = {2: "two", 3: "three"}


class Fix(NamedTuple):
    """What to change for one side that holds data back, the best first."""

    sender: str
    receiver: str
    remedies: Sequence[advice.Remedy]
    test_well: str
    condition: str
    """Of what is only possible: ', if it stalls'."""
    first: str = ""
    """What to find out before any of it."""

    @property
    def choice(self) -> str:
        """How many ways there are, for a heading; empty where none is known."""
        ways = {0: "", 1: "one way to fix it"}
        number = len(self.remedies)
        return ways.get(number, f"{WORDS.get(number, number)} ways to fix it, best first")

    def where(self, remedy: advice.Remedy) -> str:
        """Where to make the change."""
        return remedy.where.format(sender=self.sender, receiver=self.receiver)


def fixes(
    groups: Sequence[_core.ServerGroup], limit: int, paths: Sequence[str], first_told: bool
) -> list[Fix]:
    """One fix for each side that holds data back, for the cause that costs it most.

    `first_told`: the report says elsewhere why the first exchange was fast.
    """
    parties: dict[str, _core.ServerGroup] = {}
    for group in groups:
        parties.setdefault(held.party(group), group)
    return [
        Fix(
            sender,
            held.receiver(group),
            _remedies(group, paths),
            advice.test_well(group.worst, first_told=first_told),
            ", if it stalls" if held.word(group) == "possible" else "",
            _find_out_first(group),
        )
        for sender, group in list(parties.items())[:limit]
    ]


def _remedies(group: _core.ServerGroup, paths: Sequence[str]) -> list[advice.Remedy]:
    """None for what may only pass on, with TCP_NODELAY in effect."""
    if group.may_be_relay and group.nagle == "off":
        return []
    return advice.for_group(group.worst, paths)


def _find_out_first(group: _core.ServerGroup) -> str:
    if not group.may_be_relay or group.nagle == "on":
        return ""
    return (
        f"First capture the other connections of {group.worst.sender_addr}: if it is a proxy that "
        "only passes on, change its upstream instead."
    )
