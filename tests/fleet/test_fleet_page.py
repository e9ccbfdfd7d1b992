"""The page that sums a fleet up: in a real browser, with hostile names, on a phone and on paper."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import Scheme, faults
from browser import opened as shown_in
from fleets import (
    BEGIN,
    HIDDEN,
    PLAIN,
    SCANNED,
    SPLIT,
    capture,
    connection,
    failure,
    hour,
    made,
    opened,
    rows,
    written,
)
from nagle_scan.fleet import page, parquet
from nagle_scan.fleet import rows as rows_of
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.folder import PAGE, Folder
from nagle_scan.fleet.work import Failure, File
from nagle_scan.result.options import ScanOptions

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTHS = (390, 1280)
MOST_PX = 5000
PAPER_PX = 688
"""A4 within its margins."""
LONG = "[2001:db8:1234:5678:9abc:def0:1234:{:x}]:5432"
OWNED = {"owner": "Team Payments and Billing", "pod": "payments-7d4b9c6f5-abcde"}
HOSTILE = "<script>alert(1)</script>\x1b[31m'\"&amp;"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet of a company: four days of 105 services, and 100 files that nobody can read."""
    services = [LONG.format(number) for number in range(105)]
    sums = [
        row
        for number, service in enumerate(services)
        for at in (*range(0, 96, 2), 95)
        for row in hour(at, service, 1000, 0 if at < number % 90 else 200 - number, **OWNED)
    ]
    failed = (
        failure(f"/captures/{number}.pcap", "cannot read: permission denied", attempts=number + 1)
        | {"scanned": SCANNED + timedelta(minutes=number)}
        for number in range(100)
    )
    odd = {"complete": False, "warnings": "the file is damaged", "verdict": "inconclusive"}
    captures = [
        capture("a" * 32, verdict="stalls", host="web-1"),
        capture("b" * 32, cannot_tell="Only one direction was captured", **odd),
        *failed,
        failure("/captures/README.md", "not a capture file", final=True),
    ]
    worst = [connection(LONG.format(0), number, 400.0 * number) for number in range(1, 8)]
    folder = tmp_path_factory.mktemp("page") / "fleet"
    written(folder, {"sums": sums, "connections": worst, "captures": captures})
    return shown_page(folder)


