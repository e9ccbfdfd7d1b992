"""Words that a stranger chose, by format and place: a user would run what is in them, or get no
report at all.

What each format promises stands beside its check. CSV holds numbers, addresses and words of the
program only, so no cell begins a formula.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import category
from xml.etree import ElementTree

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, called, outputs
from conversation import Conversation, option, pcapng_of_words, records, stalled
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nagle_scan.report import markup, pictures

STALLING = CAPTURES / "jdk-httpserver.pcap"
PRINTED = ROOT / "tests" / "printed" / "names.txt"
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})
BEGINNINGS = (b"", b"GET /", b"HTTP/1.1 200 ", b"\x16\x03\x01", b"*1\r\n$")
"""Beginnings of payload that may be recognised."""

FRAGMENTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</title></style></svg>",
    "<!--",
    "]]>",
    "&lt;&#60;",
    "javascript:alert(1)",
    "](http://example.com)",
    "[x](http://example.com)",
    "`<b>`",
    "``<b>``",
    "|<b>|",
    "http://example.com",
    "@team",
    "#1",
    "|",
    "`",
    "``",
    "\\",
    "**_~~",
    "$\\frac{",
    "$x^2$",
    "{{ 7 * 7 }}",
    "{% x %}",
    "{0}%s",
    "=cmd|' /C calc'!A0",
    '"',
    "'",
    "\r\n",
    "\n\n# x",
    "\x1b[31m",
    "\x07\x7f\x9b2J\u061c\u200f",
    "\u202e",
    "\u2066",
    "\u2028",
    "\ufeff",
    "\ufffe\uffff",
    "\U000e0041",
    "\U0010ffff",
)
WORDS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), min_size=1, max_size=5).map(
    "".join
)
ENCODED = WORDS.map(lambda words: words.encode("utf-8", "replace")) | st.binary(max_size=60)
PLAIN = b"plain"

thorough = settings(
    deadline=None,
    max_examples=int(os.environ.get("NAGLE_SCAN_EXAMPLES", "25")),
    derandomize="NAGLE_SCAN_EXAMPLES" not in os.environ,
)


@pytest.fixture(autouse=True, scope="module")
def _no_pictures() -> Iterator[None]:
    """They say no name but on the sheet, which has a test of its own, and take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "drawn", lambda *_: iter(()))
        yield


Shape = frozenset[Any]
"""The structure of a document, without its texts."""


