"""Pictures inside pages and notebooks: safe, self-contained, small, and spoken."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib
import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, generated
from nagle_scan import timeline
from pictures import MADE, capture

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("ladder", "sequence", "overview", "histogram")


def svg(kind: str, scan: nagle_scan.Scan) -> str:
    return timeline.svg(kind, scan._result, 0)


def words(text: str) -> list[str]:
    """The texts of an SVG."""
    root = ElementTree.fromstring(text)
    return [element.text or "" for element in root.iter() if element.tag == f"{SVG}text"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MADE)
def test_a_picture_is_well_formed_spoken_and_needs_nothing_else(
    kind: str, name: str, tmp_path: Path
) -> None:
    text = svg(kind, nagle_scan.scan(capture(name, tmp_path)))
    root = ElementTree.fromstring(text)
    assert text.startswith("<svg ")
    assert root.get("role") == "img"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert all(child.text for child in root[:2])
    spoken = (root.get("aria-labelledby") or "").split()
    assert spoken == [child.get("id") for child in root[:2]]
    assert not {element.tag for element in root.iter()} & {f"{SVG}script", f"{SVG}style"}
    for element in root.iter():
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on")
            if attribute.endswith("href"):
                assert value.startswith("#")
            assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)", value))
    assert not re.search(r"https?://(?!www\.w3\.org/(2000/svg|1999/xlink)\")", text)


def test_ids_meet_in_no_page() -> None:
    scan = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")
    page = "".join(timeline.svg(kind, scan._result, number) for kind in KINDS for number in (1, 2))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page)
    assert {one or other for one, other in used} <= set(ids)


def test_sheets_drawn_by_threads_at_once_are_those_drawn_alone(tmp_path: Path) -> None:
    """matplotlib's settings belong to the process: texts became outlines of letters."""
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    paths = [tmp_path / f"{number}.svg" for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(scan.write, paths))
    assert len({path.read_text() for path in paths}) == 1
    assert words(paths[0].read_text())


def test_the_style_of_a_notebook_does_not_change_a_sheet(tmp_path: Path) -> None:
    """A notebook of light lines on black had pictures that nobody could read."""
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    plain, other = tmp_path / "plain.svg", tmp_path / "other.svg"
    scan.write(plain)
    loud: dict[Any, Any] = {
        "font.size": 30.0,
        "lines.color": "red",
        "xtick.color": "white",
        "path.sketch": (9, 9, 9),
    }
    with matplotlib.rc_context(loud):
        before = dict(matplotlib.rcParams)
        scan.write(other)
        assert other.read_text() == plain.read_text()
        assert dict(matplotlib.rcParams) == before


def test_text_takes_the_colour_of_the_page() -> None:
    scan = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap")
    for kind in KINDS:
        root = ElementTree.fromstring(svg(kind, scan))
        looks = [
            one.get("style", "")
            for one in root.iter(f"{SVG}text")
            if one.text not in ("1", "2", "3")
        ]
        assert looks
        assert all("fill: currentColor" in look for look in looks)


def test_a_hundred_thousand_segments_are_a_small_picture(tmp_path: Path) -> None:
    scan = nagle_scan.scan(generated(tmp_path, "stalls", 1, 100_000))
    assert len(scan.stalls) > 19_000
    for kind in KINDS:
        assert len(svg(kind, scan)) < 60_000, kind


def test_the_pictures_of_the_docs_say_what_is_drawn_now() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "pictures.py"))
    for file, draw in (("LADDER", "ladder"), ("DENSITIES", "densities")):
        _, drawn = made[file]
        assert words(drawn.read_text()) == words(made[draw]()), "run `make pictures`"
