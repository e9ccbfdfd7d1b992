"""Could a stall have been seen? What a server sent that is like what stalled before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

from nagle_scan import _core
from nagle_scan.result import Endpoint, Result, table

if TYPE_CHECKING:
    import pandas as pd

LUCK = 0.05
"""How likely it may be that a server which still stalls shows no stall."""
EXCEPTION = 0.2
"""One turn alone may be an exception: it takes two."""
ALIKE = 1.25
"""Lengths that differ by a smaller factor are alike."""
HELD_MS = 1.0
"""The shortest hold that is looked for."""
KIND = ["pace", "begins"]
"""What the receiver did before decides whether it delays its ACK."""

Proof = Literal["", "nodelay", "one_write", "chances"]
Side = tuple[set[str], "pd.DataFrame | None"]
"""What is known of Nagle's algorithm on its sockets, and its turns if they could be read again."""


class Chances(NamedTuple):
    """What shows that one side of a server no longer stalls."""

    sender: str
    proof: Proof = ""
    chances: int = 0
    """Its turns like those that stalled before; with `one_write`, such messages."""
    stalled: int = 0
    turns: int = 0
    """How many of these stalled in the baseline, and how many there were."""
    split: tuple[int, int, int, int] | None = None
    """Lengths and frames of two small pieces that an ACK lies between."""
    held_ms: float = 0.0
    """How long the second one was held until that ACK; 0 if it was not."""
    is_read: bool = True
    """Could both captures be read again?"""


def chances(
    before: Result, after: Result, was: Mapping[Endpoint, Endpoint]
) -> dict[Endpoint, Chances]:
    """By server of the second capture: those in `was`, with their endpoints in the first.

    If both sides of a server stalled, the side that is less sure.
    """
    worst = [group.worst for group in before.core.groups()]
    sides = sorted({(one.server_ip, one.server_port, one.sender) for one in worst})
    found: dict[Endpoint, Chances] = {}
    if not was:
        return found
    old, new = _Turns(before, was.values()), _Turns(after, was)
    for place, known in was.items():
        for sender in (sender for *at, sender in sides if tuple(at) == known):
            if place not in found or found[place].proof:
                found[place] = _of_side(sender, old.of(known, sender), new.of(place, sender))
    return found


class _Turns:
    """The turns of some servers."""

    def __init__(self, result: Result, places: Collection[Endpoint]) -> None:
        import pandas as pd

        ends = result.table("connections")
        keys = pd.MultiIndex.from_frame(ends[["server_addr", "server_port"]])
        self._ends = ends[keys.isin(list(places))]
        self._turns: pd.DataFrame | None = None
        if result.can_be_read_again:
            turns = table(_core.turns(result.paths, result.options, list(self._ends.index)))
            turns["stalled"] = turns["frame_next"].isin(result.core.columns("stalls")["frame_held"])
            turns["short"] = turns["wait_ms"] < result.options.min_wait_ms
            self._turns = turns

    def of(self, place: Endpoint, sender: str) -> Side:
        """Of one side of a server."""
        ends, turns = self._ends, self._turns
        ends = ends[(ends["server_addr"] == place[0]) & (ends["server_port"] == place[1])]
        if turns is not None:
            turns = turns[(turns["sender"] == sender) & turns["connection"].isin(ends.index)]
        return set(ends[f"{sender}_nagle"]), turns


def _of_side(sender: str, before: Side, after: Side) -> Chances:
    (_, old), (nagle, new) = before, after
    known = Chances(sender, "nodelay" if nagle & {"off", "switched"} and "on" not in nagle else "")
    if old is None or new is None:
        return known._replace(is_read=False)
    stalled = old[old["stalled"]]
    old_pairs = _alike(old, stalled, "first_bytes", "next_bytes").query("stalled or short")
    new_pairs = _alike(new, stalled, "first_bytes", "next_bytes").query("short")
    # What was held for a round trip left as the ACK came.
    at_once = new_pairs["release_ms"] < new_pairs["wait_ms"] / 4
    new_pairs["held"] = at_once & (new_pairs["wait_ms"] >= HELD_MS)
    split = new_pairs[new_pairs["release_ms"].notna()]
    if len(split):
        one = split.sort_values("held", ascending=False, kind="stable").iloc[0]
        lengths = int(one["first_bytes"]), int(one["next_bytes"])
        pieces = (*lengths, int(one["frame_first"]), int(one["frame_next"]))
        known = known._replace(split=pieces, held_ms=float(one["wait_ms"]) * bool(one["held"]))
    messages = [len(_whole(turns, stalled, sender)) for turns in (old, new)]
    in_pieces = int(old_pairs["begins"].sum())
    is_luck = _luck(in_pieces, in_pieces + messages[0]) ** messages[1] > LUCK
    if not (known.proof or len(split) or is_luck):
        return known._replace(proof="one_write", chances=messages[1])
    kinds = old_pairs.groupby(KIND, observed=True)["stalled"].agg(["sum", "size"]).query("sum > 0")
    could = new_pairs[~new_pairs["held"]].groupby(KIND, observed=True).size()
    could = could.reindex(kinds.index, fill_value=0)
    each = [list(map(int, column)) for column in (kinds["sum"], kinds["size"], could)]
    is_luck = prod(_luck(seen, of) ** many for seen, of, many in zip(*each, strict=True)) > LUCK
    proof, (seen, of, many) = known.proof or ("" if is_luck else "chances"), map(sum, each)
    return known._replace(proof=proof, chances=many, stalled=seen, turns=of)


def _luck(seen: int, of: int) -> float:
    """How likely something does not happen that did `seen` times: Laplace's rule of succession."""
    return max((1 + of - seen) / (2 + of), EXCEPTION)


def _alike(turns: pd.DataFrame, others: pd.DataFrame, *lengths: str) -> pd.DataFrame:
    """Turns of which these lengths are in the range of others."""
    for name in lengths:
        least, most = others[name].min() / ALIKE, others[name].max() * ALIKE
        turns = turns[turns[name].between(least, most)]
    return turns


def _whole(turns: pd.DataFrame, stalled: pd.DataFrame, sender: str) -> pd.DataFrame:
    """Messages in one write that are as long as those that stalled; replies, to like requests."""
    lengths = ("bytes", "asked_bytes")[: 1 + (sender == "server")]
    one_write = (turns["first_bytes"] == 0) & (turns["bytes"] > stalled["first_bytes"].max())
    return _alike(turns[one_write], stalled, *lengths)
