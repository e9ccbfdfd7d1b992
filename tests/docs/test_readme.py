"""The README is the first thing a user sees: what it shows must be what happens."""

from __future__ import annotations

import re
import runpy
import tomllib

import readme
from conftest import ROOT
from PIL import Image

README = (ROOT / "README.md").read_text()


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 110


def test_the_picture_shows_the_page_as_it_is_now() -> None:
    digest = runpy.run_path(str(ROOT / "scripts" / "page.py"))["digest"]
    with Image.open(ROOT / "docs" / "report.png") as picture:
        assert picture.info["digest"] == digest(), "run `make page`"


def test_its_formats_are_those_there_are() -> None:
    assert readme.with_formats(README) == README, "run `make readme`"


def test_what_is_told_of_poor_captures_was_measured() -> None:
    text = (ROOT / readme.FULL).read_text()
    assert readme.with_poor(text) == text, "run `make readme`"


def test_every_make_target_it_names_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make (\w+)", README, re.MULTILINE))
    assert named
    assert named <= targets


def test_what_an_index_shows_has_no_links_to_files_beside_it() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["readme"]["text"]
    assert README.split("\n\n")[1].split() == about.split("\n\n")[0].split()
    assert re.findall(r"\]\((?!https:)", about) == []


def test_the_picture_has_the_colours_of_the_page() -> None:
    """A palette that is an average made the red of the verdict brown."""
    style = (ROOT / "analyzer/nagle_scan/templates/report.css").read_text()
    red = re.search(r"--bad: #(\w{6});", style)
    assert red is not None
    colours = Image.open(ROOT / "docs/report.png").convert("RGB").getcolors(1 << 16) or []
    assert tuple(bytes.fromhex(red[1])) in {colour for _, colour in colours}
