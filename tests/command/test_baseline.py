"""`--baseline`: what became of the stalls, and what a CI job gets."""

from __future__ import annotations

import json
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, Run, ScanFrames, flat
from conversation import Conversation, Frame, connected, interleaved
from nagle_scan.compare import Comparison, Numbers, ServerChange, compare
from nagle_scan.words.wording import PERCENTILES

BEFORE = CAPTURES / "jdk-httpserver.pcap"
AFTER = CAPTURES / "jdk-httpserver-nodelay.pcap"
PAIRS = [
    ("jdk-httpserver", "jdk-httpserver-nodelay"),
    ("java-split", "java-split-nodelay"),
    ("java-split", "java-single-write"),
    ("epoll-fd0", "epoll-fixed"),
]


def moved(
    path: Path, to: Path, old: bytes = b"\x7f\x00\x00\x01", new: bytes = b"\x0a\x00\x00\x05"
) -> Path:
    """The capture with another address for both ends; checksums are not looked at."""
    to.write_bytes(path.read_bytes().replace(old, new))
    return to


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_fix_passes_and_its_prediction_holds(before: str, after: str, run: Run) -> None:
    done = run(f"{after}.pcap", "--baseline", f"{before}.pcap", cwd=CAPTURES)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "\n\nFIXED  " in done.stdout.decode()
    old, new = (nagle_scan.scan(CAPTURES / f"{name}.pcap") for name in (before, after))
    (row,) = [row for row in compare(old._result, new._result).servers if row.state == "gone"]
    assert row.prediction is not None
    predicted_ms, measured_ms = row.prediction
    assert abs(predicted_ms - measured_ms) <= max(0.5, 0.1 * measured_ms)


@pytest.mark.parametrize(
    ("before", "after", "status", "head"),
    [
        ("jdk-httpserver", "jdk-httpserver", 1, "STALLS REMAIN"),
        ("jdk-httpserver-nodelay", "jdk-httpserver", 1, "WORSE"),
        ("java-split", "jdk-httpserver", 1, "STALLS REMAIN"),
        ("jdk-httpserver-nodelay", "jdk-httpserver-nodelay", 0, "CLEAN"),
    ],
)
def test_stalls_that_remain_or_got_worse_fail(
    before: str, after: str, status: int, head: str, run: Run
) -> None:
    words = f"{after}.pcap", "--baseline", f"{before}.pcap"
    done = run(*words, cwd=CAPTURES)
    assert (done.returncode, done.stderr) == (status, b"")
    assert f"\n\n{head}  " in done.stdout.decode()
    assert run(*words, "--exit-zero", cwd=CAPTURES).returncode == 0


