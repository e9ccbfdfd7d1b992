"""`nagle-scan mcp --root` while somebody who may write there swaps files and folders for links."""

from __future__ import annotations

import shutil
import sys
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


@pytest.mark.parametrize("what", ["day/a.pcap", "day"])
@pytest.mark.parametrize("begins_as_link", [False, True])
@pytest.mark.parametrize("only_once", [False, True])
def test_no_answer_is_from_outside_whenever_a_link_takes_its_place(
    what: str, begins_as_link: bool, only_once: bool, tmp_path: Path
) -> None:
    root, outside, link = (tmp_path / name for name in ("root", "outside", "link"))
    for folder, name in ((root / "day", INSIDE), (outside / "day", OUTSIDE)):
        folder.mkdir(parents=True)
        shutil.copy(CAPTURES / name, folder / "a.pcap")
    link.symlink_to(outside / what)
    told = {"inside": 0, "refused": 0}
    for first in count():
        if link.is_symlink() == begins_as_link:
            swap(root / what, link)
        swapper, agent = Swapper(root / what, link, first, only_once), Agent([str(root)])
        sys.setprofile(swapper)
        try:
            answer = agent.scan("day/a.pcap")
        except nagle_scan.CaptureError:
            told["refused"] += 1
        else:
            assert answer["data"]["packets"] == PACKETS
            told["inside"] += 1
        finally:
            sys.setprofile(None)
        if swapper.count <= first:
            break
    assert all(told.values()), told


@pytest.mark.parametrize("only_once", [False, True])
def test_no_list_has_names_from_outside(only_once: bool, tmp_path: Path) -> None:
    root, outside, link = (tmp_path / name for name in ("root", "outside", "link"))
    for folder, name in ((root / "day", "a.pcap"), (outside / "day", "secret.pcap")):
        folder.mkdir(parents=True)
        shutil.copy(CAPTURES / INSIDE, folder / name)
    link.symlink_to(outside / "day")
    for first in count():
        if not link.is_symlink():
            swap(root / "day", link)
        swapper, agent = Swapper(root / "day", link, first, only_once), Agent([str(root)])
        sys.setprofile(swapper)
        try:
            answer = agent.captures()
        finally:
            sys.setprofile(None)
        assert "secret" not in str(answer)
        if swapper.count <= first:
            break
    if not link.is_symlink():
        swap(root / "day", link)
    assert "a.pcap" in str(Agent([str(root)]).captures())
