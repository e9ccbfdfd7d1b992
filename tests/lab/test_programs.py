"""Captures of real programs: their watched writes, their truth, and what is shipped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from accuracy import as_json
from chain_real import build_library
from conftest import CAPTURES, ROOT
from logs import Peer, read_log
from real_programs.__main__ import settle
from real_programs.accuracy import (
    Groups,
    contradictions,
    false_clean,
    score_folders,
    sentences,
)
from real_programs.ship import EVERY_POINT, ONE_POINT
from real_programs.table import SUBSCRIBER, all_cases
from scoring import Score
from write_log import LINE, logs, read

PROGRAMS = CAPTURES / "programs"
MOST_BYTES = 1_500_000
CLIENT, SERVER = 40_000, 8080
TWO_WRITES = """
import socket
from socket import IPPROTO_TCP, TCP_NODELAY, TCP_QUICKACK
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
accepted, _ = server.accept()
accepted.setsockopt(IPPROTO_TCP, TCP_QUICKACK, 0)
for half in (b"first", b"second"):
    client.send(half)
client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
print(client.getsockopt(IPPROTO_TCP, TCP_NODELAY))
"""


def noted(*lines: str) -> bytes:
    """A file as write_log.c leaves it, with room for more."""
    rows = [line.encode().ljust(LINE, b"\0") for line in lines]
    return len(rows).to_bytes(8, "little").ljust(LINE, b"\0") + b"".join(rows) + bytes(3 * LINE)


def test_what_was_noted_becomes_a_log_for_each_side(tmp_path: Path) -> None:
    (tmp_path / "noted").write_bytes(
        noted(
            f"30 31 {SERVER} {CLIENT} 8 0 0 8 20 1 10 65000 1448",
            f"10 12 {SERVER} {CLIENT} 12 0 0 0 12 1 10 65000 1448",  # another thread, noted late
            f"40 41 {SERVER} {CLIENT} 0 1 0 0 0 0 10 65000 1448",  # setsockopt
            "20 21 50000 53 5 0 0 0 5 1 10 65000 1448",  # of another server
        )
    )
    for side, log in logs(read(tmp_path / "noted"), SERVER).items():
        (tmp_path / f"{side}.log").write_text(log)
    server = read_log(tmp_path / "server.log")[CLIENT]
    assert server.writes == [(10, 0, 12), (30, 12, 8)]
    assert server.infos == [(12, (0, 1, 10, 65000, 12, 1448)), (31, (8, 1, 10, 65000, 12, 1448))]
    assert server.options == [(40, "nodelay", 1)]
    assert server.nagle == "switched"
    silent = read_log(tmp_path / "client.log")[CLIENT]
    assert silent.server_port == SERVER
    assert not silent.writes


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="Linux and gcc"
)
@pytest.mark.parametrize("refuse", [False, True])
def test_the_kernel_says_what_it_held_and_setting_nodelay_may_be_refused(
    tmp_path: Path, refuse: bool
) -> None:
    log = tmp_path / "noted"
    log.touch()
    watching = {"LD_PRELOAD": str(build_library(tmp_path)), "WRITE_LOG": str(log)}
    refusing = {"REFUSE_NODELAY": "1"} if refuse else {}
    done = subprocess.run(
        [sys.executable, "-c", TWO_WRITES],
        env=os.environ | watching | refusing,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (int(done.stdout) == 0) is refuse
    first, second, option = read(log)
    assert (first.length, first.not_sent, first.queued) == (5, 0, 5)
    assert (second.length, second.not_sent, second.queued) == (6, 6, 11)
    assert (option.length, option.nodelay) == (0, int(not refuse))
    assert option.not_sent == (6 if refuse else 0)  # TCP_NODELAY sends what was held


def settled(cause: str, not_sent: int, nodelay: int = 0, stalls: int = 0) -> dict[str, Any]:
    """The truth of one write of 100 bytes that waited, by what the kernel had of it."""
    info = (not_sent, 1, 10, 65000, 100 - not_sent, 1448)
    peer = Peer(writes=[(10, 0, 100)], infos=[(11, info)], options=[(1, "nodelay", nodelay)])
    truth = {
        "connections": [{"connection": 0, "client": {"port": CLIENT}}],
        "stalls": [{"connection": 0, "sender": "server", "rel_seq": 0}] * stalls,
        "short_holds": [],
        "other_waits": [{"connection": 0, "by": "server", "from_rel": 0, "cause": cause}],
    }
    settle(truth, {"server": {CLIENT: peer}})
    return truth


def is_undecidable(truth: dict[str, Any]) -> bool:
    return bool(truth["other_waits"][0].get("undecidable"))


@pytest.fixture(scope="module")
def scores() -> Groups:
    return score_folders([PROGRAMS])


def test_the_site_tells_how_accurate_it_is_on_programs(scores: Groups) -> None:
    assert sentences(scores) in (ROOT / "docs" / "report.md").read_text()


@pytest.mark.parametrize("fault", ["contradictions", "nagle"])
def test_points_of_one_run_agree_and_none_is_wrong_on_nodelay(scores: Groups, fault: str) -> None:
    cases = {case: score for group in scores.values() for case, score in group.items()}
    assert {case: score.counts[fault] for case, score in cases.items() if score.counts[fault]} == {}


def test_a_wait_in_the_kernel_with_nagle_on_is_undecidable() -> None:
    assert is_undecidable(settled("congestion_window", not_sent=100))
    assert is_undecidable(settled("kernel", not_sent=0))
    assert not is_undecidable(settled("retransmission", not_sent=0))
    assert not is_undecidable(settled("retransmission", not_sent=100, nodelay=1))
    assert not is_undecidable(settled("sender_app", not_sent=100))


def test_a_stall_whose_first_copy_was_lost_is_undecidable() -> None:
    truth = settled("retransmission", not_sent=0, stalls=1)
    assert is_undecidable(truth)
    assert not truth["stalls"]
    paused_first = settled("sender_app", not_sent=100, stalls=1)
    assert paused_first["stalls"]
    assert not is_undecidable(paused_first)


def connection(verdict: str, nagle: str, *confidences: str) -> dict[str, Any]:
    """What a scan says of one."""
    side = {"port": CLIENT, "nagle": nagle}
    stalls = [{"confidence": c} for c in confidences]
    known = {"connection": 0, "conclusive": True, "verdict": verdict}
    return known | {"client": side, "server": {"nagle": "unknown"}, "stalls": stalls}


def test_points_of_one_run_must_not_contradict() -> None:
    score = Score()
    sure, unsure = connection("stalls", "on", "certain"), connection("stalls", "unknown", "likely")
    contradictions({"a": {"connections": [sure]}, "b": {"connections": [unsure]}}, score)
    assert not score.lines
    clean = connection("clean", "off")
    contradictions({"a": {"connections": [sure]}, "b": {"connections": [clean]}}, score)
    assert score.counts["contradictions"] == 2


def test_a_stalling_connection_that_is_called_clean_counts() -> None:
    stall = {"connection": 0, "hold_ms": 40.0, "release": "ack"}
    result = {"connections": [connection("clean", "unknown")]}
    score = Score()
    false_clean({"name": "x", "stalls": [stall] * 2}, result, score)
    assert score.counts["false clean"] == 0
    false_clean({"name": "x", "stalls": [stall] * 3}, result, score)
    assert score.counts["false clean"] == 1


def test_what_is_shipped_is_small_and_has_its_truth() -> None:
    files = sorted(PROGRAMS.glob("*/*"))
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    assert {file.parent.name for file in files} == {*EVERY_POINT, *ONE_POINT}
    truths = [json.loads(f.read_text()) for f in files if f.name.endswith(".truth.json")]
    captures = {f"{f.parent.name}/{f.name}" for f in files if ".pcap" in f.name}
    assert {f"{truth['case']}/{truth['capture']}" for truth in truths} == captures


def test_what_is_shipped_can_be_made_again() -> None:
    assert {*EVERY_POINT, *ONE_POINT} <= {case.id for case in all_cases()}


@pytest.mark.parametrize("case", EVERY_POINT)
def test_runs_seen_at_every_point_have_the_same_truth_there(case: str) -> None:
    files = [f for f in (PROGRAMS / case).glob("*.truth.json") if SUBSCRIBER not in f.name]
    truths = {f.name.split(".")[0]: json.loads(f.read_text()) for f in files}
    assert truths.keys() == {"client", "middle", "server"}
    held = [{(s["connection"], s["rel_seq"]) for s in t["stalls"]} for t in truths.values()]
    assert held[0] == held[1] == held[2]


def test_every_shipped_capture_is_read_as_its_truth_counts_it() -> None:
    for file in sorted(PROGRAMS.glob("*/*.truth.json")):
        truth = json.loads(file.read_text())
        result = as_json(nagle_scan.scan(file.with_name(truth["capture"])))
        ports = {c["connection"]: c["client"]["port"] for c in result["connections"]}
        known = {c["connection"]: c["client"]["port"] for c in truth["connections"]}
        assert ports == known, truth["name"]
