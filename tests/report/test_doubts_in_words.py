"""What is only likely or possible is not told as a fact, in any sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES
from nagle_scan.report import held, hops, sentences
from nagle_scan.report.ascii_ladder import ladder
from nagle_scan.report.stall_frames import frames


def group(surest: int, **more: Any) -> Any:
    """Of one server, with a stall of this confidence."""
    worst = SimpleNamespace(
        sender="server", sender_addr="10.0.0.2", receiver_addr="10.0.0.1", server_port=80
    )
    stalls = [int(place == surest) for place in range(3)]
    known = {"nagle": "on", "may_be_relay": False, "sockets": (1, 0, 0), "clients": 1}
    lost_ms = [40.0 * number for number in stalls]
    return SimpleNamespace(
        worst=worst,
        stalls_by_confidence=stalls,
        stalled_ms_by_confidence=lost_ms,
        **(known | more),
    )


@pytest.mark.parametrize(
    ("surest", "begin"), [(0, "If so, TCP"), (1, "Probably TCP"), (2, "TCP_NODELAY is not")]
)
def test_only_a_certain_stall_says_what_a_socket_is_set_to(surest: int, begin: str) -> None:
    assert held.option(group(surest)).startswith(begin)


def test_a_possible_stall_may_have_been_held() -> None:
    (row,) = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").core.affected(1)
    certain = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").core.stalls_of(row.connection, 1)[0]
    names = [name for name in dir(certain) if not name.startswith("_")]
    possible: Any = SimpleNamespace(**{name: getattr(certain, name) for name in names})
    assert "are held" in "\n".join(ladder(possible))
    assert frames(possible)[2].what.startswith("held, ")
    possible.confidence = "possible"
    assert "may be held" in "\n".join(ladder(possible))
    assert frames(possible)[2].what.startswith("perhaps held, ")


def test_a_prediction_is_at_best_and_says_where_it_was_measured() -> None:
    summary = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").core.summary()
    cost = sentences.cost(summary, [], elsewhere=True)
    assert cost is not None
    assert " at best " in cost
    assert "on average (as seen at the capture point); at best" in cost


def test_a_chain_without_a_stall_names_who_stalls_elsewhere() -> None:
    numbers = {"number": 1, "chain": 1, "stalled_ms": 0.0, "mean_latency_ms": None}
    hop: Any = SimpleNamespace(server="10.0.0.9:80", client_stalls=0, server_stalls=0, **numbers)
    (apart,) = hops.chains([hop], 9, [group(2)])
    (alone,) = hops.chains([hop], 9)
    none = "No stall at any of these hops."
    assert apart.leads == [none, "The stalling server 10.0.0.2:80 could not be linked to any hop."]
    assert alone.leads == [none]
