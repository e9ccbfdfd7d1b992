"""No sentence tells a likely or possible stall as a fact."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, Run
from conversation import Conversation, stalled, write
from nagle_scan.report import held, hops, sentences
from nagle_scan.report.ascii_ladder import ladder
from nagle_scan.report.stall_frames import frames
from nagle_scan.words import certainty


def group(surest: int, **more: Any) -> Any:
    """The group of one server, with a stall of this confidence."""
    worst = SimpleNamespace(
        sender="server",
        sender_addr="10.0.0.2",
        receiver_addr="10.0.0.1",
        server_port=80,
        nagle_frames=(53, 99),
        connection=4,
    )
    stalls = [int(place == surest) for place in range(3)]
    known = {"nagle": "on", "may_be_relay": False, "sockets": (1, 0, 0, 0), "clients": 1}
    lost_ms = [40.0 * number for number in stalls]
    return SimpleNamespace(
        worst=worst,
        stalls_by_confidence=stalls,
        stalled_ms_by_confidence=lost_ms,
        **(known | more),
    )


@pytest.mark.parametrize(
    ("nagle", "sockets", "said"),
    [
        ("on", (1, 0, 0, 0), "{} is not in effect on {}."),
        ("on", (6, 3, 0, 0), "On 6 of 9 connections {} is not in effect on {}; on 3 it is."),
        (
            "unknown",
            (1, 0, 1, 0),
            "On 1 of 2 connections {} is not in effect on {}; on 1 it is not known.",
        ),
        ("unknown", (0, 0, 1, 0), "{} is probably not in effect on {}."),
        (
            "unknown",
            (0, 2, 3, 0),
            "{} is in effect on 2 of 5 connections to {}, and probably not on the others.",
        ),
        ("off", (0, 1, 0, 0), "{} is in effect on {}; if it stalled, it was set only later."),
        (
            "switched",
            (0, 0, 0, 1),
            "{} was set on {} only after the stalls: frame 53 was still held, frame 99 no "
            "longer (tcp.stream 4).",
        ),
    ],
)
def test_the_option_is_told_as_the_table_tells_it(
    nagle: str, sockets: tuple[int, ...], said: str
) -> None:
    sentence = held.option(group(1, nagle=nagle, sockets=sockets))
    assert sentence == said.format("TCP_NODELAY", "10.0.0.2:80")


@pytest.mark.parametrize(
    ("rtt_ms", "delay_ms", "acks"),
    [
        (383.0, 15.9, "prompt"),
        (0.3, 15.9, "delayed"),
        (26.0, 40.0, "delayed"),
        (60.0, 426.0, "delayed"),
        (60.0, 626.0, "prompt"),
    ],
)
def test_a_late_ack_is_a_delayed_one_only_where_no_path_explains_it(
    rtt_ms: float, delay_ms: float, acks: str, run: Run, tmp_path: Path
) -> None:
    made = stalled(Conversation(rtt_ms=rtt_ms), rounds=2, delay_ms=delay_ms)
    done = run(write(tmp_path / "late.pcap", made.frames))
    report = " ".join(done.stdout.decode().split())
    for words in ("until the receiver's ACK timer fires", "TCP_QUICKACK"):
        assert (words in report) == (acks == "delayed")


def test_the_stall_that_is_shown_is_one_of_the_headline(tmp_path: Path) -> None:
    made = stalled(Conversation(rtt_ms=26.0), rounds=2, delay_ms=0.0)
    made.may_hold()
    core = nagle_scan.scan(write(tmp_path / "two.pcap", made.frames))._result.core
    first = max(core.groups(), key=lambda group: not certainty.is_only_possible(group))
    possible = next(group for group in core.groups() if certainty.is_only_possible(group))
    assert possible.stalled_ms > first.stalled_ms
    shown = core.clearest()
    assert shown is not None
    assert (shown.sender, shown.confidence) == (first.worst.sender, "certain")


def test_a_first_exchange_is_fast_only_if_stalls_slow_the_others() -> None:
    row = {"first_exchange_stalled": False, "first_latency_ms": 62.6, "exchanges": 18}
    row |= {"handshake": True}
    slow: Any = SimpleNamespace(**row, mean_latency_ms=452.4, predicted_latency_ms=450.1)
    stalls: Any = SimpleNamespace(**row, mean_latency_ms=452.4, predicted_latency_ms=80.0)
    worst = SimpleNamespace(cause="nagle_delack")
    quick = group(2, quick_acks=True, some_full_sized=False)
    quick.worst = worst
    assert sentences.first_exchange([slow], [quick]) is None
    assert sentences.first_exchange([stalls], [quick]) is not None
    stalls.handshake = False
    assert sentences.first_exchange([stalls], [quick]) is None


def test_frames_and_ladder_say_how_sure_it_is() -> None:
    (row,) = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")._result.core.affected(1)
    certain = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")._result.core.stalls_of(
        row.connection, 1
    )[0]
    names = [name for name in dir(certain) if not name.startswith("_")]
    possible: Any = SimpleNamespace(**{name: getattr(certain, name) for name in names})
    for confidence, are_held, held_then in (
        ("certain", "B are held", "held, "),
        ("likely", "B are probably held", "probably held, "),
        ("possible", "B may be held", "perhaps held, "),
    ):
        possible.confidence = confidence
        assert are_held in "\n".join(ladder(possible))
        assert frames(possible)[2].what.startswith(held_then)


def test_a_prediction_is_at_best_and_says_where_it_was_measured() -> None:
    summary = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")._result.core.summary()
    cost = sentences.cost(summary, [], elsewhere=True, at_most="at most ")
    assert "on average (as seen at the capture point), about" in cost
    assert cost.startswith("At most nearly all of the latency")


def test_a_chain_without_a_stall_names_who_stalls_elsewhere() -> None:
    numbers = {"number": 1, "chain": 1, "stalled_ms": 0.0, "mean_latency_ms": None}
    hop: Any = SimpleNamespace(server="10.0.0.9:80", client_stalls=0, server_stalls=0, **numbers)
    (apart,) = hops.chains([hop], 9, [group(2)])
    (alone,) = hops.chains([hop], 9)
    none = "No stall at any of these hops."
    assert apart.leads == [none, "The stalls with 10.0.0.2:80 could not be linked to any hop."]
    assert alone.leads == [none]
