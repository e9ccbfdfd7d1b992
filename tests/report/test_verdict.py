"""The verdict is the same word everywhere, and says no more than the capture shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
from conftest import CAPTURES, Run, flat
from conversation import MS, Conversation, connected, write
from nagle_scan.report import held
from nagle_scan.words import certainty

LABELLED = CAPTURES / "labelled"
STALLS = CAPTURES / "epoll-fd0.pcap"
CLEAN = CAPTURES / "epoll-fixed.pcap"
ONE_WAY = LABELLED / "formats-rtt2" / "client-one-way.pcap.gz"
SHORT = LABELLED / "quickack-each-time" / "middle.pcap.gz"
WILL_NOT_HELP = "TCP_NODELAY will not help"


@pytest.fixture
def possible(tmp_path: Path) -> Path:
    """One reply in two pieces, of which the second may as well be a program's late write."""
    made = connected(rtt_ms=26.0)
    made.may_hold()
    return write(tmp_path / "possible.pcap", made.frames)


@pytest.mark.parametrize(
    ("capture", "verdict", "status"),
    [
        (STALLS, "stalls", 1),
        (None, "possible", 0),
        (CLEAN, "clean", 0),
        (ONE_WAY, "inconclusive", 4),
    ],
)
def test_every_format_says_the_same_word(
    capture: Path | None, verdict: str, status: int, possible: Path, run: Run, tmp_path: Path
) -> None:
    page, ticket, data = (tmp_path / name for name in ("a.html", "a.md", "a.json"))
    path = capture or possible
    done = run(path, "-o", page, "-o", ticket, "-o", data)
    result = json.loads(data.read_text())
    scan = nagle_scan.scan(path)
    assert (done.returncode, result["summary"]["verdict"]) == (status, verdict)
    assert scan.verdict == verdict
    assert f"\n{verdict.upper()}  " in done.stdout.decode()
    assert ticket.read_text().startswith(f"## {verdict.capitalize()}: ")
    assert f'<p class="word">{verdict.capitalize()}</p>' in page.read_text()
    assert verdict in {connection["verdict"] for connection in result["connections"]}
    assert set(scan.connections["verdict"]) == {row["verdict"] for row in result["connections"]}
    assert f": {verdict}" in repr(scan)


def test_what_is_only_possible_is_told_as_such(possible: Path, run: Run) -> None:
    report = flat(run(possible).stdout)
    assert "10.0.0.2:8000 may have held data back once" in report
    assert "STALLS" not in report
    assert "What to change for 10.0.0.2:8000 (if it stalls)" in report
    assert flat(run(possible, "-q").stdout).startswith("Possible: 1 stall, ")


