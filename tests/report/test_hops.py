"""Chains of relays in every format: who holds, who passes on, what is left without the stalls."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import nagle_scan
import pictures
import pytest
from conftest import CAPTURES, Run, said, written
from conversation import Conversation, connected, interleaved, write
from nagle_scan.report import header, hops
from nagle_scan.report.options import Options
from nagle_scan.report.text import LIMITS, render
from nagle_scan.report.view import View
from nagle_scan.system.terminal import PLAIN
from pages import section

CHAINS = CAPTURES / "chains"
HOLDER = "127.0.0.1:8100"
RELAYS = ("127.0.0.1:8101", "127.0.0.1:8102")
LEAD = rf"{HOLDER} holds data back; 2 relays forward it; [\d.,]+ m?s lost, once\."
PROXY = "A proxy on 127.0.0.1 that only forwards would look the same"


def capture(name: str, folder: Path) -> Path:
    """One of the lab's chains."""
    path = folder / "chain.pcap"
    with gzip.open(CHAINS / name) as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def test_every_format_names_the_holder_and_those_that_pass_on(run: Run, tmp_path: Path) -> None:
    text, _, ticket = said(run, capture("server-2-relays/a.pcap.gz", tmp_path), tmp_path)
    shown = section((tmp_path / "page.html").read_text(), "hops").replace("\N{NO-BREAK SPACE}", " ")
    for report in (text, ticket, shown):
        assert len(re.findall(LEAD, report)) == 1, report
        assert "an exchange of the first client would take" in report
    assert "2 relays forward it: the same time, counted once." in text
    assert "| 3 | 127.0.0.1:8101 |" in ticket
    assert "Is TCP_NODELAY in effect? Client: not known. Server: no." in shown
    assert "Hop 3 127.0.0.1:8101 → calls 127.0.0.1:8100" in shown


@pytest.mark.parametrize("width", [80, 100])
def test_no_table_is_wider_than_the_terminal(width: int, tmp_path: Path) -> None:
    """Neither hops nor IPv6 addresses of full length are wrapped by the terminal."""
    for path in (CHAINS / "front-2-of-3/a.pcap.gz", pictures.capture("long", tmp_path)):
        shown = render(nagle_scan.scan(path)._result, PLAIN._replace(width=width), Options())
        assert shown.count("TCP_NODELAY") > 1
        tables = [line for line in shown.splitlines() if path.name not in line]
        assert max(map(len, tables)) <= width


def test_relays_get_no_advice(tmp_path: Path) -> None:
    scan = nagle_scan.scan(capture("server-2-relays/a.pcap.gz", tmp_path))
    view = View(scan._result, LIMITS._replace(groups=99, fixes=99), Options())
    assert [fix.sender for fix in view.fixes] == [HOLDER]
    off = [row.sockets for row in view.nodelay if row.answer == "no"]
    assert off == [f"server {HOLDER}"]


def test_json_has_the_hops_in_their_order(tmp_path: Path) -> None:
    result = written(nagle_scan.scan(capture("client-and-server/a.pcap.gz", tmp_path)), tmp_path)
    first, middle, last = result["hops"]
    assert [hop["server_port"] for hop in result["hops"]] == [8102, 8101, 8100]
    assert [hop["number"] for hop in result["hops"]] == [1, 2, 3]
    assert [hop["called_by"] for hop in result["hops"]] == [[], [RELAYS[1]], [RELAYS[0]]]
    assert first["client_stalls"] > 0 == first["server_stalls"]
    assert last["server_stalls"] > 0 == last["client_stalls"]
    assert middle["client_stalls"] == middle["server_stalls"] == 0 < middle["passed_on_ms"]
    assert (first["client_nagle"], last["server_nagle"]) == ("on", "on")
    assert middle["first_hop_predicted_latency_ms"] is None


def test_what_a_hop_is_predicted_to_leave_is_what_its_fix_left(tmp_path: Path) -> None:
    before = nagle_scan.scan(capture("client-and-server/a.pcap.gz", tmp_path))._result.core.hops()
    after = nagle_scan.scan(
        capture("client-and-server-fixed/a.pcap.gz", tmp_path)
    )._result.core.hops()
    predicted_ms = before[-1].first_hop_predicted_latency_ms or 0.0
    assert predicted_ms == pytest.approx(after[0].mean_latency_ms, rel=0.1)
    assert predicted_ms < 0.6 * (before[0].mean_latency_ms or 0.0)


def test_a_relay_that_holds_after_the_fix_is_named_before(tmp_path: Path) -> None:
    # In the second capture the server has TCP_NODELAY, and the relay 8102 holds what it passed on.
    before = nagle_scan.scan(capture("server-and-front/a.pcap.gz", tmp_path))._result.core.hops()
    after = nagle_scan.scan(
        capture("server-and-front-fixed/a.pcap.gz", tmp_path)
    )._result.core.groups()
    assert after[0].worst.server_port == 8102
    [prediction] = hops.chains(before, 9)[0].predictions
    assert "the relay may stall instead" in prediction
    assert "127.0.0.1:8102" in prediction.partition("stall instead")[2]


