"""`-o report.html`: one self-contained page for a ticket."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

from markupsafe import Markup

from nagle_scan import _core
from nagle_scan.report import hops, sentences, slowest
from nagle_scan.report.nodelay import IN_EFFECT
from nagle_scan.report.page import ConnectionPage, Page
from nagle_scan.report.stall_frames import frames
from nagle_scan.system import files
from nagle_scan.system.templates import ENVIRONMENT
from nagle_scan.words import causes, certainty, colours
from nagle_scan.words.wording import (
    count,
    duration,
    endpoint,
    maybe_duration,
    percentiles,
    sentence_start,
)

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result


ENVIRONMENT.filters |= {
    "count": count,
    "by_share": certainty.shares,
    "counts": certainty.counts,
    "duration": duration,
    "caller": hops.caller,
    "endpoint": endpoint,
    "frames": frames,
    "lost": certainty.lost,
    "in_words": certainty.in_words,
    "holder": sentences.holder,
    "milliseconds": slowest.milliseconds,
    "nodelay": IN_EFFECT.get,
    "maybe_duration": maybe_duration,
    "predicted_ms": sentences.predicted_ms,
    "percentiles": percentiles,
    "place": sentences.place,
    "sentence": lambda text: f"{sentence_start(text)}.",
    "sentence_start": sentence_start,
    "stall_kind": lambda stall: causes.of(stall.cause).words,
    # A number and its unit stay on one line.
    "unbroken": lambda text: re.sub(r"(?<=\d) (?=m?s\b)", "\u00a0", text),
    # '8 certain, 9 likely' breaks at the comma only.
    "shares": lambda text: re.sub("(?<!,) ", "\u00a0", text),
    "share": lambda value, whole: f"{min(value / whole, 1):.3f}" if whole else "0",
}


def write(result: Result, path: str, options: Options) -> None:
    """Writes the page. Raises `OutputError`."""
    files.replace(path, rendered("report.html", Page(result, options)))


def connection_page(result: Result, row: _core.ConnectionRow) -> bytes:
    """The page with this connection, which has stalls, in detail."""
    return rendered("report.html", ConnectionPage(result, row))


def rendered(template: str, page: object) -> bytes:
    """A page that loads nothing: style and script are in it."""
    script = _source("report.js")
    return (
        ENVIRONMENT.get_template(template)
        .render(
            page=page,
            version=_core.VERSION,
            brighter_shades=colours.ON_DARK,
            style=Markup(_source("report.css")),
            script=Markup(script),
            script_hash=_hash(f"\n{script}\n"),
        )
        .encode()
    )


def _source(name: str) -> str:
    """A file of `templates/` as it is."""
    loader = ENVIRONMENT.loader
    assert loader is not None
    return loader.get_source(ENVIRONMENT, name)[0].strip()


def _hash(script: str) -> str:
    """The hash by which a Content-Security-Policy allows a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
