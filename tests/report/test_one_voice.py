"""The answer stands on the first screen, and every format says the same of the same stalls."""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nagle_scan
import pytest
from conftest import CAPTURES, Run, written
from conversation import Conversation, interleaved, ipv6, stalled, write
from markupsafe import Markup
from nagle_scan import _core
from nagle_scan.api import notebook
from nagle_scan.report import html as pages
from nagle_scan.report import markdown, page, pictures, text
from nagle_scan.report.options import Options
from nagle_scan.system.terminal import PLAIN
from nagle_scan.words import certainty
from nagle_scan.words.wording import duration

FIRST_SCREEN = 12
PARTS = 16
SHOWN = min(text.LIMITS.groups, page.LIMITS.groups)
LABELLED = sorted((CAPTURES / "labelled").glob("*/*.pcap.gz"))
SHIPPED = [*sorted(CAPTURES.glob("*.pcap")), *LABELLED]


class Formats(NamedTuple):
    """A scan in all formats, without line breaks and markup of texts."""

    text: str
    ticket: str
    page: str
    notebook: str


def formats(scan: nagle_scan.Scan, folder: Path) -> Formats:
    scan.write(folder / "a.md")
    ticket = (folder / "a.md").read_text().replace("`", "").replace("\\", "")
    whole = pages.rendered("report.html", page.Page(scan, Options())).decode()
    plain = text.render(scan, PLAIN, Options())
    return Formats(*map(flat, (plain, ticket, whole, notebook.scan_html(scan))))


def flat(report: str) -> str:
    return " ".join(html.unescape(report).split())


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their pictures, which take seconds."""

    def empty(_: object, wanted: pictures.Wanted) -> pictures.Picture:
        return pictures.Picture(wanted, Markup(""))

    monkeypatch.setattr(pictures, "_drawn", empty)


def assert_same_in_json(found: list[_core.ServerGroup], result: dict[str, Any]) -> None:
    """Counts and durations by sender and cause; the JSON rounds each to 1 us."""
    listed: dict[object, Counter[str]] = defaultdict(Counter)
    lost_ms: Counter[object] = Counter()
    for connection in result["connections"]:
        server = connection["server"]["addr"], connection["server"]["port"]
        for stall in connection["stalls"]:
            listed[server, stall["sender"], stall["cause"]][stall["confidence"]] += 1
            lost_ms[server, stall["sender"], stall["cause"]] += stall["hold_ms"]
    assert len(listed) == len(found)
    for group in found:
        worst = group.worst
        key = (worst.server_ip, worst.server_port), worst.sender, worst.cause
        counts = Counter({share.word: share.stalls for share in certainty.shares(group)})
        assert listed[key] == counts
        assert lost_ms[key] == pytest.approx(group.stalled_ms, abs=0.001 * group.stalls)


def stall_of(result: dict[str, Any], frames: list[int]) -> dict[str, Any]:
    """The stall with these frames."""
    (found,) = (
        stall
        for connection in result["connections"]
        for stall in connection["stalls"]
        if [stall[f"frame_{name}"] for name in ("unacked", "ack", "held")] == frames
    )
    return dict(found)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("undrawn")
def test_every_format_says_the_same(part: int, tmp_path: Path) -> None:
    for path in SHIPPED[part::PARTS]:
        scan = nagle_scan.scan(path)
        said, result = formats(scan, tmp_path), written(scan, tmp_path)
        for sentence in result["report"]["sentences"]:
            assert [path for report in said if flat(sentence) not in report] == []
        if result["summary"]["stalls"]:
            assert_same_stall(said, result)
            assert_same_groups(said, scan.core.groups())
            assert_same_in_json(scan.core.groups(), result)


def assert_same_stall(said: Formats, result: dict[str, Any]) -> None:
    """Confidence, frames and duration of the clearest stall."""
    shown = said.text.partition("The clearest stall")[2].partition("Why this is")
    frames = list(map(int, re.findall(r"(?<![\d.:])(\d+) [\d.]+ ms [\d[]", shown[0])))
    stall = stall_of(result, frames)
    surest = next(word for word in certainty.CONFIDENCES if f"({word}" in said.text)
    assert stall["confidence"] == surest
    assert shown[2].startswith(f" {surest}:")
    ladder = said.ticket.partition(f"The clearest stall is {surest} ")[2]
    assert list(map(int, re.findall(r"frame (\d+): ", ladder)[:3])) == frames
    assert f": {stall['wait_ms']:.1f} ms: the next {stall['len']} B " in ladder
    assert f"The clearest stall is {surest}." in said.page
    assert f"frame.number >= {frames[0]} && frame.number <= {frames[2]}<" in said.page
    since_ms = float(re.findall(rf" {frames[2]} ([\d.]+) ms ", shown[0])[0])
    at_most = f"waiting for {duration(stall['wait_ms'])} at most, since"
    assert abs(since_ms - stall["wait_ms"]) < 0.1 or at_most in shown[0]


def assert_same_groups(said: Formats, found: list[_core.ServerGroup]) -> None:
    """A row for each that a format has room for; a single one stands in the header."""
    if len(found) < 2:
        assert certainty.sure(found[0]) in said.text
        return
    assert "Who holds data" in said.text
    for group in sorted(found, key=certainty.doubt)[:SHOWN]:
        cells = certainty.counts(group), certainty.lost(group)
        assert re.search(rf" {cells[0]} +{cells[1]} ", said.text)
        lost = f'<td data-head="lost" class="number">{cells[1]}</td>'
        assert f">{cells[0]}</td>{lost}" in said.page
        if len(found) <= markdown.LIMITS.groups:
            assert f"| {cells[0]} | {cells[1]} |" in said.ticket


def captures(folder: Path) -> Iterator[Path]:
    yield from SHIPPED[:: len(SHIPPED) // 40]
    ends = ("2001:db8:1234:5678:9abc:def0:1234:5678", 65000), ("2001:db8::9", 80)
    wide = stalled(Conversation(*ends, network=ipv6))
    many = [stalled(Conversation((f"10.0.{n}.1", 40000), (f"10.1.{n}.1", 80))) for n in range(9)]
    yield write(folder / "wide.pcap", wide.frames)
    yield write(folder / "many.pcap", interleaved(*many))


def test_the_answer_fits_on_the_first_screen(run: Run, tmp_path: Path) -> None:
    for path in captures(tmp_path):
        before, *_ = run(path).stdout.decode().partition("\n\n")[2].partition("\n\n")
        lines = before.splitlines()
        assert len(lines) <= FIRST_SCREEN, path
        assert max(map(len, lines)) <= 100