@pytest.mark.parametrize("name", ["load-server-10", "client-2-relays"])
def test_a_leg_that_a_proxy_may_have_sent_is_not_blamed(
    name: str, run: Run, tmp_path: Path
) -> None:
    path = capture(f"{name}/a--leg-8101.pcap.gz", tmp_path)
    groups = nagle_scan.scan(path)._result.core.groups()
    assert all(group.may_be_relay and group.worst.confidence != "certain" for group in groups)
    for text in said(run, path, tmp_path):
        assert "If 127.0.0.1 is a proxy, capture its upstream first" in text
        assert "TCP_NODELAY is not in effect" not in text


def test_a_leg_whose_holder_is_proven_is_blamed(run: Run, tmp_path: Path) -> None:
    path = capture("server-2-relays/a--leg-8100.pcap.gz", tmp_path)
    for text in said(run, path, tmp_path):
        assert PROXY not in text
        assert f"TCP_NODELAY is not in effect on {HOLDER}" in text


def test_a_relay_that_holds_is_told_which_of_its_sockets_to_change(tmp_path: Path) -> None:
    """It forwards what it gets, and has no message to send in one write."""
    outer = Conversation(("10.0.0.1", 40000), ("10.0.0.2", 7000))
    inner = Conversation(("10.0.0.2", 40001), ("10.0.0.3", 7001), rtt_ms=0.2)
    outer.open()
    inner.open()
    for _ in range(20):
        outer.now_ms = max(outer.now_ms, inner.now_ms) + 2.0
        outer.data("client", 13)
        outer.wait(0.02)
        outer.ack("server")
        inner.now_ms = outer.now_ms + 0.03
        inner.stall()
        outer.now_ms = inner.now_ms - 4.97
        outer.data("server", 20)
        outer.wait(outer.rtt_ms)
        outer.ack("client")
    path = write(tmp_path / "relay.pcap", interleaved(outer, inner))
    scan = nagle_scan.scan(path)
    view = View(scan._result, LIMITS, Options())
    assert [hop.server for hop in scan._result.core.hops()] == ["10.0.0.2:7000", "10.0.0.3:7001"]
    (fix,) = view.fixes
    assert fix.senders == ["10.0.0.2 (client of port 7001)"]
    first, *others = fix.remedies
    assert fix.where(first) == "the relay on 10.0.0.2 (client of port 7001)"
    assert "set TCP_NODELAY on its upstream sockets, those it opens" in first.what
    assert all("write" not in one.what for one in others)
    items = {item.head: item.text for item in header.of(view)}
    assert items["fix"].startswith(f"The relay on {fix.sender}: set TCP_NODELAY on its upstream")


@pytest.mark.parametrize("own", ["10.0.0.2", "10.9.0.2"])
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_relay_before_a_slow_server_is_not_said_to_be_slow(
    own: str, pieces: int, run: Run, tmp_path: Path
) -> None:
    """It is known without a hold: by its address, or by as many bytes each way; unless it gathers
    the pieces of a reply, and has had the first for long.
    """
    outer = connected(("10.0.0.1", 40000), ("10.0.0.2", 7000), rtt_ms=0.2)
    inner = connected((own, 40001), ("10.0.0.3", 7001), rtt_ms=0.2)
    for _ in range(9):
        outer.now_ms = inner.now_ms = max(outer.now_ms, inner.now_ms) + 5.0
        outer.data("client", 60)
        outer.wait(0.2)
        outer.ack("server")
        inner.wait(0.25)
        inner.data("client", 60)
        inner.wait(0.2)
        inner.ack("server")
        for _ in range(pieces):
            inner.wait(300.0)
            inner.data("server", 120)
            inner.wait(0.01)
            inner.ack("client")
        outer.now_ms = inner.now_ms + 0.05
        outer.data("server", 120 * pieces)
        outer.wait(0.02)
        outer.ack("client")
    path = write(tmp_path / "relay.pcap", interleaved(outer, inner))
    report = " ".join(run(path).stdout.decode().split())
    there = (
        "10.0.0.2 forwarded at once what had arrived in tcp.stream 1 (10.0.0.3:7001): look there"
    )
    assert (there in report) == (pieces == 1)


def test_a_relay_and_its_upstream_wait_for_the_same_time(tmp_path: Path) -> None:
    """Nothing stalls, so that no chain is told: 109 ms were counted of 60."""
    asked = connected(("10.0.0.1", 40000), ("10.0.0.2", 3128))
    upstream = connected(("10.0.0.2", 40001), ("10.0.0.3", 80))
    for one, took_ms in ((asked, 60.0), (upstream, 49.0)):
        one.wait(5.0 if one is upstream else 1.0)
        one.data("client", 80)
        one.wait(took_ms)
        one.answer()
        one.ack("client")
    path = write(tmp_path / "relay.pcap", interleaved(asked, upstream))
    report = " ".join(render(nagle_scan.scan(path)._result, PLAIN, Options()).split())
    assert "60.1 ms in 2 waits, once where a host waits on both sides (longest 60.1 ms" in report