def test_a_verdict_in_one_line_says_that_the_capture_is_damaged(run: Run, tmp_path: Path) -> None:
    """A pipeline that reads nothing else would take it for the verdict on all."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "epoll-fixed.pcap").read_bytes()[:-7])
    assert "(not all of the capture could be read)" in flat(run(cut, "-q").stdout)


@pytest.mark.parametrize("name", ["epoll-fixed.pcap", "java-single-write.pcap"])
def test_nodelay_will_not_help_where_nothing_can_have_been_held(name: str, run: Run) -> None:
    assert WILL_NOT_HELP in flat(run(CAPTURES / name).stdout)


@pytest.mark.parametrize("pieces", [[590], [170, 420]])
def test_one_request_per_connection_is_no_all_clear(
    pieces: list[int], run: Run, tmp_path: Path
) -> None:
    """It was said that TCP_NODELAY will not help a server that stalls with the second request."""
    made = connected(rtt_ms=0.02)
    made.data("client", 82)
    made.wait(0.02)
    made.ack("server")
    for length in pieces:
        made.wait(0.05)
        made.data("server", length)
        made.wait(0.02)
        made.ack("client")
    path = write(tmp_path / "once.pcap", made.frames)
    said = flat(run(path, "-o", tmp_path / "a.json").stdout)
    assert "10 ms or more in 1 connection, but nothing here could have stalled. " in said
    assert "but nothing here could have stalled" in flat(run(path, "-q").stdout)
    assert WILL_NOT_HELP not in said
    split = (
        "FIX 10.0.0.2:8000 sent 170 and 420 bytes one right after the other (frames 6, 8): "
        "without TCP_NODELAY, held as soon as the client delays an ACK."
    )
    assert (split in said) == (len(pieces) > 1)
    assert ("TEST The receiver delayed no ACK" in said) == (len(pieces) == 1)
    (row,) = json.loads((tmp_path / "a.json").read_text())["connections"]
    assert [row[side]["opportunities"] for side in ("client", "server")] == [0, 0]


def test_data_that_nobody_acknowledged_is_not_said_to_be_acknowledged_at_once(
    run: Run, tmp_path: Path
) -> None:
    made = connected(rtt_ms=0.02)
    made.data("client", 82)
    made.wait(3.0)
    said = flat(run(write(tmp_path / "silent.pcap", made.frames)).stdout)
    assert "could have stalled. TEST No ACK of a small segment of the client " in said
    assert "delayed no ACK" not in said


def test_a_side_whose_peer_delays_no_ack_is_not_cleared_by_the_other(
    run: Run, tmp_path: Path
) -> None:
    """Requests that are 60 ms apart are answered at once: only their client could have stalled."""
    made = connected(rtt_ms=0.02)
    for _ in range(9):
        made.data("client", 82)
        made.answer(100)
        made.wait(0.02)
        made.ack("client")
        made.wait(60.0)
    said = flat(run(write(tmp_path / "slow.pcap", made.frames)).stdout)
    assert "10 ms or more in 1 connection. TEST Nothing that the server sent could have" in said
    assert WILL_NOT_HELP not in said


def test_what_a_cork_held_is_not_denied(run: Run) -> None:
    report = flat(run(LABELLED / "cork-never-cleared" / "client.pcap.gz").stdout)
    assert "the kernel waited 200 ms for more data" in report
    assert "Nothing was held" not in report


@pytest.mark.parametrize(("rtt_ms", "is_told"), [(0.06, False), (0.6, True)])
def test_holds_for_a_short_round_trip_are_not_denied(
    rtt_ms: float, is_told: bool, run: Run, tmp_path: Path
) -> None:
    """Half of each exchange was a hold, and TCP_NODELAY was said not to help."""
    made = connected(rtt_ms=0.1)
    # Captured at the server.
    made.frames[-1].time_ns += round(rtt_ms * MS)
    made.wait(10.0)
    for _ in range(8):
        made.data("client", 10)
        made.wait(0.1)
        made.reply_in_two(rtt_ms, 0.055, 20, 20)
        made.wait(rtt_ms)
        made.ack("client")
        made.wait(1000.0)
    path = write(tmp_path / "short.pcap", made.frames)
    said = flat(run(path).stdout)
    assert ("--min-wait 0.2 searches for them" in said) == is_told
    assert WILL_NOT_HELP not in said
    assert "searches for them" not in flat(run(path, "--min-wait", "0.2").stdout)


def test_nodelay_may_help_where_a_hold_may_have_ended_with_data(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    report = flat(run(CAPTURES / "jdk-httpserver-nodelay.pcap", "-o", page).stdout)
    assert WILL_NOT_HELP not in report + page.read_text()
    assert "would not show here" in report


def test_a_clean_capture_counts_its_short_holds(run: Run) -> None:
    report = flat(run(SHORT).stdout)
    assert "No Nagle or delayed-ACK stall of 10 ms or more in 1 connection" in report
    assert "15 holds under 10 ms may make up 66 % of the latency of their connections" in report
    assert WILL_NOT_HELP not in report
    listed = nagle_scan.scan(SHORT, min_wait_ms=1)
    assert (len(listed.stalls), listed._result.core.summary().short_holds) == (15, 0)


def test_short_holds_without_a_reply_are_no_part_of_a_latency(run: Run, tmp_path: Path) -> None:
    made = connected(rtt_ms=3.0)
    for _ in range(40):
        made.data("client", 10)
        made.wait(3.0)
        made.ack("server")
        made.wait(0.02)
    report = flat(run(write(tmp_path / "pieces.pcap", made.frames)).stdout)
    assert "there may be 39 holds under 10 ms (--min-wait 1" in report


def test_stalls_too_short_to_be_listed_are_short_holds(run: Run) -> None:
    report = flat(run(STALLS, "--min-wait", "100").stdout)
    assert "1 carries no data); 100 holds under 100 ms may make up" in report
    assert WILL_NOT_HELP not in report


def test_what_cannot_be_judged_is_counted_in_the_verdict(run: Run) -> None:
    report = flat(run("--merge", STALLS, ONE_WAY).stdout)
    assert "REST 1 of 6 connections cannot be judged: captured in one direction" in report
    report = flat(run("--merge", CLEAN, ONE_WAY).stdout)
    judged = "4 of 6 connections (1 cannot be judged, 1 carries no data)"
    assert f"10 ms or more in {judged}." in report
    assert "1 of 6 connections cannot be judged: captured in one direction" in report
    assert WILL_NOT_HELP not in report


def test_what_is_known_is_told_though_most_cannot_be_judged(run: Run, tmp_path: Path) -> None:
    """The headline doubts some connections, not all that the capture shows."""
    slow, *one_way = (
        connected(client=("10.0.0.1", port), rtt_ms=0.2) for port in range(4000, 4003)
    )
    for _ in range(3):
        slow.data("client", 60)
        slow.wait(0.2)
        slow.ack("server")
        slow.wait(400.0)
        slow.data("server", 90)
        slow.ack("client")
        for made in one_way:
            made.data("client", 60)
    frames = [
        frame for made in one_way for frame in made.frames if frame.sender == "client"
    ] + slow.frames
    frames.sort(key=lambda frame: frame.time_ns)
    said = flat(run(write(tmp_path / "most.pcap", frames)).stdout)
    assert "INCONCLUSIVE 2 of 3 connections cannot be judged: captured in one direction" in said
    assert "REST 1 other connection without a stall. " in said
    assert "waits 400.0 of 400.2 ms for the server. 1.2 s in 3 waits" in said
    assert "Latency by server" in said


class Counted(NamedTuple):
    """Stalls, `possible` first."""

    stalls_by_confidence: tuple[int, ...]
    stalled_ms_by_confidence: tuple[float, ...]


def test_certain_and_likely_stalls_count_and_possible_ones_are_told_apart() -> None:
    mixed = Counted((2, 3, 28), (80.0, 121.0, 1120.0))
    said = "31 stalls (28 certain, 3 likely), 1.2 s lost; 2 more possible (80.0 ms)"
    assert certainty.in_words(mixed) == said
    assert certainty.sure(mixed) == " (28 certain, 3 likely; 2 more possible)"
    assert certainty.counts(mixed) == "28 certain, 3 likely, 2 possible"
    assert certainty.lost(mixed) == "1.1 s certain, 121.0 ms likely, 80.0 ms possible"
    alone = Counted((1, 0, 0), (40.0, 0.0, 0.0))
    assert certainty.in_words(alone) == "1 possible stall, 40.0 ms lost"
    assert (certainty.sure(alone), certainty.is_only_possible(alone)) == (" (possible)", True)


def test_a_groups_sentence_counts_certain_and_likely_stalls() -> None:
    groups = nagle_scan.scan(
        LABELLED / "both-split-rtt2-jitter1" / "client.pcap.gz"
    )._result.core.groups()
    mixed = [group for group in groups if len(certainty.shares(group)) > 1]
    assert mixed
    for group in mixed:
        certain, likely = certainty.shares(group)
        assert f" {certain.stalls + likely.stalls} times for ~" in held.sentence(group)
        sure = f"({certain.stalls} certain, {likely.stalls} likely)"
        assert f" in all {sure}" in held.sentence(group)


def test_a_late_ack_at_the_very_end_is_no_all_clear(run: Run, tmp_path: Path) -> None:
    """Joined late: nothing tells the round trip, and no wait is kept. It may have released more."""
    made = Conversation(rtt_ms=18.0)
    made.data("client", 88)
    made.answer(42)
    made.wait(211.0)
    made.ack("client")
    report = flat(run(write(tmp_path / "end.pcap", made.frames)).stdout)
    assert "the capture ends too soon after a late ACK" in report
