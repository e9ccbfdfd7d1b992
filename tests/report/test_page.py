"""`-o report.html` in a real browser: read, sorted, filtered, folded, printed, and attacked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pictures
import pytest
from browser import DESK_PX, PHONE_PX, Opened, Scheme, faults, opened
from conftest import CAPTURES, Report, Run, page_of
from conversation import Conversation, interleaved, over_ipv6, stalled

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = sorted(path.name for path in CAPTURES.glob("*.pcap"))
STALLED, CLEAN = "epoll-fd0.pcap", "java-single-write.pcap"
INDEX = "#connections > .box table"
SCROLLED = "box => box.scrollWidth > box.clientWidth"
PAPER_PX = 688
"""A4 less its margins."""
LINES = """cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length;
}"""
"""In how many lines does its text stand?"""


LOOKS: list[tuple[Scheme, int]] = [("light", PHONE_PX), ("dark", DESK_PX)]


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [(STALLED, "light", DESK_PX), (STALLED, "dark", PHONE_PX)]
    + [(name, *LOOKS[number % 2]) for number, name in enumerate(NAMES)],
)
def test_it_opens_without_a_word_and_has_no_fault(
    name: str, scheme: Scheme, width: int, report: Report, browser: Browser
) -> None:
    """On a phone, tables scroll and never the page."""
    with opened(browser, report(name), width=width, scheme=scheme) as page:
        assert page.console == []
        assert page.requests == [report(name).as_uri()]
        assert not page.overflows()
        assert page.page.title().endswith(name)
        assert faults(page) == []


def test_a_table_that_goes_on_shows_it(report: Report, browser: Browser) -> None:
    """Without a cue, nobody finds the columns on the right of a phone."""
    shade = "getComputedStyle(document.querySelector('.box:has(.frames)')).backgroundAttachment"
    with opened(browser, report(STALLED), width=PHONE_PX) as page:
        page.page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
        box = page.page.locator(".box:has(.frames)").first
        assert box.evaluate(SCROLLED)
        assert page.page.evaluate(shade) == "local, local, scroll, scroll"
        # A cover of the page's colour hides the shade where the table ends.
        begin = box.screenshot()
        box.evaluate("it => it.scrollLeft = it.scrollWidth")
        assert box.screenshot() != begin


@pytest.mark.parametrize("width", [PHONE_PX, DESK_PX])
def test_no_column_of_what_matters_is_cut(width: int, report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED), width=width) as page:
        for place in ("#verdict .box", "#connections .box"):
            for box in page.page.locator(place).all()[:1]:
                assert not box.evaluate(SCROLLED), place
        for cell in page.page.locator("#connections td[data-head=lost]").all():
            shown = cell.bounding_box()
            assert shown is not None
            assert shown["width"] > 0
            assert shown["x"] + shown["width"] <= width


def test_only_what_the_stalls_add_to_a_latency_is_red(report: Report, browser: Browser) -> None:
    shares = "it => ['--share', '--rest'].map(name => it.style.getPropertyValue(name))"
    for name, are_red in ((STALLED, True), (CLEAN, False)):
        with opened(browser, report(name)) as page:
            bars = page.page.locator("#latency .now .bar").all()
            red = [share != rest for share, rest in (bar.evaluate(shares) for bar in bars)]
            assert bars
            assert any(red) == are_red


@pytest.mark.parametrize("width", [PHONE_PX, DESK_PX])
def test_timelines_can_be_seen(width: int, report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED), width=width) as page:
        seen = page.page.locator("figure svg:visible")
        assert seen.count() >= 3
        for picture in seen.all():
            box = picture.bounding_box()
            assert box is not None
            assert box["width"] > 250
            assert box["height"] > 100
            assert picture.evaluate(
                "it => document.getElementById(it.getAttribute("
                "'aria-labelledby').split(' ')[0]).textContent.length > 10"
            )
        ladder = page.page.locator("#drawn svg:visible").first
        assert "43.7 ms" in ladder.inner_html()


def test_page_and_pictures_are_other_in_the_dark(report: Report, browser: Browser) -> None:
    held = "#drawn svg [style*='stroke: #d55e00']"
    for place, look in (("body", "backgroundColor"), (held, "stroke")):
        colours = set()
        for scheme in ("light", "dark"):
            with opened(browser, report(STALLED), scheme=scheme) as page:
                drawn = page.page.locator(place).first
                colours.add(drawn.evaluate(f"it => getComputedStyle(it).{look}"))
        assert len(colours) == 2


def test_tables_sort_by_number_and_say_so(report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED)) as page:
        lost_first = page.column(INDEX, 1)
        assert lost_first != sorted(lost_first)
        head = page.page.locator(f"{INDEX} th").first
        for order, stalls in (("descending", ["4", "3", "2", "1"]), ("ascending", list("1234"))):
            head.get_by_role("button").press("Enter")
            assert head.get_attribute("aria-sort") == order
            assert page.column(INDEX, 1) == stalls
        assert page.page.locator(f"{INDEX} th[aria-sort]").count() == 1


def test_tables_filter(report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED)) as page:
        ports = page.column(INDEX, 2)
        box = page.page.get_by_label("Filter by address, port or stream")
        box.fill(ports[0].upper())
        assert page.column(INDEX, 2) == ports[:1]
        assert "1 of 4" in page.text("#connections .filter")
        box.fill("nothing like this")
        assert page.column(INDEX, 2) == []
        box.fill("")
        assert page.column(INDEX, 2) == ports


def test_a_link_opens_a_folded_connection(report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED)) as page:
        last = page.page.locator("details.connection").last
        assert not last.evaluate("it => it.open")
        opened_part = page.unfolded(page.page.locator(f"{INDEX} a").last)
        assert opened_part.get_attribute("id") == last.get_attribute("id")


def test_it_can_be_read_without_script(report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED)) as page:
        headings = page.page.locator("h1, h2").all_inner_texts()
    with opened(browser, report(STALLED), script=False) as page:
        assert page.page.locator("h1, h2").all_inner_texts() == headings
        assert page.page.locator("th button, .filter").count() == 0
        last = page.page.locator("details.connection").last
        last.locator("summary").click()
        assert last.locator("table").first.is_visible()


SHEETS = 6


def sheets(page: Opened) -> int:
    printed = page.page.pdf(format="A4", print_background=True)
    assert printed.startswith(b"%PDF-")
    return printed.count(b"/Type /Page\n")


@pytest.mark.parametrize("script", [True, False])
def test_paper_shows_the_worst_and_says_what_it_leaves_out(
    script: bool, report: Report, browser: Browser
) -> None:
    with opened(browser, report(STALLED), script=script) as page:
        left_out = page.page.get_by_text("… and 3 more on the screen.")
        assert not left_out.is_visible()
        page.page.emulate_media(media="print")
        assert left_out.is_visible()
        shown = page.page.locator("details.connection:visible")
        assert shown.count() == 1
        assert shown.locator("table").first.is_visible()
        assert not page.page.locator("nav").is_visible()
        assert 3 <= sheets(page) <= SHEETS


def test_many_connections_fit_on_a_few_sheets(tmp_path: Path, browser: Browser) -> None:
    """The page is printed for a meeting; forty sheets are not."""
    many = [
        stalled(
            Conversation((f"10.1.{number}.1", 40000), (f"10.0.0.{number % 8}", 80), now_ms=number)
        )
        for number in range(40)
    ]
    with opened(browser, page_of(interleaved(*many), tmp_path)) as page:
        assert sheets(page) <= SHEETS


def test_it_can_be_used_with_the_keyboard_alone(report: Report, browser: Browser) -> None:
    with opened(browser, report(STALLED)) as page:
        page.page.keyboard.press("Tab")
        focused = page.page.locator(":focus")
        assert focused.inner_text() == "Skip to the verdict"
        box = focused.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        style = "getComputedStyle(document.activeElement).outlineStyle"
        for _ in range(12):
            page.page.keyboard.press("Tab")
            assert page.page.evaluate(style) == "solid"


HOSTILE = "<img src=x onerror=alert(1)>\"'&\x1b[31m\u202egpj.\u05d0\u05d1\n{{ 7*7 }}.pcap"


def test_a_hostile_name_changes_nothing_but_the_name(tmp_path: Path, browser: Browser) -> None:
    frames = interleaved(stalled(), stalled(over_ipv6(1.0)))
    texts = []
    for name in ("harmless.pcap", HOSTILE):
        with opened(browser, page_of(frames, tmp_path, name)) as page:
            assert page.console == []
            assert len(page.requests) == 1
            assert page.page.locator("img, iframe, object, main script").count() == 0
            assert page.page.locator("script").count() == 1
            shown = page.text("header .capture")
            assert not {"\x1b", "\u202e", "\n"} & set(shown)
            texts.append(page.text())
    assert "<img src=x onerror=alert(1)>" in shown
    assert "\\x1b[31m\\u202egpj.\u05d0\u05d1\\n{{ 7*7 }}" in shown
    assert texts[0] == texts[1]


def test_huge_numbers_stay_in_their_boxes(tmp_path: Path, browser: Browser) -> None:
    conversation = Conversation(
        client=("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65535),
        server=("fe80:1111:2222:3333:4444:5555:6666:7777", 65535),
    )
    stalled(conversation, rounds=5, delay_ms=59_000.0)
    conversation.wait(2e9)
    conversation.stall()
    with opened(browser, page_of(conversation.frames, tmp_path), width=PHONE_PX) as page:
        assert page.console == []
        assert not page.overflows()
        assert faults(page) == []


# Tables have room for what they say, on a screen and on paper.


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
