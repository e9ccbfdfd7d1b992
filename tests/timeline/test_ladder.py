"""The ladder: each segment where and when it was, nothing on top of each other."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import numpy as np
import pytest
from conftest import CAPTURES, ScanFrames, unreadable
from conversation import Conversation, stalled
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, PathPatch
from nagle_scan import timeline
from nagle_scan.timeline import arrows, subject
from nagle_scan.words import certainty
from pictures import capture, overlaps, texts

LABELLED = CAPTURES / "labelled"


def arrows_of(scan: nagle_scan.Scan) -> list[arrows.Arrow]:
    """The arrows around the clearest stall."""
    shown = subject.of(scan._result, None)
    return arrows.shown(shown, shown.stall(0))[0]


def arrow_lines(ax: Axes) -> list[tuple[float, float, float, float]]:
    """Tail and head of each arrow."""
    found = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    ends = [patch._posA_posB for patch in found]  # type: ignore[attr-defined]
    return [(*tail, *head) for tail, head in ends]


def test_each_segment_is_half_a_round_trip_from_the_capture(scan_frames: ScanFrames) -> None:
    scan = scan_frames(stalled(Conversation(rtt_ms=20.0), rounds=2).frames)
    found = arrows_of(scan)
    assert {arrow.role for arrow in found} >= {"1", "2", "3"}
    for arrow in found:
        client, server = arrow.at("client"), arrow.at("server")
        assert client == pytest.approx(arrow.captured_ms, abs=0.05)
        later = 1 if arrow.sender == "client" else -1
        assert server - client == pytest.approx(10.0 * later, abs=0.1)


@pytest.mark.parametrize("name", ["fast", "slow", "crowded"])
def test_time_never_runs_backwards_on_paper(name: str, tmp_path: Path) -> None:
    ax = timeline.ladder(nagle_scan.scan(capture(name, tmp_path))._result)
    lines = arrow_lines(ax)
    assert lines
    # The y axis points down.
    assert all(head_y > tail_y for _, tail_y, _, head_y in lines)
    for side in {tail_x for tail_x, *_ in lines}:
        tails = [tail_y for tail_x, tail_y, *_ in lines if tail_x == side]
        assert tails == sorted(tails)


def test_segments_arrive_in_the_order_in_which_they_left() -> None:
    """Also where an ACK shows that the later one came sooner than half a round trip."""
    scan = nagle_scan.scan(LABELLED / "body-200k-rtt26/middle.pcap.gz")
    found = arrows_of(scan)
    for side in ("client", "server"):
        arrivals = [arrow.received_ms for arrow in found if arrow.sender == side]
        assert arrivals == sorted(arrivals)


def test_the_band_reaches_from_first_to_held_departure(scan_frames: ScanFrames) -> None:
    scan = scan_frames(stalled(rounds=1).frames)
    ax = timeline.ladder(scan._result)
    band = next(patch for patch in ax.patches if isinstance(patch, PathPatch))
    corners = np.asarray(band.get_path().vertices)
    sender_x = corners[0][0]
    place = dict(texts(ax))
    stall = scan.stalls.iloc[0]
    tails = {round(tail_y, 3) for tail_x, tail_y, *_ in arrow_lines(ax) if tail_x == sender_x}
    begin, end = corners[0][1], corners[3][1]
    assert {round(begin, 3), round(end, 3)} <= tails
    for frame, y in ((stall["frame_unacked"], begin), (stall["frame_held"], end)):
        box = next(box for text, box in place.items() if text.startswith(f"frame {frame} "))
        at = ax.transData.transform((sender_x, y))[1]
        assert box.y0 <= at <= box.y1


def test_its_milliseconds_stand_inside_the_band(scan_frames: ScanFrames) -> None:
    scan = scan_frames(stalled(rounds=1).frames)
    ax = timeline.ladder(scan._result)
    wait = f"{scan.stalls['wait_ms'].iloc[0]:.1f} ms"
    box = next(box for text, box in texts(ax) if text == wait)
    band = next(patch for patch in ax.patches if isinstance(patch, PathPatch))
    inside = band.get_window_extent()
    assert inside.x0 < box.x0 < box.x1 < inside.x1
    assert inside.y0 < box.y0 < box.y1 < inside.y1


def test_kinds_of_segments_differ_in_more_than_colour(scan_frames: ScanFrames) -> None:
    ax = timeline.ladder(scan_frames(stalled(rounds=1).frames)._result)
    drawn = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    looks = {(patch.get_linewidth(), str(patch.get_linestyle())) for patch in drawn}
    assert len(looks) >= 3
    assert {"1", "2", "3"} <= {text for text, _ in texts(ax)}


def test_what_was_released_leaves_after_its_ack_by_any_clock(scan_frames: ScanFrames) -> None:
    frames = stalled(Conversation(rtt_ms=0.5), rounds=3).frames
    for frame in frames:
        frame.time_ns -= frame.time_ns % 10_000_000
    scan = scan_frames(frames)
    found = arrows_of(scan)
    by_role = {arrow.role: arrow for arrow in found}
    assert by_role["1"].received_ms <= by_role["2"].sent_ms
    assert by_role["2"].received_ms <= by_role["3"].sent_ms


def test_many_segments_within_the_wait_are_counted_not_drawn(tmp_path: Path) -> None:
    scan = nagle_scan.scan(capture("crowded", tmp_path))
    number = int(scan.stalls["frame_held"].sub(scan.stalls["frame_unacked"]).to_numpy().argmax())
    clear = scan._result.core.stalls_of(0, 100)
    held = int(scan.stalls["frame_held"].iloc[number])
    nth = [stall.frame_to for stall in clear].index(held)
    ax = timeline.ladder(scan._result, 0, nth)
    assert any("more segments" in text for text, _ in texts(ax))
    assert len(arrow_lines(ax)) <= 16
    assert overlaps(ax) == []


def test_without_a_stall_it_shows_the_longest_other_wait(tmp_path: Path) -> None:
    ax = timeline.ladder(nagle_scan.scan(capture("clean", tmp_path))._result)
    assert any(text.startswith("No stall; the longest wait") for text, _ in texts(ax))


def test_it_shows_the_longest_wait_that_the_reports_name() -> None:
    """Not the time in which the client was idle."""
    scan = nagle_scan.scan(LABELLED / "sleep200-nodelay-rtt26/client.pcap.gz")
    shown = subject.of(scan._result, None).longest_wait
    assert shown is not None
    assert shown.frame_from == scan._result.core.longest_waits(1)[0].frame_from


def test_of_one_direction_it_does_not_say_that_there_is_no_stall() -> None:
    ax = timeline.ladder(
        nagle_scan.scan(CAPTURES / "epoll-fd0.pcap", filter="src port 8888")._result
    )
    shown = [text for text, _ in texts(ax)]
    assert any(text.startswith("The longest wait") for text in shown)
    assert not any("No stall" in text for text in shown)


def test_one_byte_is_one() -> None:
    scan = nagle_scan.scan(LABELLED / "typed-echo-rtt100/middle.pcap.gz")
    ax = timeline.ladder(scan._result)
    (headline,) = (text for text, _ in texts(ax) if "held 1 byte back" in text)
    clearest = scan._result.core.clearest()
    assert clearest is not None
    assert headline.startswith(f"The server {certainty.HELD[clearest.confidence]} 1 byte back for")


def test_a_pause_of_a_program_says_whose() -> None:
    scan = nagle_scan.scan(LABELLED / "rpc-threads-overloaded/loopback.pcap.gz")
    said = " ".join(text for text, _ in texts(timeline.ladder(scan._result)))
    assert "the server had no data ready" in said


def test_what_cannot_be_read_again_shows_the_stalls_frames() -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    ax = timeline.ladder(unreadable(scan)._result)
    assert len(arrow_lines(ax)) == 3
