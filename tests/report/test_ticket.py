"""`-o ticket.md`: the finding as Markdown, short and safe."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, tshark, write_evidence
from conversation import Conversation, connected, interleaved, over_ipv6, stalled, write
from markdown_it import MarkdownIt
from nagle_scan.advice.programs import SETTINGS
from nagle_scan.report.markdown import _setting

RENDERER = MarkdownIt("gfm-like", {"linkify": False})
MAX_LINES = 59


def ticket(path: Path | list[Path], **how: Any) -> str:
    text: str = nagle_scan.scan(path, **how).render("md")
    return text


LINK = re.compile(r"\]\(([^)]*)\)")


def test_links_are_addresses_as_they_are() -> None:
    """Jira takes a backslash in an address as part of it."""
    for setting in SETTINGS:
        (link,) = LINK.findall(_setting(setting))
        assert link == setting.address
        assert re.fullmatch(r"https://[\w./:#?=&~%+@-]+", link), link
        assert f'href="{link.replace("&", "&amp;")}"' in RENDERER.render(_setting(setting))


@pytest.mark.parametrize("key", [None, bytes(range(32))])
@pytest.mark.parametrize("make", [Conversation, over_ipv6])
def test_its_filters_find_the_stall_in_capture_and_evidence(
    make: Callable[[], Conversation], key: bytes | None, tmp_path: Path
) -> None:
    """The evidence counts its frames anew: the capture's numbers show other frames there."""
    before, made = Conversation(("10.0.9.9", 2000)), make()
    before.open()
    before.data("client", 20)
    before.answer()
    made.wait(100.0)
    stalled(made)
    names = {made.client[0]: "caller"}
    scan = nagle_scan.scan(
        write(tmp_path / "a.pcap", interleaved(before, made)), anonymize=key, names=names
    )
    write_evidence(scan, tmp_path / "evidence.pcapng")
    filters = re.findall(r"^- in .*: `(.*)`$", scan.render("md"), re.MULTILINE)
    stall = scan._result.core.clearest()
    assert stall is not None
    for name, shown in zip(("a.pcap", "evidence.pcapng"), filters, strict=True):
        lines = tshark(tmp_path / name, "-Y", shown, fields="frame.time_epoch frame.comment")
        times = [float(line.split("\t")[0]) for line in lines]
        assert times[0] == pytest.approx(stall.from_ns / 1e9, abs=1e-6)
        assert times[-1] == pytest.approx(stall.to_ns / 1e9, abs=1e-6)
    assert f"released by frame {stall.frame_ack}" in "".join(lines)


@pytest.mark.parametrize("number", range(4))
def test_no_ladder_is_wider_than_72_columns(number: int, tmp_path: Path) -> None:
    wide = "2001:db8:1234:5678:9abc:def0:1234:5678"
    made = [
        stalled(),
        stalled(over_ipv6()),
        stalled(Conversation((wide, 65000), (wide[:-1] + "9", 65001))),
        stalled(delay_ms=499.0),
    ][number]
    text = ticket(write(tmp_path / "a.pcap", made.frames))
    ladder = text.split("```")[1].splitlines()
    assert max(len(line) for line in ladder) <= 72
    assert len({len(line) for line in ladder if line.endswith("|")}) == 1


def many() -> list[Conversation]:
    """More hosts, connections and notes than a ticket can list."""
    made = [
        Conversation((f"10.0.{number}.1", 40000), (f"10.1.{number}.1", 80)) for number in range(9)
    ]
    made.append(over_ipv6())
    for number, one in enumerate(made):
        # Equal numbers would be one connection, captured again behind NAT.
        one.isn = {"client": 100_000 * number, "server": 100_000 * number + 5_000}
    return [stalled(one) for one in made]


def test_every_ticket_has_less_than_60_lines(tmp_path: Path) -> None:
    paths = sorted(CAPTURES.glob("*.pcap"))
    paths.append(write(tmp_path / "many.pcap", interleaved(*many())))
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(paths[-1].read_bytes()[:-5])
    for chosen in [[path] for path in paths] + [[cut], [cut, *paths]]:
        assert ticket(chosen).count("\n") <= MAX_LINES, chosen


def test_tables_and_fences_are_markdown(tmp_path: Path) -> None:
    text = ticket(write(tmp_path / "many.pcap", interleaved(*many())))
    kinds = [token.type for token in RENDERER.parse(text)]
    assert kinds.count("table_open") == 3
    assert kinds.count("fence") == 1
    assert kinds.count("ordered_list_open") == 1
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| client ")}
    assert widths == {5}


def test_a_clean_capture_gets_a_ticket_too() -> None:
    text = ticket(CAPTURES / "epoll-fixed.pcap")
    assert text.startswith(
        "## Clean: no Nagle stall on 4 of 5 connections (1 carries no data)\n"
        "- No Nagle or delayed-ACK stall of 10"
    )
    longer = ticket(CAPTURES / "epoll-fixed.pcap", min_wait_ms=15)
    assert "stall of 15 ms or more" in longer


def test_a_clean_capture_names_its_longest_waits(tmp_path: Path) -> None:
    made = connected()
    made.data("client", 10)
    made.wait(300.0)
    made.answer()
    text = ticket(write(tmp_path / "a.pcap", made.frames))
    assert "### Longest waits" in text
    assert "`sender_app`" in text


def test_several_files_need_one_numbering() -> None:
    paths = [CAPTURES / "java-split.pcap", CAPTURES / "jdk-httpserver.pcap"]
    text = ticket(paths)
    assert "mergecap" in text
    assert "mergecap" not in ticket(paths[:1])


def test_a_filtered_scan_counts_streams_otherwise_than_wireshark(tmp_path: Path) -> None:
    made = interleaved(stalled(), stalled(Conversation(("10.0.0.3", 41000), now_ms=0.4)))
    path = write(tmp_path / "two.pcap", made)
    for key in (None, bytes(range(32))):
        text = ticket(path, filter="host 10.0.0.3", anonymize=key)
        assert "tcp.stream" not in text
        assert "tcp.port == 41000 && tcp.port == 8000 && frame.number >= " in text
        assert ("the filter `host 10.0.0.3`" in text) == (key is None)
        assert ("10.0.0.3" in text) == (key is None)
