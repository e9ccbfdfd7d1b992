"""A connection to zoom into: what the pointer finds is what the tables say."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import nagle_scan
import numpy as np
import pytest
from browser import opened
from conftest import CAPTURES
from matplotlib.axes import Axes
from nagle_scan import Connection, Scan, timeline
from nagle_scan.timeline.plots import interactive as module
from nagle_scan.timeline.subject import of
from playwright.sync_api import Browser, Locator, Page

LABELLED = CAPTURES / "labelled"
BOTH = LABELLED / "both-split-rtt100/client.pcap.gz"
MIXED = CAPTURES / "jdk-httpserver.pcap"
HOSTILE = "<img src=x onerror=alert(1)> $x^2$ <b>bold %{x} &amp;"


@pytest.fixture(params=[BOTH, MIXED], ids=lambda path: path.parent.name)
def scan(request: pytest.FixtureRequest) -> Scan:
    return nagle_scan.scan(request.param)


def shown(what: Scan | Connection, connection: int | None = None) -> Any:
    """A plotly figure, which has no types."""
    return timeline.interactive(what, connection)


def traces(figure: Any, kind: str = "scatter") -> list[Any]:
    return [trace for trace in figure.data if trace.type == kind]


def told(figure: Any) -> Iterator[tuple[int, float, float, str]]:
    """Frame, time, place and words of all that the pointer finds."""
    for trace in traces(figure):
        if trace.customdata is not None:
            for row, x, y, text in zip(trace.customdata, trace.x, trace.y, trace.text, strict=True):
                yield int(row[0]), float(x), float(y), str(text)


def test_each_segment_is_found_where_it_was_sent(scan: Scan) -> None:
    one = scan.connection(0)
    segments = one.segments()
    at_ms = dict(
        zip(segments["frame"], (segments["time_ns"] - one.row.first_ns) / 1e6, strict=True)
    )
    words = dict(zip(segments["frame"], segments["flags_text"], strict=True))
    seen = list(told(shown(one)))
    assert {frame for frame, *_ in seen} == set(segments["frame"])
    for frame, x, _, text in seen:
        assert x == pytest.approx(at_ms[frame])
        assert text.split("<br>")[0] == words[frame]


def test_a_stream_reaches_from_its_first_byte_to_its_last(scan: Scan) -> None:
    segments = scan.segments(0)
    figure = shown(scan, 0)
    for side in ("client", "server"):
        sent = segments[(segments["sender"] == side) & (segments["len"] > 0)]
        lines = [
            trace
            for trace in traces(figure)
            if trace.mode == "lines" and f"by the {side}" in trace.name
        ]
        strokes = np.concatenate([trace.y for trace in lines if "window" not in trace.name])
        assert np.nanmin(strokes) <= sent["rel_seq"].min()
        assert np.nanmax(strokes) == (sent["rel_seq"] + sent["len"]).max()


def test_held_segments_and_waits_are_those_of_the_tables(scan: Scan) -> None:
    one = scan.connection(0)
    figure = shown(one)
    held = {
        int(row[0])
        for trace in traces(figure)
        if "held" in trace.name and trace.customdata is not None
        for row in trace.customdata
    }
    assert held == set(one.stalls["frame_held"])
    bars = {
        (text.split(":")[0], round(float(length), 6), round(float(base + length), 3))
        for trace in traces(figure, "bar")
        for text, base, length in zip(trace.hovertext, trace.base, trace.x, strict=True)
    }
    tables = {
        (
            row["cause"],
            round(row["wait_ms"], 6),
            round((row["time_ns"] - one.row.first_ns) / 1e6, 3),
        )
        for table in (one.stalls, one.waits)
        for row in table.to_dict("records")
    }
    assert bars == tables
    texts = [text for trace in traces(figure, "bar") for text in trace.hovertext]
    first = one.stalls.iloc[0]
    frames = f"{first.frame_unacked}, {first.frame_ack}, {first.frame_held}"
    assert any(f"frames {frames}<br>{first.confidence}" in text for text in texts)


def test_the_staircase_is_what_was_acknowledged() -> None:
    scan = nagle_scan.scan(BOTH)
    sent = scan.segments(0).query("sender == 'client'")
    (stairs,) = [one for one in traces(shown(scan)) if one.name == "acknowledged by the server"]
    assert (np.diff(stairs.y) >= 0).all()
    assert stairs.y[-1] >= (sent["rel_seq"] + sent["len"]).max()
    assert stairs.line.shape == "hv"


def test_too_many_are_cut_around_the_clearest_stall_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", 20)
    monkeypatch.setattr(module, "MOST_WAITS", 2)
    scan = nagle_scan.scan(BOTH)
    clearest = scan.core.clearest()
    assert clearest is not None
    figure = shown(scan)
    seen = {frame for frame, *_ in told(figure)}
    assert len(seen) == 20
    assert {clearest.frame_to, clearest.frame_ack} <= seen
    bars = traces(figure, "bar")
    assert sum(len(bar.x) for bar in bars) == 2
    said = figure.layout.title.subtitle.text
    assert said.startswith(
        f"20 of {len(scan.segments(0))} segments, around the clearest stall; 2 of"
    )
    assert said.endswith("waits, stalls first, then the longest")


def test_of_many_waits_stalls_come_first_then_what_is_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scan = nagle_scan.scan(LABELLED / "hard-even-think/client.pcap.gz")
    stalls, waits = scan.connection(0).stalls, scan.connection(0).waits
    assert len(waits) > 1
    monkeypatch.setattr(module, "MOST_WAITS", len(stalls) + 1)
    bars = traces(shown(scan, 0), "bar")
    lengths = sorted(float(length) for bar in bars for length in bar.x)
    assert lengths == pytest.approx(sorted([*stalls["wait_ms"], waits["wait_ms"].max()]))


def test_many_segments_are_drawn_by_webgl(monkeypatch: pytest.MonkeyPatch, scan: Scan) -> None:
    few = shown(scan, 0)
    assert traces(few)
    assert not traces(few, "scattergl")
    monkeypatch.setattr(module, "MOST_WITHOUT_WEBGL", 10)
    many = shown(scan, 0)
    assert len(traces(many, "scattergl")) == len(traces(few))


def test_without_plotly_it_is_the_picture_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, scan: Scan
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.subplots", None)
    with pytest.warns(UserWarning, match=r"pip install 'nagle-scan\[interactive\]'") as warned:
        picture = scan.connection(0).interactive()
    assert isinstance(picture, Axes)
    assert picture.get_label() == timeline.sequence(scan, 0).get_label()
    assert len(warned) == 1


def test_without_the_capture_waits_are_shown_and_it_says_why(tmp_path: Path) -> None:
    capture = tmp_path / "gone.pcap.gz"
    shutil.copy(BOTH, capture)
    scan = nagle_scan.scan(capture)
    capture.unlink()
    figure = shown(scan)
    assert "cannot be read a second time" in figure.layout.title.subtitle.text
    assert sum(len(bar.x) for bar in traces(figure, "bar")) == len(scan.stalls) + len(scan.waits)


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_every_shipped_capture_can_be_shown(path: Path) -> None:
    scan = nagle_scan.scan(path)
    figure = shown(scan)
    number = int(figure.layout.title.text.split(":")[0].removeprefix("tcp.stream "))
    assert {frame for frame, *_ in told(figure)} == set(scan.segments(number)["frame"])


def test_a_browser_shows_what_is_hovered_and_hides_the_clicked(
    browser: Browser, tmp_path: Path
) -> None:
    scan = nagle_scan.scan(BOTH)
    page = tmp_path / "page.html"
    shown(scan, 0).write_html(page, include_plotlyjs=True)
    with opened(browser, page) as seen:
        held = scan.stalls[scan.stalls["sender"] == "client"].iloc[0]
        number, labels = 0, []
        seen.page.locator(".scatterlayer").first.wait_for()
        marks = seen.page.locator(".scatterlayer .trace:has(path.point)")
        for number in range(marks.count()):
            _point_at(seen.page, marks.nth(number).locator("path.point").first, 0.5)
            labels.append(seen.page.locator(".hovertext").first.text_content() or "")
        assert any(f"frame {held.frame_held}" in label for label in labels), labels
        assert any("PSH, ACK" in label for label in labels)
        buttons = seen.page.locator(".modebar-btn").evaluate_all(
            "all => all.map(b => b.dataset.title)"
        )
        assert "Zoom" in buttons
        assert not [one for one in buttons if "Share" in one], "addresses would leave the machine"
        bars = seen.page.locator(".barlayer .point")
        count = bars.count()
        assert count == len(scan.stalls) + len(scan.waits)
        _point_at(seen.page, bars.nth(2), 0.05)
        waiting = seen.page.locator(".hovertext", has_text="wait_ms")
        assert "nagle_delack: held until a delayed ACK arrived" in (waiting.text_content() or "")
        seen.page.locator(".legendtoggle").first.click()
        fewer = f"document.querySelectorAll('.barlayer .point').length < {count}"
        seen.page.wait_for_function(fewer)
        outside = [one for one in seen.requests if not one.startswith(("file:", "data:", "blob:"))]
        assert (outside, seen.console) == ([], [])


def _point_at(page: Page, mark: Locator, height: float) -> None:
    # What was shown before must not pass for what is shown now.
    page.mouse.move(0, 0)
    page.locator(".hovertext").first.wait_for(state="detached")
    box = mark.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * height)
    page.locator(".hovertext").first.wait_for()


def test_a_hostile_name_stays_a_name(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """plotly would make HTML of it, should the engine ever let one pass."""
    scan = nagle_scan.scan(BOTH)
    subject = of(scan, 0)
    row = {
        name: getattr(subject.row, name)
        for name in ("connection", "server", "segments", "first_ns")
    }
    hostile = SimpleNamespace(client=HOSTILE, **row)
    monkeypatch.setattr(module, "of", lambda *_: replace(subject, row=cast(Any, hostile)))
    page = tmp_path / "page.html"
    shown(scan).write_html(page, include_plotlyjs=True)
    with opened(browser, page) as seen:
        title = seen.page.locator(".gtitle").first
        title.wait_for()
        assert title.text_content() == f"tcp.stream 0: {HOSTILE} to 10.10.2.2:7001"
        assert title.locator("tspan[style*=bold], image, img").count() == 0
        assert seen.console == []
