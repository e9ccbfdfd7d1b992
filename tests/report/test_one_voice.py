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
from conftest import CAPTURES, Run, stalls_in, written
from conversation import Conversation, interleaved, stalled, write
from markupsafe import Markup
from nagle_scan import _core
from nagle_scan.api import notebook
from nagle_scan.report import fixes, header, held, markdown, page, pictures, sentences, text
from nagle_scan.report import html as pages
from nagle_scan.report.options import Options
from nagle_scan.report.view import View
from nagle_scan.system.terminal import PLAIN
from nagle_scan.words import certainty
from nagle_scan.words.wording import duration

FIRST_SCREEN = 12
PARTS = 16
SHOWN = min(text.LIMITS.groups, page.LIMITS.groups)
LABELLED = sorted((CAPTURES / "labelled").glob("*/*.pcap.gz"))
SHIPPED = [*sorted(CAPTURES.glob("*.pcap")), *LABELLED]


UNTRUE = ("1 of 1 connection", "their servers", "None", "at best", "cannot be explained apart")
"""Words of sentences that were wrong, or that a reader had to guess at."""


@pytest.mark.parametrize(
    ("took_s", "said"),
    [(9.94, "9.9 s"), (90, "90 s"), (599, "599 s"), (1536, "26 min"), (90_000, "25 h")],
)
def test_durations_have_a_unit_that_fits(took_s: float, said: str) -> None:
    assert duration(1000 * took_s) == said


class Formats(NamedTuple):
    """A scan in all formats, without line breaks and markup of texts."""

    text: str
    ticket: str
    page: str
    notebook: str


def formats(scan: nagle_scan.Scan, folder: Path) -> Formats:
    scan.write(folder / "a.md")
    ticket = (folder / "a.md").read_text().replace("`", "").replace("\\", "")
    whole = pages.rendered("report.html", page.Page(scan._result, Options())).decode()
    plain = text.render(scan._result, PLAIN, Options())
    return Formats(*map(flat, (plain, ticket, whole, notebook.scan_html(scan._result))))


