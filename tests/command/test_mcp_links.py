"""`nagle-scan mcp --root` while somebody who may write there swaps files and folders for links."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES
from nagle_scan.command.agent import Agent

INSIDE, OUTSIDE = "java-split.pcap", "epoll-fd0.pcap"
PACKETS = nagle_scan.scan(CAPTURES / INSIDE).summary.packets


class Swapper:
    """Swaps two names before a call of the system or the engine, or before each from that on."""

    def __init__(self, path: Path, other: Path, first: int, only_once: bool) -> None:
        self.names = path, other
        self.calls = range(first, first + 1) if only_once else range(first, sys.maxsize)
        self.count = 0

    def __call__(self, _frame: object, event: str, called: Any) -> None:
        modules = ("posix", "io", "nagle_scan._core")
        if event == "c_call" and getattr(called, "__module__", None) in modules:
            if self.count in self.calls:
                swap(*self.names)
            self.count += 1


def swap(path: Path, other: Path) -> None:
    kept = path.with_name("kept")
    path.rename(kept)
    other.rename(path)
    kept.rename(other)


Ask = Callable[[Agent], str]


def answers(folder: Path, what: str, begins_as_link: bool, only_once: bool, ask: Ask) -> list[str]:
    """All answers and refusals, while `what` of the root and a link to the same outside change
    places: before the first call, before the second, and so on.
    """
    root, outside, link = (folder / name for name in ("root", "outside", "link"))
    for top, name, capture in (
        (root, "a", INSIDE),
        (outside, "a", OUTSIDE),
        (outside, "secret", INSIDE),
    ):
        (top / "day").mkdir(parents=True, exist_ok=True)
        shutil.copy(CAPTURES / capture, top / "day" / f"{name}.pcap")
    link.symlink_to(outside / what)
    answered = []
    for first in count():
        if link.is_symlink() == begins_as_link:
            swap(root / what, link)
        swapper, agent = Swapper(root / what, link, first, only_once), Agent([str(root)])
        sys.setprofile(swapper)
        try:
            answered.append(ask(agent))
        except nagle_scan.CaptureError:
            answered.append("refused")
        finally:
            sys.setprofile(None)
        if swapper.count <= first:
            return answered
    raise AssertionError


@pytest.mark.parametrize("what", ["day/a.pcap", "day"])
@pytest.mark.parametrize("begins_as_link", [False, True])
@pytest.mark.parametrize("only_once", [False, True])
def test_no_answer_is_from_outside_whenever_a_link_takes_its_place(
    what: str, begins_as_link: bool, only_once: bool, tmp_path: Path
) -> None:
    def packets(agent: Agent) -> str:
        return str(agent.scan("day/a.pcap")["data"]["packets"])

    answered = answers(tmp_path, what, begins_as_link, only_once, packets)
    assert set(answered) == {str(PACKETS), "refused"}


@pytest.mark.parametrize("only_once", [False, True])
def test_no_list_has_names_from_outside(only_once: bool, tmp_path: Path) -> None:
    answered = answers(tmp_path, "day", False, only_once, lambda agent: str(agent.captures()))
    assert not any("secret" in names or names == "refused" for names in answered)
    assert any("a.pcap" in names for names in answered)
