"""The texts of a page, as a reader sees them."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class _Texts(HTMLParser):
    """The texts of a page, one line for each element."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(" ".join(data.split()))


def text_of(html: str) -> str:
    parser = _Texts()
    parser.feed(html[html.index("<body>") :])
    return " ".join(filter(None, parser.texts))


def section(html: str, name: str) -> str:
    found = re.search(rf'<section id="{name}".*?</section>', html, re.DOTALL)
    assert found, name
    return text_of(f"<body>{found[0]}")
