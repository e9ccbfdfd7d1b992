"""`-o report.html`: one self-contained page for a ticket."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nagle_scan import _core
from nagle_scan.outputs import Options
from nagle_scan.report import files, sentences
from nagle_scan.report.layout import count, duration, endpoint
from nagle_scan.report.page import page
from nagle_scan.timeline.picture import ON_DARK

if TYPE_CHECKING:
    from nagle_scan.results import Scan


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes the page. Raises `OutputError`."""
    files.replace(path, render(scan, options.min_wait_ms, options.baseline).encode())


def render(scan: Scan, min_wait_ms: float, baseline: Scan | None = None) -> str:
    """The page as text."""
    script = _source("report.js")
    return (
        _templates()
        .get_template("report.html")
        .render(
            page=page(scan, min_wait_ms, baseline),
            version=_core.VERSION,
            brighter_shades=ON_DARK,
            style=Markup(_source("report.css")),
            script=Markup(script),
            script_hash=_hash(f"\n{script}\n"),
        )
    )


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("nagle_scan"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": count,
        "duration": duration,
        "endpoint": endpoint,
        "fine_duration": lambda ms: f"{ms:.3f} ms" if ms < 1 else duration(ms),
        "frames": sentences.frames,
        "holder": sentences.holder,
        "maybe_duration": lambda ms: "-" if ms is None else duration(ms),
        "meaning": sentences.meaning,
        "place": sentences.place,
        "sentence": lambda text: f"{_capital(text)}.",
        "sentence_start": _capital,
        "stall_kind": sentences.stall_kind,
        # A number and its unit stay on one line.
        "unbroken": lambda text: re.sub(r"(?<=\d) (?=m?s\b)", "\u00a0", text),
        "share": lambda value, whole: f"{min(value / whole, 1):.3f}" if whole else "0",
    }
    return environment


def _source(name: str) -> str:
    """A file of `templates/` as it is."""
    loader = _templates().loader
    assert loader is not None
    return loader.get_source(_templates(), name)[0].strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _hash(script: str) -> str:
    """As a Content-Security-Policy names a script that may run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
