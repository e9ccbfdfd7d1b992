"""Links of the pages lead somewhere on GitHub, too: Sphinx asks only for the site.

External ones cannot be asked: they are only well formed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import parts
import pytest
from conftest import ROOT
from markdown_it import MarkdownIt
from markdown_it.token import Token

PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "bench/README.md")),
    *sorted((ROOT / "captures").glob("*.md")),
    ROOT / "captures" / "lab" / "README.md",
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@cache
def parsed(page: Path) -> list[Token]:
    """With the parts that the site adds: on GitHub, a link to one of them leads to its page."""
    return MarkdownIt("gfm-like", {"linkify": False}).parse(parts.filled(page.read_text()))


def links(page: Path) -> Iterator[str]:
    for token in parsed(page):
        for child in token.children or []:
            if child.type == "link_open":
                yield str(child.attrs["href"])
            elif child.type == "image":
                yield str(child.attrs["src"])


@cache
def anchors(page: Path) -> set[str]:
    """GitHub's anchors: lower case, hyphens for blanks, no punctuation, numbers for repeats."""
    found: Counter[str] = Counter()
    names = set()
    tokens = parsed(page)
    for opened, text in pairwise(tokens):
        if opened.type != "heading_open":
            continue
        words = "".join(child.content for child in text.children or [])
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_and_their_anchors_are_there(name: str) -> None:
    page = ROOT / name
    broken = []
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = page.parent / unquote(parts.path) if parts.path else page
        there = target.exists() and target.resolve().is_relative_to(ROOT)
        if not there or (parts.fragment and parts.fragment not in anchors(target)):
            broken.append(link)
    assert broken == []