class Elements(HTMLParser):
    """The elements of a page, with the names of their attributes, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[Any] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, *sorted(name for name, _ in attrs)))
        self.found |= {("to", value) for name, value in attrs if name in ("href", "src")}

    def handle_comment(self, data: str) -> None:
        self.found.add(("comment", data))


def assert_printable(text: str) -> None:
    """No control characters, no escape sequences, no bidi overrides: `wording.printable`."""
    assert not [one for one in text if not one.isprintable() and one != "\n"]


def shape_of_text(content: bytes) -> Shape:
    assert_printable(content.decode())
    return frozenset()


def shape_of_html(content: bytes) -> Shape:
    """No element, no attribute and no link of theirs."""
    elements = Elements()
    elements.feed(content.decode())
    elements.close()
    return frozenset(elements.found)


def shape_of_markdown(content: bytes) -> Shape:
    """No HTML, no link, no image, no heading, no break of a table, as GitHub renders it."""
    text = content.decode()
    assert_printable(text)
    tokens = MARKDOWN.parse(text)
    parts = chain.from_iterable((token, *(token.children or ())) for token in tokens)
    found = {(part.type, part.attrGet("href") or part.attrGet("src")) for part in parts}
    rows = re.findall(r"^\|.*\|$", text, re.MULTILINE)
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    return frozenset(found | {("row", width) for width in widths}) - {("text_special", None)}


def shape_of_json(content: bytes) -> Shape:
    """Nothing a terminal obeys, no lone surrogate, the members that the schema names."""
    obeyed = {one for one in content.decode() if category(one) in ("Cc", "Cf", "Zl", "Zp")}
    assert obeyed <= {"\n"}
    seen: set[str] = set()

    def members(found: dict[str, Any]) -> dict[str, Any]:
        seen.update(found)
        return found

    json.dumps(json.loads(content.decode(), object_hook=members), ensure_ascii=False).encode()
    return frozenset(seen)


def shape_of_xml(content: bytes) -> Shape:
    """Well-formed XML 1.0."""
    root = ElementTree.fromstring(content.decode())
    return frozenset((one.tag, *sorted(one.attrib)) for one in root.iter())


def shape_of_csv(content: bytes) -> Shape:
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert not [cell for row in rows for cell in row if re.match(r"[=+@\t\r]|-[^\d]", cell)]
    return frozenset({len(row) for row in rows})


def shape_of_evidence(content: bytes) -> Shape:
    """Comments are lines of UTF-8."""
    at, kinds = 0, set()
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        kinds.add(kind)
        if kind == 0x0A0D0D0A:
            code, size = struct.unpack_from("<HH", content, at + 24)
            assert code == 1
            assert_printable(content[at + 28 : at + 28 + size].decode())
        at += length
    return frozenset(kinds)


SHAPES: dict[str, Callable[[bytes], Shape]] = {
    "html": shape_of_html,
    "md": shape_of_markdown,
    "json": shape_of_json,
    "xml": shape_of_xml,
    "csv": shape_of_csv,
    "pcapng": shape_of_evidence,
}


def shapes(folder: Path, capture: Path, *options: str | Path) -> dict[str, Shape]:
    """Writes all formats that may hold words, checks them, and tells what they are made of."""
    kinds = [kind for kind in SHAPES if kind != "pcapng" or not capture.name.endswith(".txt")]
    wanted = outputs(*(folder / f"out.{kind}" for kind in kinds))
    status, report = called(capture, *options, *wanted, "--exit-zero")
    assert status == 0, report.decode()
    made = {kind: SHAPES[kind]((folder / f"out.{kind}").read_bytes()) for kind in kinds}
    return {"text": shape_of_text(report), **made}


def named(folder: Path, words: bytes, content: bytes) -> Path:
    """A file of this name, as far as a name can hold it."""
    name = words.replace(b"/", b"").replace(b"\0", b"")[:200].decode(errors="ignore")
    path = folder / f"x{name}"
    path.write_bytes(content)
    return path


def in_names_of_files(folder: Path, words: bytes) -> dict[str, Shape]:
    """The name of a capture and of its baseline."""
    content = STALLING.read_bytes()
    (folder / "before").mkdir()
    before = named(folder / "before", words, content)
    return shapes(folder, named(folder, words, content), "--baseline", before)


def in_names_of_hosts(folder: Path, words: bytes) -> dict[str, Shape]:
    """Hosts in the last packets of printed text, which must have others. A space ends the name."""
    name = b"".join(words.split()) or b"x"
    lines = PRINTED.read_bytes().splitlines(keepends=True)
    last = re.sub(rb"localhost(?=\.3)", lambda _: name, b"".join(lines[-20:]))
    last = re.sub(rb"localhost(?=\.8000)", lambda _: name[::-1], last)
    text = b"".join(lines[:-20]) + last
    return shapes(folder, named(folder, b"some.txt", text))


def in_a_capture(folder: Path, words: bytes) -> dict[str, Shape]:
    """Wherever a pcapng file has room for words, and in payload."""
    payload = BEGINNINGS[len(words) % len(BEGINNINGS)] + words + b"\0"
    rows = [
        # Payload, as much as there is room for.
        (time_ns, frame[:54] + (payload * len(frame))[: max(len(frame) - 54, 0)])
        for time_ns, frame in records(stalled(Conversation()).frames)
    ]
    resolved = bytes([10, 0, 0, 1]) + words.replace(b"\0", b"") + b"\0"
    content = pcapng_of_words(
        lambda *codes: b"".join(option(code, words) for code in codes), rows, resolved
    )
    return shapes(folder, named(folder, PLAIN, content))


PLACES = [in_names_of_files, in_names_of_hosts, in_a_capture]
Place = Callable[[Path, bytes], dict[str, Shape]]


def made(place: Place, words: bytes) -> dict[str, Shape]:
    with tempfile.TemporaryDirectory() as name:
        return place(Path(name), words)


@cache
def plain(place: Place) -> dict[str, Shape]:
    return made(place, PLAIN)


def is_active(part: tuple[Any, ...]) -> bool:
    """Does it do something, or lead somewhere?"""
    doing = {"script", "img", "iframe", "object", "link", "image", "html_inline", "html_block"}
    handlers = {name for name in part[1:] if str(name).startswith("on")}
    return part[0] in doing or part[0] in ("to", "link_open") or bool(handlers)


@pytest.mark.parametrize("place", PLACES)
@thorough
@given(words=ENCODED)
def test_words_are_only_text_in_every_format(place: Place, words: bytes) -> None:
    found = made(place, words[:1000])
    for kind in ("html", "md", "xml"):
        assert not {part for part in found[kind] - plain(place)[kind] if is_active(part)}, kind
    if place is in_names_of_files:
        assert found == plain(place)


@thorough
@given(words=WORDS)
def test_markdown_shows_any_words_literally(words: str) -> None:
    """In a paragraph and in a cell, whatever a ticket may hold one day."""

    def shape(words: str) -> Shape:
        cells = [[markup.escaped(words), markup.code(words)]]
        lines = [f"x {part} x\n" for part in cells[0]] + list(markup.table([("a", "b"), *cells]))
        return shape_of_markdown("\n".join(lines).encode())

    assert shape(words) == shape("plain")


@pytest.mark.parametrize("text", [*FRAGMENTS, "a  b", "$$ ~~ & &amp;"])
def test_escaped_text_reads_as_it_was(text: str) -> None:
    visible = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
    for part in (markup.escaped(text), markup.code(text)):
        (inline,) = (token for token in MARKDOWN.parse(f"x {part} x") if token.type == "inline")
        read = "".join(child.content for child in inline.children or [])
        assert read.replace("\N{BROKEN BAR}", "|") == f"x {visible} x"


@settings(thorough, max_examples=max(2, thorough.max_examples // 10))
@given(words=ENCODED)
def test_a_sheet_and_a_notebook_say_any_name(words: bytes) -> None:
    """`$` begins no formula; SVG is well-formed, and no script is in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scan = nagle_scan.scan(named(folder, words, STALLING.read_bytes()))
        for page in (scan._repr_html_(), scan.connection(0)._repr_html_()):
            assert not [part for part in shape_of_html(page.encode()) if part[0] == "script"]
        scan.write(folder / "out.svg")
        root = ElementTree.fromstring((folder / "out.svg").read_bytes())
    tags = {one.tag.rpartition("}")[2] for one in root.iter()}
    assert not tags & {"script", "a", "foreignObject", "image"}
    assert not [name for one in root.iter() for name in one.attrib if name.startswith("on")]