def shown_page(folder: str | Path) -> Path:
    """The page of a fleet, written."""
    page.write(opened(folder))
    return Path(folder, PAGE)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures that ship."""
    return shown_page(made(tmp_path_factory.mktemp("page") / "fleet"))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_of_many_services_is_short_and_nothing_is_cut_off(
    large: Path, browser: Browser, width: int
) -> None:
    """Nobody scrolls sideways on a phone, or through a hundred failures to what costs most."""
    with shown_in(browser, large, width) as shown:
        assert not shown.overflows()
        height = shown.page.evaluate("document.documentElement.scrollHeight")
        assert height <= MOST_PX
        for part in shown.page.locator("details").all():
            part.evaluate("part => part.open = true")
        wide = "all => all.filter(box => box.scrollWidth > box.clientWidth + 1).length"
        assert shown.page.locator(".box").evaluate_all(wide) == 0
        assert shown.page.evaluate("document.documentElement.scrollHeight") > height
        assert not shown.overflows()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_accessible_and_loads_nothing(
    small: Path, browser: Browser, width: int, scheme: Scheme
) -> None:
    with shown_in(browser, small, width, scheme) as shown:
        assert faults(shown) == []
        assert shown.console == []
        assert shown.requests == [small.absolute().as_uri()]


def test_a_service_leads_to_its_worst_connections_and_their_reports(
    small: Path, browser: Browser
) -> None:
    fleet = Fleet(small.parent)
    service = fleet.services.iloc[0]
    with shown_in(browser, small) as shown:
        names = shown.column("#services > .box", 1)
        assert names[0] == service["service"] == "127.0.0.1:8888"
        shares = shown.page.locator("#services .share").all_inner_texts()
        assert not [text for text in shares if text.startswith(",")]
        row = shown.page.locator("#services > .box tbody tr").first.inner_text()
        assert f"server: {service['change']}" in row
        assert "100 certain" in row
        assert "4.4 s certain" in row
        assert "44.4 ms" in row
        assert "since the first capture" in row
        target = shown.unfolded(shown.page.locator("#services > .box a").first)
        assert service["fix"] in target.inner_text()
        worst = fleet.worst[fleet.worst["service"] == service["service"]]
        assert worst["sentence"].iloc[0] in target.inner_text()
        command = target.locator("code.command").first
        command.click()
        selected = shown.page.evaluate("getSelection().toString()")
    words = re.fullmatch(r"nagle-scan fleet -o (\S+) --report ([0-9a-f]+)/(\d+)", selected)
    assert words is not None
    assert words[1] == str(small.parent)
    fleet.report(words[2], int(words[3]), small.with_name("report.html"))


def test_it_tells_since_when_and_who_and_what_could_not_be_read(
    large: Path, browser: Browser
) -> None:
    with shown_in(browser, large) as shown:
        row = shown.page.locator("#services > .box tbody tr").nth(5).inner_text()
        assert "Team Payments and Billing, payments-7d4b9c6f5-abcde" in row
        assert f"{BEGIN + timedelta(hours=6):%Y-%m-%d %H:%M}" in row
        assert "usually nothing before" in row
        assert shown.page.locator("svg.trend path.onset").count() > 0
        label = shown.page.locator("svg.trend").first.get_attribute("aria-label") or ""
        assert label.startswith("Time lost per hour, at most 8.0 s, 2026-11-20 00:00 to")
        assert "101 files could not be read; 1 file read in part" in shown.text("#verdict")
        for part in shown.page.locator("details").all():
            part.evaluate("part => part.open = true")
        failures = shown.text("#failures")
        assert "tries again, but for 1 file that is no capture." in failures
        assert failures.index("/captures/99.pcap") < failures.index("/captures/98.pcap")
        assert "100 attempts" in failures
        assert f"{101 - page.MOST_LISTED} more files: Fleet.failures" in failures
        assert "The file is damaged." in shown.text("#warnings")
        assert "Only one direction was captured." in shown.text("#unclear")
        assert "5 more services: Fleet.services" in shown.text("#services")


def test_it_works_without_scripts_and_on_paper(large: Path, browser: Browser) -> None:
    with shown_in(browser, large, script=False) as shown:
        assert len(shown.column("#services > .box", 1)) == page.AT_ONCE
        assert shown.page.locator("#services details").count()
    with shown_in(browser, large, PAPER_PX) as shown:
        shown.page.emulate_media(media="print")
        assert not shown.page.locator("nav").is_visible()
        assert not shown.page.locator("#services details").first.is_visible()
        assert shown.page.locator("svg.trend").first.is_visible()
        assert f"{105 - page.AT_ONCE} more on the screen" in shown.text("#services")
        assert not shown.overflows()


def test_hostile_names_stay_text(tmp_path: Path, browser: Browser) -> None:
    service = {"owner": HOSTILE, "pod": HOSTILE}
    every = {
        "sums": hour(0, HOSTILE, 10, 5, **service),
        "connections": [connection(HOSTILE, 1, 80.0) | {"change": HOSTILE, "fix": HOSTILE}],
        "captures": [
            capture("a" * 32, path=HOSTILE, warnings=HOSTILE, cannot_tell=HOSTILE),
            failure(HOSTILE, HOSTILE, host=HOSTILE),
        ],
    }
    path = shown_page(written(tmp_path / "f", every))
    text = path.read_text()
    assert "<script>alert" not in text
    assert "\x1b" not in text
    with shown_in(browser, path) as shown:
        assert shown.console == []
        assert "<script>alert(1)</script>" in shown.text("#services")


def test_nothing_that_a_key_replaces_is_on_the_page(tmp_path: Path) -> None:
    hidden = HIDDEN._replace(options=ScanOptions("port 8000 or host 10.0.0.1"))
    text = shown_page(made(tmp_path / "f", [[SPLIT]], hidden)).read_text()
    for word in (SPLIT, "127.0.0.1", "10.0.0.1", "--report"):
        assert word not in text
    assert "Addresses and capture names are replaced" in text
    failed = rows_of.failed([Failure(File("/alice", "alice"), "alice: timeout")], HIDDEN, [0])
    assert "alice" not in str(failed)
    assert failed["error"] == ["cannot read"]
    assert "Only what a filter lets through was analysed." in text


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "No capture can tell whether there are stalls."),
        (("java-split-nodelay.pcap",), "No stall was found."),
    ],
)
def test_it_says_so_where_there_is_no_stall(
    names: tuple[str, ...], words: str, tmp_path: Path, browser: Browser
) -> None:
    path = shown_page(made(tmp_path / "fleet", [names]))
    with shown_in(browser, path) as shown:
        assert shown.text("h1") == words
        assert faults(shown) == []
        assert not shown.page.locator("#services").count()
        assert "None." in shown.text("#failures")
        assert "all could be read" in shown.text("#verdict")


def test_changes_come_first(tmp_path: Path, browser: Browser) -> None:
    changes = [
        {"time": datetime.now(UTC) - timedelta(days=age), "service": service, "change": change}
        | {"owner": "", "pod": "", "before_ms": 1.0, "now_ms": 4.0, "stalls": 9, "exchanges": 90}
        for age, service, change in ((0, "a:1", "new"), (1, "b:1", "worse"), (8, "c:1", "gone"))
    ]
    folder = written(tmp_path / "fleet", {"sums": hour(0, "a:1", 90, 9)})
    Folder(folder).put("changes", parquet.content("changes", [rows("changes", changes, 0)]))
    path = shown_page(folder)
    assert page.state(Folder(folder)) == opened(folder).state()
    with shown_in(browser, path) as shown:
        listed = shown.text("#changes")
        assert "new: a:1 loses 4.0 ms per exchange (9 stalls)" in listed
        assert "worse: b:1 loses 4.0 ms per exchange (9 stalls), 1.0 ms before" in listed
        assert "c:1" not in listed, "of last week"
        order = "document.querySelector('#changes').compareDocumentPosition"
        assert shown.page.evaluate(f"{order}(document.querySelector('#services')) & 4")


def test_what_loses_now_comes_before_what_is_fixed(tmp_path: Path, browser: Browser) -> None:
    """Whatever was lost a year ago."""
    sums = [
        row
        for day in range(9)
        for service, exchanges, stalls in (("a:1", 900, 500 * (day < 2)), ("b:1", 900, 5))
        for row in hour(24 * day, service, exchanges, stalls)
    ]
    path = shown_page(written(tmp_path / "fleet", {"sums": sums}))
    with shown_in(browser, path) as shown:
        assert shown.column("#services > .box", 1) == ["b:1"]
        fixed = shown.page.locator("#services details.rest")
        assert "1 service without a stall on the last 7 captured days" in fixed.inner_text()
        fixed.evaluate("part => part.open = true")
        assert "a:1" in fixed.inner_text()
        assert faults(shown) == []


def test_what_was_not_looked_for_is_reported(tmp_path: Path) -> None:
    """No stall in waits of a second and more says nothing of waits of 40 ms."""
    strict = PLAIN._replace(min_wait_ms=1000.0, filter="tcp port <1>")
    text = shown_page(written(tmp_path / "fleet", {}, strict)).read_text()
    assert "Waits shorter than 1000 ms were ignored (--min-wait)." in text
    assert "Only what the filter tcp port &lt;1&gt; lets through was analysed." in text
