"""One row for each cause: a cause that the engine adds and Python forgets fails here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import nagle_scan
from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.words import causes, certainty


def wait(cause: str, sender: str, turn: str = "asked", lost: bool | None = False) -> _core.WaitRow:
    fields = SimpleNamespace(
        cause=cause,
        sender=sender,
        turn=turn,
        may_be_held=False,
        lost_before_capture=lost,
        unanswered_syns=0,
        is_syn_again=False,
        upstream=None,
        ending="",
        row="",
    )
    return cast(_core.WaitRow, fields)


def test_python_knows_the_causes_of_the_engine_in_its_order() -> None:
    assert tuple(cause.name for cause in causes.CAUSES) == _core.CAUSES


def test_python_knows_the_confidences_and_verdicts_of_the_engine() -> None:
    values = {(kind, name): values for kind, name, _, _, values, *_ in _core.fields()}
    assert values["stall", "confidence"] == [*certainty.CONFIDENCES[::-1]]
    assert values["connection", "verdict"] == [*certainty.VERDICTS]


def test_the_documented_ledger_is_the_one_that_is_asked() -> None:
    page = (CAPTURES.parent / "docs" / "causes.md").read_text()
    rows = [f"| {owed} | {ended_by} | `{cause}` |" for _, owed, ended_by, cause in _core.LEDGER]
    assert "\n".join(rows) in page
    assert {cause for *_, cause in _core.LEDGER} == set(_core.CAUSES)


def test_an_unknown_cause_says_what_would_tell_it() -> None:
    names = [name for name, *_ in _core.LEDGER]
    assert len(set(names)) == len(names)
    assert set(causes.BY_ROW) <= set(names)
    unseen = wait("unknown", "server")
    unseen.row = "unseen_acks"
    assert "capture both directions" in causes.meaning_of(unseen)


def test_no_two_causes_look_or_read_alike() -> None:
    looks = {(cause.colour, cause.hatch) for cause in causes.CAUSES}
    assert len(looks) == len({cause.words for cause in causes.CAUSES}) == len(causes.CAUSES)


def test_stalls_are_the_causes_that_begin_with_nagle() -> None:
    stalls = [cause.name for cause in causes.CAUSES if cause.is_stall]
    assert stalls == [name for name in _core.CAUSES if name.startswith("nagle_")]


def test_a_program_is_late_only_with_what_somebody_asked_for() -> None:
    turns = [("client", turn) for turn in ("asked", "midway", "first")]
    turns += [("server", turn) for turn in ("asked", "midway", "idle", "first")]
    meanings = [causes.meaning_of(wait("sender_app", by, turn)) for by, turn in turns]
    assert len(set(meanings)) == len(turns)
    assert [meaning for meaning in meanings if "no reply yet" in meaning] == [meanings[3]]
    assert causes.meaning_of(wait("zero_window", "server")) == (
        causes.meaning_of(wait("zero_window", "client"))
    )


def test_a_loss_is_said_as_one_and_an_open_one_blames_nobody() -> None:
    seen = causes.meaning_of(wait("retransmission", "server"))
    before = causes.meaning_of(wait("retransmission", "server", lost=True))
    assert "before the capture point" in before
    assert "before" not in seen
    perhaps = causes.meaning_of(wait("unknown", "server", lost=None))
    assert perhaps.startswith("either a loss before the capture point or the program")
    assert causes.meaning_of(wait("unknown", "server")) != perhaps


def test_what_a_slow_link_delivers_late_is_not_laid_to_the_server() -> None:
    """It had left, by its timestamps: a bulk reply over 512 kbit/s, captured behind that link."""
    scan = nagle_scan.scan(CAPTURES / "labelled" / "bulk-reply-512kbit" / "client.pcap.gz")
    lost_ms = scan.waits.groupby("cause", observed=True).wait_ms.sum()
    assert lost_ms["slow_link"] > 10 * lost_ms.drop("slow_link").sum()
