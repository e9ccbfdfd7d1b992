"""The tables of `-o report.html` have room for what they say, on a screen and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pictures
import pytest
from browser import DESK_PX, PHONE_PX, faults, opened
from conftest import CAPTURES, Report, Run, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCROLLED = "box => box.scrollWidth > box.clientWidth"
PAPER_PX = 688
"""A4 less its margins."""
LINES = """cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length;
}"""
"""In how many lines does its text stand?"""


def test_long_addresses_leave_room_for_the_other_columns(tmp_path: Path, browser: Browser) -> None:
    path = page_of(pictures.long_names().frames, tmp_path)
    with opened(browser, path, width=DESK_PX) as page:
        boxes = page.page.locator(".box:has(> table)").all()
        assert boxes
        assert not any(box.evaluate(SCROLLED) for box in boxes)
    with opened(browser, path, width=PAPER_PX) as page:
        page.page.emulate_media(media="print")
        said = page.page.locator("td:last-child:not(.number):visible").all()
        assert said
        assert all(cell.evaluate("cell => cell.offsetWidth") >= 70 for cell in said)
        assert not page.overflows()


def test_stalls_in_both_directions_are_not_cut(report: Report, browser: Browser) -> None:
    path = report("labelled/both-split-rtt26-loss/middle.pcap.gz")
    with opened(browser, path, width=DESK_PX) as page:
        assert not page.page.locator("#connections .box").first.evaluate(SCROLLED)
    with opened(browser, path, width=PHONE_PX) as page:
        assert not page.page.locator("#verdict .box").evaluate(SCROLLED)


def test_a_comparison_and_an_index_are_not_cut(run: Run, tmp_path: Path, browser: Browser) -> None:
    both = CAPTURES / "labelled/siblings-split-rtt26/client.pcap.gz"
    run(both, "--baseline", both, "-o", tmp_path / "compared.html")
    run(both, CAPTURES / "java-split.pcap", "-o", f"{tmp_path}/")
    for name, place in (("compared", "#comparison .box"), ("index", ".box")):
        with opened(browser, tmp_path / f"{name}.html", width=DESK_PX) as page:
            (box,) = page.page.locator(place).all()
            assert not box.evaluate(SCROLLED)
            assert faults(page) == []


@pytest.mark.parametrize(
    "capture", ["epoll-fd0.pcap", "labelled/both-split-rtt26-loss/middle.pcap.gz"]
)
def test_paper_breaks_no_word(capture: str, report: Report, browser: Browser) -> None:
    with opened(browser, report(capture), width=PAPER_PX) as page:
        page.page.emulate_media(media="print")
        words = page.page.locator("th[scope=rowgroup]:not([colspan]), td > code, th > code").all()
        assert words
        assert [word.inner_text() for word in words if word.evaluate(LINES) != 1] == []
