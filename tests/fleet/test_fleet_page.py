"""The page that sums a fleet up: in a real browser, with hostile names, on a phone and on paper."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import DESK_PX, PHONE_PX, Scheme, faults, opened
from conftest import CAPTURES
from fleets import (
    ALL,
    HIDDEN,
    SETTINGS,
    STALLED,
    answered,
    everything,
    job,
    made,
    seen,
    shipped,
    undated,
)
from nagle_scan.fleet import hours, page
from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.hours import Hours
from nagle_scan.fleet.work import Failure, Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LIKELY = "labelled/hard-tail-there-split/client.pcap.gz"
CANNOT_TELL = "labelled/formats-clean-rtt26/client-one-way.pcap.gz"
SERVICES = "#services > .box tbody tr"


def written(path: str, settings: Settings = SETTINGS, *failures: Failure) -> Path:
    """The page of a dataset, which gets these failures."""
    dataset = Dataset(path, settings)
    for failure in failures:
        dataset.fail(failure)
    dataset.close()
    return Path(page.write(Fleet(path)))


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    path = made(
        folder / "fleet", [ALL[:1], [*ALL[1:], LIKELY, CANNOT_TELL, undated(folder / "text.txt")]]
    )
    return written(path, SETTINGS, Failure("gone.pcap", "", "cannot read: no such file", 2))


@pytest.mark.parametrize("width", [PHONE_PX, DESK_PX])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_needs_no_sideways_scrolling(
    summary: Path, browser: Browser, width: int, scheme: Scheme
) -> None:
    with opened(browser, summary, width, scheme) as shown:
        assert faults(shown) == []
        assert not shown.overflows()
        assert shown.console == []
        assert shown.requests == [summary.absolute().as_uri()]


def test_services_lead_to_their_worst_connections_and_reports(
    summary: Path, browser: Browser
) -> None:
    fleet = Fleet(summary.parent)
    services = fleet.services
    with opened(browser, summary) as shown:
        names = shown.column("#services > .box", 1)
        assert names[0] == f"{services['server_addr'][0]}:{services['server_port'][0]}"
        assert len(names) == (services["affected_connections"] > 0).sum()
        target = shown.unfolded(shown.page.locator(f"{SERVICES} a").last)
        command = target.locator("code.command").first
        command.click()
        selected = shown.page.evaluate("getSelection().toString()")
        assert selected == command.inner_text()
    told = re.fullmatch(r"nagle-scan fleet -o (\S+) --report ([0-9a-f]+)/(\d+)", selected)
    assert told is not None
    assert told[1] == str(summary.parent)
    row = fleet.worst[fleet.worst["set"].str.startswith(told[2])].iloc[0]
    place = f"{row['server_addr']}:{row['server_port']}"
    assert place == names[-1]
    assert int(told[3]) in fleet.worst.query("set == @row['set']")["connection"].tolist()


def test_it_says_how_sure_everything_is(summary: Path, browser: Browser) -> None:
    fleet = Fleet(summary.parent)
    with opened(browser, summary) as shown:
        assert fleet.sentence.partition(": ")[2] in shown.text("h1").replace("\u00a0", " ")
        lost = shown.column("#hosts .box", 3)
        assert any("likely" in cell for cell in lost)
        assert any("certain" in cell for cell in lost)
        words = shown.page.locator("#hours rect").evaluate_all(
            "all => [...new Set(all.map(it => it.getAttribute('class')))].sort()"
        )
        confidences = {"certain", "likely", "possible"}
        assert set(words) == {word for word in confidences if fleet.hours[f"stalls_{word}"].sum()}


def test_it_tells_what_changed_what_failed_and_what_cannot_tell(
    summary: Path, browser: Browser
) -> None:
    with opened(browser, summary) as shown:
        changes = shown.text("#changes")
        assert Fleet(summary.parent).compared.sentence in changes
        assert "new stalls" in changes
        heads = shown.page.locator("#changes th[scope=col]").all_inner_texts()
        assert heads[2:] == ["run 1", "run 2"]
        assert "delayed ACK" in shown.text("#verdict"), "whoever never heard of stalls opens it"
        assert "cannot read: no such file" in shown.text("#failures")
        unclear = shown.text("#unclear")
        assert Path(CANNOT_TELL).name in unclear
        assert "Only one direction was captured" in unclear


def test_what_is_worse_is_not_hidden_behind_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "MOST_CHANGED", 1)
    fleet = Fleet(made(tmp_path / "fleet", [ALL[:1], [seen(LIKELY, 23), *ALL[1:]]]))
    shown = page.Page(fleet)
    assert [row.words for row in shown.changed] == ["new stalls", "worse"]
    assert shown.changed_more == len(fleet.compared.of("new")) - 1 > 0


def test_it_works_without_scripts(summary: Path, browser: Browser) -> None:
    with opened(browser, summary, script=False) as shown:
        assert shown.column("#services > .box", 1)
        assert shown.page.locator("#services details").count()


def test_paper_has_no_buttons_and_no_commands_to_click(summary: Path, browser: Browser) -> None:
    with opened(browser, summary) as shown:
        shown.page.emulate_media(media="print")
        assert not shown.page.locator("nav").is_visible()
        assert not shown.page.locator("#services details").first.is_visible()
        assert shown.page.locator(SERVICES).first.is_visible()
        assert not shown.overflows()


def test_limits_say_how_much_more_there_is(
    summary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = shutil.copytree(summary.parent, tmp_path / "fleet")
    for name in ("MOST_SERVICES", "MOST_HOSTS", "MOST_CHANGED", "MOST_LISTED"):
        monkeypatch.setattr(page, name, 1)
    text = written(str(copy), SETTINGS, Failure("b", "", "c", 1)).read_text()
    services = (Fleet(copy).services["affected_connections"] > 0).sum()
    assert f"{services - 1} more services: <code>Fleet.services</code>" in text
    assert "more hosts: <code>Fleet.hosts</code>" in text
    assert "1 more capture: <code>Fleet.failures</code>" in text


def test_hostile_names_stay_text(tmp_path: Path, browser: Browser) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m'\"&amp;"
    capture = tmp_path / f"{hostile.replace('/', '_')}.pcap"
    shutil.copy(CAPTURES / STALLED[0], capture)
    wanted = job(capture)
    path = made(tmp_path / hostile.replace("/", "_"), [[(wanted, answered(wanted))]])
    shown_at = written(path, SETTINGS, Failure(hostile, "", f"cannot read: {hostile}", 1))
    text = shown_at.read_text()
    assert "<script>alert" not in text
    assert "\x1b" not in text
    with opened(browser, shown_at) as shown:
        assert shown.console == []
        assert "<script>alert(1)</script>" in shown.text("#failures")
        assert "<script>alert(1)<_script>" in shown.text("#services")


def test_nothing_that_a_key_replaces_is_on_the_page(tmp_path: Path) -> None:
    secret = tmp_path / "alice-10.77.66.55.pcap"
    shutil.copy(CAPTURES / STALLED[0], secret)
    wanted = job(secret)
    path = made(tmp_path / "fleet", [[(wanted, answered(wanted, HIDDEN))]], HIDDEN)
    text = written(path, HIDDEN, Failure(str(secret), "", f"{secret}: cannot read", 1)).read_text()
    assert "index.html" in everything(path)
    for word in ("alice", "10.77.66.55", "127.0.0.1", "--report"):
        assert word not in text
    assert "Addresses and capture names are replaced" in text
    assert "have a command each" not in text


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
    shown_at = written(made(tmp_path / "fleet", [names]))
    with opened(browser, shown_at) as shown:
        assert shown.text("h1") == words
        assert faults(shown) == []
        assert not shown.page.locator("#services, #hours").count()
        assert "Nothing." in shown.text("#failures")
        assert "all could be read" in shown.text("#verdict")


def test_any_span_of_time_fits_into_the_picture(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    from nagle_scan.fleet import tables

    wanted, answer = shipped(STALLED[1])
    stalls = tables.from_bytes(answer.tables["stalls"])
    for days in (0, 1, 300, 40_000):
        times = np.linspace(0, days * tables.DAY_NS, len(stalls)).astype("int64")
        at = stalls.schema.get_field_index("time")
        spread = stalls.set_column(at, "time", pa.array(times).cast(tables.UTC_NS))
        changed = answer._replace(tables={**answer.tables, **tables.to_bytes({"stalls": spread})})
        fleet = Fleet(made(tmp_path / str(days), [[(wanted, changed)]]))
        shown = Hours(fleet.hours)
        assert 0 < len(shown.bars) <= hours.MOST_BARS
        for bar in shown.bars:
            assert 0 <= bar.x <= shown.width - hours.BAR
            assert all(0 <= top <= top + tall <= shown.height + 0.1 for _, top, tall in bar.parts)
        heights = sum(tall for bar in shown.bars for *_, tall in bar.parts)
        assert heights >= shown.height


def test_a_capture_read_in_part_does_not_pass_for_a_whole_one(
    tmp_path: Path, browser: Browser
) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / ALL[0]).read_bytes()[:-100])
    wanted = job(cut)
    answer = answered(wanted)
    assert answer.incomplete == 1
    path = made(tmp_path / "fleet", [[(wanted, answer), *ALL[1:]]])
    with opened(browser, written(path, SETTINGS)) as shown:
        assert "1 file read in part" in shown.text("#verdict")
        assert "all could be read" not in shown.text("main")
        (name,) = shown.column("#warnings", 1)
        assert name == str(cut)
        assert "cut off in the middle of a record after frame" in shown.text("#warnings")
        assert faults(shown) == []


def test_what_was_not_looked_for_is_told(tmp_path: Path, browser: Browser) -> None:
    """No stall in waits of a second and more is no news of waits of 40 ms."""
    strict = SETTINGS._replace(min_wait_ms=1000.0, filter="tcp port <1>")
    path = made(tmp_path / "fleet", [[]], strict)
    with opened(browser, written(path, strict)) as shown:
        assert "Waits shorter than 1000 ms were ignored (--min-wait)." in shown.text("#verdict")
        assert "Only what the filter tcp port <1> lets through was analysed." in shown.text()
    hidden = HIDDEN._replace(filter="host 10.0.0.1")
    text = written(made(tmp_path / "hidden", [[]], hidden), hidden).read_text()
    assert "Only what a filter lets through was analysed." in text
    assert "10.0.0.1" not in text
