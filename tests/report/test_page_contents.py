"""The contents of `-o report.html`: numbers, places and limits; and how it is written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, Report, Run, generated, page_of
from conversation import Frame, stalled, write
from nagle_scan.report import pictures
from nagle_scan.words.wording import duration, percent, sentence_start
from pages import section, text_of

MAX_BYTES = 2_000_000
NAMES = sorted(path.name for path in CAPTURES.glob("*.pcap"))


@pytest.mark.parametrize("name", NAMES)
def test_it_tells_what_the_scan_found(name: str, report: Report) -> None:
    scan = nagle_scan.scan(CAPTURES / name)
    text = text_of(report(name).read_text())
    for server in scan._result.core.servers(10):
        counts = f"{server.exchanges} {server.stalled_exchanges}"
        assert f"{server.addr}:{server.port} {counts} measured" in text
    for row in scan._result.core.affected(10):
        assert f"Stream {row.connection}: {row.client}" in text
        clearest = scan._result.core.stalls_of(row.connection, 1)[0]
        for frame in (clearest.frame_from, clearest.frame_ack, clearest.frame_to):
            assert f" {frame} " in text
        for reason in clearest.evidence:
            assert reason[1:] in text
        for _, ruled_out, why in clearest.rivals:
            assert f"{'' if ruled_out else 'not '}ruled out {why[0].upper()}{why[1:]}." in text
    for cause in scan._result.core.causes():
        assert (f"{cause.cause} {cause.sender} {cause.waits}" in text) != ("nagle" in cause.cause)


def test_the_numbers_at_the_top_are_those_of_the_engine(report: Report) -> None:
    scan = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")
    affected = scan.exchanges[scan.exchanges["connection"].isin(scan.stalls["connection"])]
    share = affected["stalled_ms"].sum() / affected["latency_ms"].sum()
    verdict = section(report("epoll-fd0.pcap").read_text(), "verdict")
    assert f"{len(scan.stalls)} times for ~" in verdict
    assert f"{scan.stalls['wait_ms'].sum() / 1000:.1f} s in all (certain)" in verdict
    assert f"Cost {sentence_start(percent(share))} of the latency on the 4 affected of 5" in verdict
    assert f"takes {affected['latency_ms'].mean():.1f} ms on average" in verdict
    assert f"about {duration(affected['predicted_latency_ms'].mean())} " in verdict


def test_a_clean_capture_gets_a_useful_page(report: Report) -> None:
    html = report("jdk-httpserver-nodelay.pcap").read_text()
    assert "No Nagle or delayed-ACK stall of 10 ms or more" in section(html, "verdict")
    assert "sender_app" in section(html, "waits")
    assert "<svg" in html
    assert "two small segments in flight" in section(html, "waits")


def test_one_direction_is_told_as_what_it_is(tmp_path: Path) -> None:
    frames = [frame for frame in stalled(rounds=6).frames if frame.sender == "client"]
    html = page_of(frames, tmp_path).read_text()
    assert "Only one direction was captured" in section(html, "verdict")
    waits = section(html, "waits")
    assert "a stall would look the same" in waits
    assert "no socket option" not in waits
    assert "in effect" not in waits
    assert "in one direction only" in section(html, "limits")


def test_a_capture_of_nothing_gets_a_page(tmp_path: Path) -> None:
    html = page_of([], tmp_path).read_text()
    assert "No usable TCP segment" in section(html, "verdict")
    assert "No wait was longer than 10 ms" in section(html, "waits")


def test_pictures_leave_room_for_the_rest() -> None:
    scan = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")
    wanted = [*pictures.in_detail([row.connection for row in scan._result.core.affected(10)], None)]
    whole = [*pictures.drawn(scan._result, wanted)]
    assert [picture.wanted for picture in whole] == wanted
    counts = Counter(picture.wanted.connection for picture in whole)
    assert sorted(counts.values()) == [1, 3, 3, 3]
    room = sum(len(picture.svg) for picture in whole) // 3
    some = [*pictures.drawn(scan._result, wanted, room)]
    assert 0 < len(some) < len(whole)
    assert sum(len(picture.svg) for picture in some) <= room


def test_who_waits_for_pictures_is_told_how_many_are_left(tmp_path: Path) -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    doing: list[str] = []
    scan._result.doing = doing.append
    scan.write(tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text().count("<figure>")
    assert doing[0] == "reading again what is drawn"
    assert doing[1:] == [f"drawing picture {one + 1} of {shown}" for one in range(shown)]


def test_ten_thousand_connections_fit_into_a_ticket(run: Run, tmp_path: Path) -> None:
    capture = generated(tmp_path, "stalls", 10_000, 200_000)
    path = tmp_path / "report.html"
    # `run` allows a minute.
    assert run(capture, "-o", path).returncode == 1
    assert path.stat().st_size < MAX_BYTES
    text = section(path.read_text(), "connections")
    assert "10,000 of 10,000" in text
    assert "The 200 losing the most time, of 10,000" in text
    assert "-o stalls.csv" in text


def test_a_page_has_the_permissions_of_any_file(
    tmp_path: Path,
) -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    new, old = tmp_path / "new.html", tmp_path / "old.html"
    (tmp_path / "any").touch()
    old.touch()
    old.chmod(0o640)
    (tmp_path / "link.html").symlink_to(old)
    for name in ("new.html", "link.html"):
        scan.write(tmp_path / name)
    assert new.stat().st_mode == (tmp_path / "any").stat().st_mode
    assert old.stat().st_mode & 0o777 == 0o640
    assert old.read_bytes() == new.read_bytes()


def test_what_the_capture_cannot_exclude_is_not_called_ruled_out(tmp_path: Path) -> None:
    def open_rivals(frames: list[Frame]) -> set[str]:
        clearest = nagle_scan.scan(write(tmp_path / "frames.pcap", frames))._result.core.clearest()
        assert clearest is not None
        return {name for name, ruled_out, _ in clearest.rivals if not ruled_out}

    frames = stalled(rounds=6).frames
    assert open_rivals(frames) == set()
    without_handshake = open_rivals(frames[3:])
    assert {"receiver's window closed or full", "slow network"} <= without_handshake
    assert "packet loss" not in without_handshake
