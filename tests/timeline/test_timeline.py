"""The graphs over time, the histogram, and pictures as files."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path

import nagle_scan
import numpy as np
import pytest
from conftest import CAPTURES, Run, unreadable
from hypothesis import given
from hypothesis import strategies as st
from nagle_scan import timeline
from nagle_scan.report.timeline import sheet
from nagle_scan.result.rows import Rows
from nagle_scan.timeline import columns, subject
from nagle_scan.timeline.plots import histogram
from pictures import MADE, capture, outside, overlaps, texts
from PIL import Image

LABELLED = CAPTURES / "labelled"
INTERVALS = st.lists(
    st.tuples(st.floats(0, 10), st.floats(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=12,
)


KINDS = ("ladder", "sequence", "overview", "histogram")
SHIPPED = sorted(CAPTURES.glob("*.pcap"))


@pytest.mark.parametrize(("kind", "made"), [*product(KINDS, MADE), *product(KINDS[:1], SHIPPED)])
def test_no_text_lies_on_another_or_leaves_the_figure(
    kind: str, made: str | Path, tmp_path: Path
) -> None:
    scan = nagle_scan.scan(made if isinstance(made, Path) else capture(made, tmp_path))
    for width_in in (3.6 if kind == "ladder" else 4.5, 7.2):
        ax = getattr(timeline, kind)(scan._result, width_in=width_in)
        assert overlaps(ax) == []
        assert outside(ax) == []


def test_the_histogram_counts_every_wait() -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    bars = histogram.planned(scan._result, None, 500.0).named
    heights = [high - low for bar in bars for (_, low), (_, high), *_ in bar.lines]
    assert sum(heights) == len(scan.stalls) + len(scan.waits)


def test_the_sequence_is_of_the_side_with_the_clearest_stall() -> None:
    scan = nagle_scan.scan(LABELLED / "both-split-rtt100/client.pcap.gz")
    clearest = scan._result.core.clearest()
    assert clearest is not None
    ax = timeline.sequence(scan._result, clearest.connection)
    assert ax.get_title(loc="left").startswith(f"What the {clearest.sender} sent")


def test_bands_have_their_milliseconds_and_the_clearest_its_name() -> None:
    scan = nagle_scan.scan(LABELLED / "both-split-rtt100/client.pcap.gz")
    names = timeline.sequence(scan._result, 0).get_legend_handles_labels()[1]
    held = scan.stalls[scan.stalls["sender"] == "client"]
    assert f"waits, median {held['wait_ms'].median():.1f} ms" in names
    assert "the clearest" in [text for text, _ in texts(timeline.overview(scan._result, 0))]


def test_the_histogram_tells_the_timer_from_the_round_trip() -> None:
    """A wait of 142 ms is a timer of 42 ms where the round trip is 100 ms."""
    scan = nagle_scan.scan(LABELLED / "both-split-rtt100/client.pcap.gz")
    delayed = scan.stalls[scan.stalls["cause"] == "nagle_delack"]
    said = timeline.histogram(scan._result).get_xlabel()
    assert said.endswith(f"the ACKs were {delayed['ack_delay_ms'].median():.1f} ms late")
    near = timeline.histogram(nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")._result)
    assert "late" not in near.get_xlabel()


def test_without_a_wait_the_sheet_shows_the_busiest_connection() -> None:
    scan = nagle_scan.scan(CAPTURES / "epoll-fixed.pcap")
    number = subject.worst(scan._result)
    sent = scan.connections["client_bytes"] + scan.connections["server_bytes"]
    assert number is not None
    assert sent[number] == sent.max() > 0


@pytest.mark.parametrize("name", ["both-split-rtt26-loss", "body-200k-rtt26", "chained-rtt26"])
def test_no_text_of_a_sheet_lies_on_another(name: str) -> None:
    """Also where the histogram needs many rows to name its causes."""
    whole = sheet(nagle_scan.scan(LABELLED / name / "middle.pcap.gz")._result, "").get_axes()
    said = [(text, box) for ax in whole for text, box in texts(ax)]
    titles = {ax.get_title(loc="left") for ax in whole}
    shown = [(text, box) for text, box in said if text in titles]
    assert len(shown) == 3
    for title, place in shown:
        assert [text for text, box in said if text != title and place.overlaps(box)] == []


def test_overview_and_sequence_say_what_cannot_be_read_again() -> None:
    scan = unreadable(nagle_scan.scan(CAPTURES / "java-split.pcap"))
    assert any("not read" in text for text, _ in texts(timeline.overview(scan._result, 0)))
    assert any("second time" in text for text, _ in texts(timeline.sequence(scan._result, 0)))


def test_acks_count_bytes_of_the_peers_stream() -> None:
    shown = subject.of(nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")._result, 0)
    assert shown.segments is not None
    acks = subject.rel_acks(shown.segments, "client")
    assert acks[0] == -1, "a SYN acknowledges nothing"
    assert acks[1:5].tolist() == [0, 0, 77, 177]
    # Past four gibibytes they go on.
    names = ("sender", "flags", "seq", "ack", "rel_seq")
    moved = {name: shown.segments[name] for name in names}
    for name in ("seq", "ack"):
        moved[name] = (moved[name] + 2**32 - 3995478910 - 100) % 2**32
    assert subject.rel_acks(Rows(moved), "client").tolist() == acks.tolist()


@given(INTERVALS)
def test_what_is_covered_is_counted_once(intervals: list[tuple[float, float]]) -> None:
    begins, ends = np.array([one[0] for one in intervals]), np.array([one[1] for one in intervals])
    edges = np.linspace(0, 13, 8)
    shares = columns.covered(begins, ends, edges)
    for share, low, high in zip(shares, edges[:-1], edges[1:], strict=True):
        cuts = sorted({low, high, *(x for one in intervals for x in one if low < x < high)})
        truth = sum(
            right - left
            for left, right in pairwise(cuts)
            if any(begin <= left and right <= end for begin, end in intervals)
        )
        assert share == pytest.approx(truth / (high - low), abs=1e-9)


def test_the_sheet_is_mostly_paper_and_shows_the_stalls_colour(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "timeline.png"
    run(CAPTURES / "epoll-fd0.pcap", "-o", path)
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    white = (pixels > 250).all(axis=2).mean()
    held = (abs(pixels - [0xD5, 0x5E, 0x00]) < 40).all(axis=2).mean()
    assert 0.6 < white < 0.95
    assert 0.002 < held < 0.1


@pytest.mark.parametrize("cut", [24, 100])
def test_a_capture_without_connections_has_a_sheet_that_says_so(
    cut: int, run: Run, tmp_path: Path
) -> None:
    capture_path, path = tmp_path / "nothing.pcap", tmp_path / "timeline.svg"
    capture_path.write_bytes((CAPTURES / "java-split.pcap").read_bytes()[:cut])
    assert run(capture_path, "-o", path).stderr == b""
    assert "TCP connection" in path.read_text()


def test_pages_take_no_matplotlib_and_pictures_no_pyplot(tmp_path: Path) -> None:
    """Importing it takes longer than to write a page."""
    script = (
        "import sys, nagle_scan; from nagle_scan import timeline\n"
        f"scan = nagle_scan.scan({str(CAPTURES / 'java-split.pcap')!r})\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"scan.write({str(tmp_path / 'report.html')!r})\n"
        "assert not {'matplotlib', 'pandas'} & set(sys.modules)\n"
        "timeline.ladder(scan._result)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