def flat(report: str) -> str:
    return " ".join(html.unescape(report).split())


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their pictures, which take seconds."""

    def empty(_: object, wanted: pictures.Wanted) -> pictures.Picture:
        return pictures.Picture(wanted, Markup(""), Markup(""))

    monkeypatch.setattr(pictures, "_drawn", empty)


def assert_same_in_json(found: list[_core.ServerGroupRow], result: dict[str, Any]) -> None:
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
    names = ("frame_unacked", "frame_ack", "frame_held")
    (found,) = (stall for stall in stalls_in(result) if [stall[it] for it in names] == frames)
    return found


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("undrawn")
def test_every_format_says_the_same(part: int, tmp_path: Path) -> None:
    for path in SHIPPED[part::PARTS]:
        scan = nagle_scan.scan(path)
        said, result = formats(scan, tmp_path), written(scan, tmp_path)
        for sentence in result["report"]["sentences"]:
            assert [path for report in said if flat(sentence) not in report] == []
        assert [word for word in UNTRUE if any(word in report for report in said)] == [], path
        assert_answers(View(scan._result, text.LIMITS, Options()))
        if result["summary"]["stalls"]:
            assert_same_stall(said, result)
            assert_same_groups(said, scan._result.core.groups())
            assert_same_in_json(scan._result.core.groups(), result)


def assert_answers(seen: View) -> None:
    """The first screen speaks of the same stalls, servers and connections throughout."""
    summary = seen.summary
    if summary.verdict == "clean" and summary.not_judged:
        assert certainty.clean_of(summary) in seen.in_one_line
    lengths = [wait.wait_ms for wait, _ in seen.waits]
    if lengths != sorted(lengths, reverse=True):
        assert "those of idle clients last" in seen.waits_heading
    if not summary.stalls:
        return
    assert_one_stall(seen)
    header_of = {item.head: flat(item.text) for item in header.of(seen)}
    parties = dict.fromkeys(held.party(group) for group in held.that_count(seen.groups))
    fixed = {sender for fix in seen.fixes_of(parties.keys()) for sender in fix.senders}
    assert fixed == set(list(parties)[: fixes.MOST_PARTIES])
    assert_fix(header_of["fix"], fixed)
    blamed = {
        (group.worst.sender, group.worst.sender_addr, group.worst.server_port)
        for group in seen.groups
    }
    sockets = [(row.side, row.addr, row.server_port) for row in seen.core.nagle(len(blamed))[0]]
    assert blamed <= set(sockets) or any(group.clients > 1 for group in seen.groups)
    possible = summary.stalls_by_confidence[0] if summary.verdict == "stalls" else 0
    assert ("not counted" in header_of["cost"]) == (possible > 0)
    share = summary.cost_stalled_ms / summary.cost_latency_ms if summary.cost_latency_ms else 1
    if "stalls, minor" in header_of:
        assert share < sentences.LEAST_GAIN
    explained = [one.how for fix in seen.fixes_for_readers for one in fix.remedies if one.price]
    assert len(explained) == len(set(explained))


def assert_fix(said: str, senders: set[str]) -> None:
    """Each sender has its remedy on the first screen, by name or counted."""
    assert "see below" not in said
    assert said.count("is a proxy") <= 1
    hidden = sum(map(int, re.findall(r" and (\d+) more", said)))
    named = sum(sender in said for sender in senders)
    assert named + hidden >= len(senders) or " and others" in said


def assert_one_stall(seen: View) -> None:
    """The stall in the picture is the clearest, and the one that the first words are about."""
    stall = seen.clearest
    assert stall is not None
    (drawn,) = seen.core.stalls_of(stall.connection, 1)
    assert (drawn.frame_from, drawn.frame_to) == (stall.frame_from, stall.frame_to)
    group = seen.groups[0]
    server_end = stall.sender_end if stall.sender == "server" else stall.receiver_end
    assert (stall.cause, stall.sender) == (group.worst.cause, group.worst.sender)
    assert server_end == held.server(group.worst)


def assert_same_stall(said: Formats, result: dict[str, Any]) -> None:
    """Confidence, frames and duration of the clearest stall."""
    shown = said.text.partition("The clearest stall")[2].partition("Why this is")
    frames = list(map(int, re.findall(r"(?<![\d.:])(\d+) [\d.]+ ms [\d[]", shown[0])))
    stall = stall_of(result, frames)
    surest = next(
        word for word in certainty.CONFIDENCES if re.search(rf"\((\d+ )?{word}", said.text)
    )
    assert stall["confidence"] == surest
    assert shown[2].startswith(f" {surest}:")
    ladder = said.ticket.partition(f"The clearest stall is {surest} ")[2]
    assert list(map(int, re.findall(r"frame (\d+): ", ladder)[:3])) == frames
    assert f": {stall['wait_ms']:.1f} ms: the next {stall['len']:,} B " in ladder
    assert f"The clearest stall is {surest}." in said.page
    assert f"frame.number >= {frames[0]} && frame.number <= {frames[2]}<" in said.page
    since_ms = float(re.findall(rf" {frames[2]} ([\d.]+) ms ", shown[0])[0])
    at_most = f"waiting for {duration(stall['wait_ms'])} at most, since"
    assert abs(since_ms - stall["wait_ms"]) < 0.1 or at_most in shown[0]


def assert_same_groups(said: Formats, found: list[_core.ServerGroupRow]) -> None:
    """A row for each that a format has room for; a single one stands in the header."""
    if len(found) < 2:
        assert certainty.sure(found[0]) in said.text
        return
    assert "Who holds data" in said.text
    for group in sorted(found, key=certainty.doubt)[:SHOWN]:
        cell = flat(certainty.cell(group))
        assert f'<td data-head="stalls, time lost">{cell}</td>' in said.page
        if len(found) <= markdown.LIMITS.groups:
            assert f"| {cell} |" in said.ticket


def captures(folder: Path) -> Iterator[Path]:
    yield from SHIPPED[:: len(SHIPPED) // 40]
    ends = ("2001:db8:1234:5678:9abc:def0:1234:5678", 65000), ("2001:db8::9", 80)
    wide = stalled(Conversation(*ends))
    many = [stalled(Conversation((f"10.0.{n}.1", 40000), (f"10.1.{n}.1", 80))) for n in range(9)]
    yield write(folder / "wide.pcap", wide.frames)
    yield write(folder / "many.pcap", interleaved(*many))


def test_the_answer_fits_on_the_first_screen(run: Run, tmp_path: Path) -> None:
    for path in captures(tmp_path):
        before, *_ = run(path).stdout.decode().partition("\n\n")[2].partition("\n\n")
        lines = before.splitlines()
        assert len(lines) <= FIRST_SCREEN, path
        assert max(map(len, lines)) <= 100
