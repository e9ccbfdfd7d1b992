"""What is new, gone or worse: what the last run added, compared with what the run before added.

The rules and the words are those of `compare`: a service is worse if it loses more time per
exchange, so that a longer day is not. Servers are paired by address and port only: many hosts of a
fleet have the same ports. Latencies are not compared. What was captured no later than what the run
before added tells nothing: an archive may get its old captures last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.compare import Numbers, ServerChange, State
from nagle_scan.fleet import sums
from nagle_scan.words.wording import count

if TYPE_CHECKING:
    import pandas as pd

SHOWN: tuple[State, ...] = ("new", "worse", "gone", "remain", "possible", "hidden", "unseen")
"""What had stalls in one of both runs, in the order of what needs attention."""
EXPECTED = 3
"""As often as before, so many stalls would come at least in the exchanges of the later run. Then
none is no accident: it would be one in 5 % of cases (exp(-3), the rule of three)."""
TOLD: dict[State, str] = {
    "new": "with new stalls",
    "worse": "worse",
    "gone": "without stalls any more",
}


class Changes(NamedTuple):
    """What became of the services from one run to the next."""

    before: int | None
    """The number of the earlier run; `None` if there is none."""
    after: int | None
    servers: tuple[ServerChange, ...]
    """Those with stalls in one of both; in the order of `SHOWN`, then those that lose most."""
    is_later: bool = True
    """Was anything captured later than before?"""

    def of(self, state: State) -> list[ServerChange]:
        """The servers of which that became."""
        return [server for server in self.servers if server.state == state]

    @property
    def sentence(self) -> str:
        """All in one."""
        if self.after is None:
            return "No run has added anything yet."
        if self.before is None:
            return f"Only run {self.after} has added captures: there is nothing to compare it with."
        if not self.is_later:
            return (
                f"What run {self.after} added was captured no later than what run {self.before} "
                "added: there is nothing to compare."
            )
        told = ", ".join(
            f"{count(len(self.of(state)), 'service')} {words}"
            for state, words in TOLD.items()
            if self.of(state)
        )
        between = f"Run {self.after} compared with run {self.before}"
        return f"{between}: {told or 'no service is new, worse or without stalls any more'}."


def last_runs(runs: Sequence[int]) -> tuple[int | None, int | None]:
    """The last two that added something, the earlier one first."""
    known = [None, None, *sorted(set(runs))]
    return known[-2], known[-1]


def of(runs: pd.DataFrame, before: int | None, after: int | None) -> Changes:
    """`runs` are sums by run and server: see `sums.Sums`."""
    if before is None or after is None:
        return Changes(before, after, ())
    old, new = _numbers(runs, before), _numbers(runs, after)
    later = _later(runs, before, after)
    if new and not later:
        return Changes(before, after, (), is_later=False)
    judged = runs[(runs["run"] == after) & runs["conclusive"].astype(bool)]
    conclusive = set(zip(judged["server_addr"], judged["server_port"], strict=True))
    servers = [
        ServerChange(
            *place,
            old.get(place),
            new.get(place),
            hidden=place in new
            and (place not in conclusive or _is_too_little(old.get(place), new[place])),
        )
        for place in old.keys() | new.keys()
        if place in later or place not in new
    ]
    servers = [server for server in servers if server.state in SHOWN]
    servers.sort(key=lambda server: (SHOWN.index(server.state), -_lost_ms(server), server.shown))
    return Changes(before, after, tuple(servers))


def _later(runs: pd.DataFrame, before: int, after: int) -> set[tuple[str, int]]:
    """Servers that the later run saw later: than the one before saw them, else than most."""
    then, now = (
        {
            (addr, port): last
            for addr, port, last in rows[["server_addr", "server_port", "last"]].itertuples(False)
        }
        for rows in (runs[runs["run"] == run] for run in (before, after))
    )
    most = runs[runs["run"] == before]["last"].median()
    # Captures that tell no date are taken in the order of the runs.
    return {place for place, last in now.items() if not last <= then.get(place, most)}


def _is_too_little(before: Numbers | None, after: Numbers) -> bool:
    """Would none of the stalls be seen in so few exchanges, though nothing changed?"""
    if before is None or not before.exchanges:
        return False
    return after.exchanges * before.stalls / before.exchanges < EXPECTED


def _lost_ms(server: ServerChange) -> float:
    return max(numbers.stalled_ms for numbers in (server.before, server.after) if numbers)


def _numbers(runs: pd.DataFrame, run: int) -> dict[tuple[str, int], Numbers]:
    """By server; those without exchanges or stalls, which no connection judges, tell nothing."""
    rows = runs[runs["run"] == run]
    found = {}
    for row in rows.to_dict("records"):
        total = sums.total_of(row)
        stalls = sum(total.stalls_by_confidence)
        if row["exchanges"] or stalls or row["conclusive"]:
            found[row["server_addr"], int(row["server_port"])] = Numbers(
                stalls,
                sum(total.stalled_ms_by_confidence),
                int(row["exchanges"]),
                stalls_by_confidence=total.stalls_by_confidence,
                stalled_ms_by_confidence=total.stalled_ms_by_confidence,
            )
    return found
