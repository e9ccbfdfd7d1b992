"""Could a stall have been seen? Turns of a server like those that stalled before."""

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

Proof = Literal["", "nodelay", "one_write", "chances"]
Read = tuple["pd.DataFrame", "pd.DataFrame | None"]
"""Connections, and their turns if they could be read again."""


class Chances(NamedTuple):
    """The proof that one side of a server no longer stalls, and how often it could have."""

    sender: str
    proof: Proof = ""
    chances: int = 0
    """Its turns like those that stalled before; with `one_write`, such messages."""
    stalled: int = 0
    turns: int = 0
    """How many of these stalled in the baseline, and how many there were."""
    split: tuple[int, int, int] | None = None
    """Lengths of two small pieces that an ACK lies between, and the frame of the second."""
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
    if not was:
        return {}
    worst = [group.worst for group in before.core.groups()]
    stalled = sorted({(one.server_ip, one.server_port, one.sender) for one in worst})
    old, new = _read(before, was.values()), _read(after, was)
    found: dict[Endpoint, Chances] = {}
    for place, known in was.items():
        for sender in (sender for *at, sender in stalled if tuple(at) == known):
            if place not in found or found[place].proof:
                sides = _side(old, known, sender), _side(new, place, sender)
                found[place] = _of_side(sender, *sides)
    return found


def _read(result: Result, places: Collection[Endpoint]) -> Read:
    import pandas as pd

    ends = result.table("connections")
    ends = ends[pd.MultiIndex.from_frame(ends[["server_addr", "server_port"]]).isin(list(places))]
    if not result.can_be_read_again:
        return ends, None
    turns = table(_core.turns(result.read_paths, result.options, list(ends.index)))
    turns["stalled"] = turns["frame_next"].isin(result.core.columns("stalls")["frame_held"])
    turns["short"] = turns["wait_ms"] < result.options.min_wait_ms
    return ends, turns


def _side(read: Read, place: Endpoint, sender: str) -> Read:
    ends, turns = read
    ends = ends[(ends["server_addr"] == place[0]) & (ends["server_port"] == place[1])]
    if turns is not None:
        turns = turns[(turns["sender"] == sender) & turns["connection"].isin(ends.index)]
    return ends, turns


def _of_side(sender: str, before: Read, after: Read) -> Chances:
    (_, old), (ends, new) = before, after
    nagle = set(ends[f"{sender}_nagle"])
    is_off = bool(nagle & {"off", "switched"}) and "on" not in nagle
    known = Chances(sender, "nodelay" if is_off else "")
    if old is None or new is None:
        return known._replace(is_read=False)
    stalled = old[old["stalled"]]
    whole = [len(_one_write(turns, stalled, sender)) for turns in (old, new)]
    old, new = (_alike(turns, stalled, "first_bytes", "next_bytes") for turns in (old, new))
    old, new = old[old["stalled"] | old["short"]], new[new["short"]]
    # A segment that was held for a round trip leaves as the ACK comes.
    is_held = new["wait_ms"].ge(HELD_MS) & new["release_ms"].lt(new["wait_ms"] / 4)
    held, split = new[is_held], new[new["release_ms"].notna()]
    if len(split):
        one = (held if len(held) else split).iloc[0]
        pieces = int(one["first_bytes"]), int(one["next_bytes"]), int(one["frame_next"])
        known = known._replace(split=pieces, held_ms=float(one["wait_ms"]) * bool(len(held)))
    elif not is_off and _luck(len(old), len(old) + whole[0]) ** whole[1] <= LUCK:
        return known._replace(proof="one_write", chances=whole[1])
    kinds = old.groupby("pace", observed=True)["stalled"].agg(["sum", "size"]).query("sum > 0")
    could = new[~is_held].groupby("pace", observed=True).size().reindex(kinds.index, fill_value=0)
    each = [list(map(int, column)) for column in (kinds["sum"], kinds["size"], could)]
    is_luck = prod(_luck(seen, of) ** many for seen, of, many in zip(*each, strict=True)) > LUCK
    proof, (seen, of, many) = known.proof or ("" if is_luck else "chances"), map(sum, each)
    return known._replace(proof=proof, chances=many, stalled=seen, turns=of)


def _luck(seen: int, of: int) -> float:
    """How likely something does not happen that did `seen` times: Laplace's rule of succession."""
    return max((1 + of - seen) / (2 + of), EXCEPTION)


def _alike(turns: pd.DataFrame, others: pd.DataFrame, *lengths: str) -> pd.DataFrame:
    """The turns with lengths in the range of others."""
    for name in lengths:
        least, most = others[name].min() / ALIKE, others[name].max() * ALIKE
        turns = turns[turns[name].between(least, most)]
    return turns


def _one_write(turns: pd.DataFrame, stalled: pd.DataFrame, sender: str) -> pd.DataFrame:
    """Messages in one write, as long as those that stalled; replies, to requests like theirs."""
    is_whole = (turns["first_bytes"] == 0) & (turns["bytes"] > stalled["first_bytes"].max())
    return _alike(turns[is_whole], stalled, *("bytes", "asked_bytes")[: 1 + (sender == "server")])