@pytest.mark.parametrize(("option", "status"), [([], 4), (["--exit-zero"], 0)])
def test_a_capture_that_cannot_tell_does_not_pass(
    option: list[str], status: int, run: Run, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(BEFORE.read_bytes()[:24])
    for path in (empty, CAPTURES / "java-split-nodelay.pcap"):
        result = tmp_path / "result.json"
        done = run(path, "--baseline", BEFORE, "-o", result, *option)
        assert done.returncode == status
        assert b"cannot be compared" in done.stderr
        assert "CANNOT TELL" in done.stdout.decode()
        assert json.loads(result.read_text())["comparison"]["verdict"] == "inconclusive"


def test_where_pure_acks_are_missing_nothing_is_called_fixed(scan_frames: ScanFrames) -> None:
    made = connected(rtt_ms=0.05)
    for _ in range(12):
        made.wait(1.0)
        made.data("client", 40)
        made.wait(0.1)
        made.reply_in_two(44.0, 0.02, second=12)
    with_data = [frame for frame in made.frames if frame.packet.haslayer("Raw")]
    comparison = compare(scan_frames(made.frames)._result, scan_frames(with_data)._result)
    assert [row.state for row in comparison.servers] == ["hidden"]
    assert comparison.outcome == "inconclusive"


def test_a_server_that_moved_is_found_by_its_port(run: Run, tmp_path: Path) -> None:
    elsewhere = moved(AFTER, tmp_path / "moved.pcap")
    comparison = compare(nagle_scan.scan(BEFORE)._result, nagle_scan.scan(elsewhere)._result)
    assert [(row.addr, row.state) for row in comparison.servers] == [("10.0.0.5", "gone")]
    done = run(elsewhere, "--baseline", BEFORE)
    assert done.returncode == 0
    (was,) = {row.was for row in comparison.servers}
    assert f"Compared by their port alone: 10.0.0.5:8080 with {was} (before)." in flat(done.stdout)


def test_where_two_could_be_meant_none_is(tmp_path: Path) -> None:
    first = moved(AFTER, tmp_path / "first.pcap")
    # Another capture: the same packets again would be copies, which do not count.
    second = moved(BEFORE, tmp_path / "second.pcap", new=b"\x0a\x00\x00\x06")
    comparison = compare(nagle_scan.scan(BEFORE)._result, nagle_scan.scan([first, second])._result)
    assert sorted(row.state for row in comparison.servers) == ["new", "none", "unseen"]


def one_way(nagle: bool, port: int = 8000) -> list[Frame]:
    """The client sends pieces and is never answered; held until the ACK, or both at once."""
    made = connected(server=("10.0.0.2", port))
    made.wait(1.0)
    for _ in range(6):
        made.data("client", 6)
        if nagle:
            made.wait(made.rtt_ms + 40.0)
            made.ack("server")
            made.wait(0.02)
        made.data("client", 7)
        made.wait(made.rtt_ms)
        made.ack("server")
        made.wait(300.0)
    return made.frames


def test_a_stream_without_exchanges_is_compared_too(
    scan_frames: ScanFrames,
) -> None:
    before, after = scan_frames(one_way(nagle=True)), scan_frames(one_way(nagle=False))
    assert (before._result.core.servers(9), before._result.core.summary().stalls) == ([], 6)
    comparison = compare(before._result, after._result)
    assert [(row.port, row.state) for row in comparison.servers] == [(8000, "gone")]
    assert comparison.outcome == "fixed"
    assert compare(before._result, before._result).outcome == "remain"
    moved = scan_frames(one_way(nagle=False, port=9000))
    assert before.compare(moved).verdict == "inconclusive"
    assert before.compare(moved, {"10.0.0.2:8000": "10.0.0.2:9000"}).verdict == "fixed"


def in_turns(rounds: int, ack_ms: float, think_ms: float = 5.0, at: float = 0) -> Conversation:
    """Synthetic, on one connection: replies in two pieces, the second one released by an ACK that
    comes after `ack_ms`, of the first reply at once; the client asks again after `think_ms`."""
    made = connected(("10.0.0.1", 40000 + round(at)), rtt_ms=0.05, now_ms=at)
    for number in range(rounds):
        made.wait(think_ms)
        made.data("client", 40)
        made.wait(0.1)
        made.reply_in_two(ack_ms if number else 0.02, 0.02)
        made.wait(0.02)
        made.ack("client")
    return made


ONCE = interleaved(*(in_turns(1, 0.02, at=20.0 * number) for number in range(12)))
UNTESTED = {
    "one request per connection": ONCE,
    "long pauses": in_turns(12, 0.02, think_ms=90.0).frames,
    "cut off": in_turns(12, 0.02).frames[:6],
    "held for a round trip": in_turns(12, 2.0).frames,
}


@pytest.mark.parametrize("name", UNTESTED)
def test_what_could_not_stall_is_not_called_fixed(name: str, scan_frames: ScanFrames) -> None:
    before, after = scan_frames(in_turns(12, 44.0).frames), scan_frames(UNTESTED[name])
    compared = before.compare(after)
    assert (compared.verdict, list(compared.table["state"])) == ("inconclusive", ["untested"])
    few = "0 turns of 10.0.0.2:8000 are like those of which 11 of 11 stalled"
    assert few in compared.sentence
    assert "several requests on one connection" in compared.sentence
    assert ("Still split into 90 and 30 bytes" in compared.sentence) == (name != "cut off")
    assert ("was held for 2.0 ms" in compared.sentence) == (name == "held for a round trip")


def test_what_could_have_stalled_is_counted(scan_frames: ScanFrames) -> None:
    before = scan_frames(in_turns(12, 44.0).frames)
    prompt = before.compare(scan_frames(in_turns(12, 0.02).frames))
    assert prompt.verdict == "fixed"
    assert "Of 11 turns of 10.0.0.2:8000 like those of which 11 of 11 stalled" in prompt.sentence
    one_write = connected(rtt_ms=0.05)
    for _ in range(3):
        one_write.wait(90.0)
        one_write.data("client", 40)
        one_write.answer(120)
    written = before.compare(scan_frames(one_write.frames))
    assert written.verdict == "fixed"
    assert "leaves in one piece now: 3 messages of 10.0.0.2:8000" in written.sentence


def test_a_server_that_is_missing_is_not_called_fixed(scan_frames: ScanFrames) -> None:
    """Two stalled; one is fixed, the other has no data."""
    both = [*one_way(nagle=True), *one_way(nagle=True, port=9000)]
    before = scan_frames(sorted(both, key=lambda frame: frame.time_ns))
    compared = before.compare(scan_frames(one_way(nagle=False)))
    assert compared.verdict == "inconclusive"
    assert "1 server that stalled before is missing now" in compared.sentence
    assert "No server" not in compared.sentence


def test_the_json_has_the_baseline_beside_it(run: Run, tmp_path: Path) -> None:
    result, alone = tmp_path / "result.json", tmp_path / "alone.json"
    run(AFTER, "--baseline", BEFORE, "-o", result)
    run(AFTER, "-o", alone)
    run(BEFORE, "-o", tmp_path / "before.json")
    document, before = (json.loads(path.read_text()) for path in (result, tmp_path / "before.json"))
    baseline, comparison = document.pop("baseline"), document.pop("comparison")
    assert document == json.loads(alone.read_text())
    assert baseline == {name: before[name] for name in ("captures", "summary", "servers")}
    (row,) = comparison["servers"]
    assert (comparison["verdict"], row["state"], row["port"]) == ("fixed", "gone", 8080)
    assert row["before"]["latency"] == before["servers"][0]["latency"]
    assert list(row["after"]["latency"]) == [f"{name}_ms" for name in PERCENTILES]
    assert row["predicted_p50_ms"] == before["servers"][0]["predicted"]["p50_ms"]


def test_a_server_that_moved_to_another_port_can_be_named(run: Run, tmp_path: Path) -> None:
    before, after = CAPTURES / "java-split.pcap", tmp_path / "moved.pcap"
    moved(CAPTURES / "java-split-nodelay.pcap", after, b"\x1f\x40", b"\x1f\x90")
    done = run(after, "--baseline", before)
    assert done.returncode == 4
    assert (
        "127.0.0.1:8000 stalled before and is missing now; 127.0.0.1:8080 is new. Same service? "
        "--baseline-map 127.0.0.1:8000=127.0.0.1:8080 (before"
    ) in " ".join(done.stdout.decode().split())
    done = run(after, "--baseline", before, "--baseline-map", "127.0.0.1:8000=127.0.0.1:8080")
    assert "\n\nFIXED  " in done.stdout.decode()
    assert done.returncode == 0


def test_hidden_addresses_are_not_proposed_for_a_map(run: Run) -> None:
    """`--baseline-map` would refuse them."""
    done = run(AFTER, "--baseline", CAPTURES / "java-split.pcap", "--anonymize")
    assert "is missing now" in done.stdout.decode()
    assert "--baseline-map" not in done.stdout.decode()


def test_of_several_new_servers_the_one_on_the_same_address_is_proposed() -> None:
    stalls, fine = Numbers(3, 120.0, 10), Numbers(0, 0.0, 10)
    old, new = ServerChange("10.0.0.1", 80, stalls, None), ServerChange("10.0.0.1", 81, None, fine)
    other = ServerChange("10.0.0.2", 80, None, fine)
    comparison = Comparison(stalls, fine, (old, new, other), conclusive=True)
    assert comparison.moves == [(old, new)]
    assert comparison._replace(servers=(old, other, other._replace(port=81))).moves == []


def test_the_filter_and_the_shortest_wait_hold_for_both(run: Run) -> None:
    assert run(BEFORE, "--baseline", BEFORE, "--min-wait", "1000").returncode == 0
    done = run(AFTER, "--baseline", BEFORE, "-f", "tcp port 1")
    assert done.returncode == 4


def test_what_was_lost_of_the_baseline_is_reported(run: Run, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(BEFORE.read_bytes()[:-7])
    report = run(AFTER, "--baseline", cut).stdout.decode()
    assert "note: before: the capture is cut off" in report
    assert "note: before" not in run(AFTER, "--baseline", BEFORE).stdout.decode()


def numbers(stalls: int, stalled_ms: float, exchanges: int = 0) -> Numbers:
    """Numbers of a server with certain stalls only."""
    known = Numbers(stalls, stalled_ms, exchanges, stalls_by_confidence=(0, 0, stalls))
    return known._replace(stalled_ms_by_confidence=(0.0, 0.0, stalled_ms))


def stalled(latency_ms: float, predicted_ms: float) -> Numbers:
    return numbers(3, 120.0, 10)._replace(latency_ms=(latency_ms,), predicted_ms=(predicted_ms,))


def quiet(latency_ms: float) -> Numbers:
    return Numbers(0, 0.0, 10, (latency_ms,), (latency_ms,))


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (None, Numbers(), "none"),
        (None, numbers(3, 120.0, 10), "new"),
        (numbers(3, 120.0, 10), None, "unseen"),
        (numbers(3, 120.0, 10), numbers(0, 0.0, 10), "gone"),
        (numbers(3, 120.0, 10), numbers(30, 1200.0, 100), "remain"),
        (numbers(3, 120.0, 10), numbers(3, 130.0, 10), "remain"),
        (numbers(3, 120.0, 10), numbers(4, 160.0, 10), "worse"),
        (numbers(3, 120.0), numbers(4, 160.0), "worse"),
        (stalled(44.0, 0.1), quiet(20.5), "slow"),
        (stalled(44.0, 0.1), quiet(6.0), "gone"),
        # The stalls did not touch it: what it takes now is another matter.
        (stalled(44.0, 43.0), quiet(46.0), "gone"),
    ],
)
def test_what_became_of_a_server(before: Numbers | None, after: Numbers | None, state: str) -> None:
    assert ServerChange("10.0.0.1", 80, before, after).state == state


def test_the_page_and_the_ticket_set_both_side_by_side(run: Run, tmp_path: Path) -> None:
    page, ticket = tmp_path / "x.html", tmp_path / "x.md"
    run(AFTER, "--baseline", BEFORE, "-o", page, "-o", ticket)
    assert "Before and after" in page.read_text()
    assert ticket.read_text().startswith("# FIXED: No stalls left")
    for text in (page.read_text(), ticket.read_text()):
        assert "predicted about 885 us, measured 766 us" in text
        assert "no stalls left" in text
    run(BEFORE, "--baseline", BEFORE, "-o", ticket)
    assert len(ticket.read_text().splitlines()) < 60
