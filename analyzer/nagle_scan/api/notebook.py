"""How a scan and a connection look in a notebook. Everything taken from a capture is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from nagle_scan import _core, timeline
from nagle_scan.report import header, notices, sections, verdicts
from nagle_scan.report.formats import FOR_PAGES
from nagle_scan.report.nodelay import IN_EFFECT
from nagle_scan.report.options import Options
from nagle_scan.report.sections import Block, Head, Table
from nagle_scan.report.view import Limits, View
from nagle_scan.system import files
from nagle_scan.words.wording import count, maybe_duration, printable, sentence_start

if TYPE_CHECKING:
    import pandas as pd

    from nagle_scan.result import Result

LIMITS = Limits(groups=20, fixes=2, connections=5, sockets=5)


def comparison_html(sentence: str, predictions: Sequence[str], table: pd.DataFrame) -> str:
    """A sentence on the fate of the stalls, and the servers side by side."""
    # pandas escapes the texts.
    servers = table.set_index("server").T.to_html()
    return _page(_strong(sentence), *map(_paragraph, predictions), servers)


def connection_html(scan: Result, row: _core.ConnectionRow) -> str:
    """The verdict on a connection, its numbers and its ladder."""
    facts = [
        ("client", row.client),
        ("server", row.server),
        ("round trip", maybe_duration(row.rtt_ms)),
        ("exchanges", f"{row.exchanges:,}"),
        ("mean latency now", maybe_duration(row.mean_latency_ms)),
        ("without stalls", maybe_duration(row.predicted_latency_ms)),
        ("TCP_NODELAY in effect, client", IN_EFFECT[row.client_nagle]),
        ("TCP_NODELAY in effect, server", IN_EFFECT[row.server_nagle]),
    ]
    return _page(
        _strong(verdicts.of_connection(row), f"tcp.stream {row.connection}"),
        _table(("connection", str(row.connection)), facts),
        _picture("ladder", scan, row.connection),
    )


def scan_html(scan: Result) -> str:
    """The answer, the sockets, the histogram of waits, the worst connections."""
    view = View(scan, LIMITS, Options())
    first, *others = header.of(view)
    read = f"{', '.join(scan.captures)}: {count(view.summary.packets, 'packet')}"
    affected = sections.connections(view, sections.PLAIN) if view.connections else ()
    return _page(
        _strong(verdicts.in_one_line(view.summary), read),
        _paragraph(first.text),
        *(_paragraph(f"{sentence_start(item.head)}: {item.text}") for item in others),
        *(_paragraph(f"note: {notice.text}") for notice in notices.of(scan)),
        *map(_block, sections.nodelay(view, sections.PLAIN)),
        _picture("histogram", scan),
        *map(_block, affected),
    )


def _page(*parts: str) -> str:
    return f"<div>{''.join(parts)}</div>"


def _text(value: object) -> str:
    return escape(printable(str(value)))


def _paragraph(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _strong(text: str, about: str = "") -> str:
    return f"<p><strong>{_text(text)}</strong><br><small>{_text(about)}</small></p>"


def _block(block: Block) -> str:
    match block:
        case Head(words, note):
            return _strong(words, note)
        case Table([heads, *rows]):
            return _table(heads, rows)
    return _paragraph(str(block))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Empty without rows."""
    head = "".join(f"<th>{_text(one)}</th>" for one in heads)
    cells = ("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def _picture(kind: str, scan: Result, connection: int | None = None) -> str:
    """SVG with texts that are escaped already; empty where it cannot be drawn."""
    return "" if files.missing(FOR_PAGES) else timeline.svg(kind, scan, connection)
