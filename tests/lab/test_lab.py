"""The lab's own rules: what is shipped can be made again, and which captures can be compared."""

from __future__ import annotations

from typing import Any

import cases
import chains
import pandas as pd
import real
import truths
from conftest import CAPTURES
from pairs import Pair, base_name, has_merged_writes, is_comparable, is_fixed
from scoring import silence_before

MS = 1_000_000
SHIPPED_FOLDERS = [CAPTURES / name for name in ("labelled", "chains", "programs")]


def test_names_before_and_after_meet() -> None:
    assert base_name("redis-client-before") == base_name("redis-client-after") == "redis-client"
    assert base_name("both-split-nodelay-rtt2") == base_name("both-split-rtt2")
    assert is_fixed("both-split-nodelay-rtt2")
    assert not is_fixed("both-split-rtt2")


def truth_of(case: str, holds_ms: float, short_ms: float, writes: int) -> dict[str, Any]:
    return {
        "case": case,
        "stalls": [{"hold_ms": holds_ms, "writes": writes}],
        "short_holds": [{"hold_ms": short_ms}],
    }


def test_what_cannot_be_compared_is_left_out() -> None:
    assert is_comparable(truth_of("redis-client-before", 40, 2, 1), exchanges=4)
    assert not is_comparable(truth_of("redis-client-before", 40, 2, 1), exchanges=3)
    assert not is_comparable(truth_of("server-think0-80-rtt2", 40, 0, 1), exchanges=4)


def test_a_prediction_is_a_bound_only_where_writes_were_merged() -> None:
    assert has_merged_writes(truth_of("websocket-before", 40, 0, 7))
    assert not has_merged_writes(truth_of("redis-client-before", 40, 0, 2))
    assert Pair("near", 90, 0.6, 1.0, is_bound=False).is_met
    assert Pair("within a tenth", 90, 22, 20, is_bound=False).is_met
    assert not Pair("too good", 90, 0.6, 1.4, is_bound=False).is_met
    assert Pair("too good, but a bound", 90, 0.6, 1.4, is_bound=True).is_met
    assert not Pair("too bad, and a bound", 90, 2.4, 1.4, is_bound=True).is_met


def test_silence_counts_from_data_of_either_side_to_a_copy() -> None:
    segments = [
        ("client", 0, 10, 0),
        ("server", 0, 0, 30 * MS),  # a pure ACK breaks no silence
        ("server", 0, 5, 40 * MS),
        ("client", 10, 10, 45 * MS),
        ("client", 10, 10, 245 * MS),
    ]
    table = pd.DataFrame(segments, columns=["sender", "rel_seq", "len", "time_ns"])
    assert silence_before(table) == {("server", 0): 40.0, ("client", 10): 5.0}


def test_every_case_has_its_name_and_exactly_what_is_shipped_can_be_made_again() -> None:
    names = [case.id for case in (*cases.listed(), *cases.stack_cases(), *real.programs())]
    names += [case.id for case in chains.all_chains()]
    assert len(set(names)) == len(names)
    shipped = {truth["case"] for folder in SHIPPED_FOLDERS for truth in truths.read(folder)}
    # 'loaded-' ones on a machine with other work
    assert {case.removeprefix("loaded-") for case in shipped} == set(names)
