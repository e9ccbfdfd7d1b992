"""How a scan and a connection look in a notebook. Everything taken from a capture is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from nagle_scan import _core, timeline
from nagle_scan.report import header, json, notices, verdicts
from nagle_scan.report.formats import FOR_PAGES
from nagle_scan.report.nodelay import IN_EFFECT
from nagle_scan.report.options import Options
from nagle_scan.report.view import View
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.wording import maybe_duration, printable

if TYPE_CHECKING:
    import pandas as pd

    from nagle_scan.result import Result

MAX_CONNECTIONS = 5
MAX_SOCKETS = 5

_PAGES = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_PAGES.filters["printable"] = printable

_SCAN = _PAGES.from_string(
    """\
<div>
<p><strong>{{ verdict }}</strong><br>
<small>{{ paths | printable }}: {{ "{:,}".format(packets) }} packets</small></p>
{% for item in header %}
<p>{{ "" if loop.first else item.head | capitalize ~ ": " }}{{ item.text }}</p>
{% endfor %}
{% for notice in notices %}
<p><small>note: {{ notice | printable }}</small></p>
{% endfor %}
{% if sockets %}
<table>
<thead><tr><th>TCP_NODELAY in effect</th><th>sockets</th><th>connections</th><th>evidence</th></tr>
</thead>
<tbody>
{% for row in sockets %}
<tr><td>{{ row.answer }}</td><td>{{ row.sockets }}</td><td>{{ "{:,}".format(row.connections) }}</td>
<td>{{ row.proof }}</td></tr>
{% endfor %}
</tbody>
</table>
{% endif %}
{{ histogram }}
{% if rows %}
<table>
<thead><tr><th>tcp.stream</th><th>client</th><th>server</th><th>stalls</th><th>lost</th>
<th>mean now</th><th>without stalls</th></tr></thead>
<tbody>
{% for row in rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% if more > 0 %}
<p><small>... and {{ more }} more: <code>scan.connections</code></small></p>
{% endif %}
{% endif %}
</div>
"""
)

_CONNECTION = _PAGES.from_string(
    """\
<div>
<p><strong>{{ verdict }}</strong> (tcp.stream {{ number }})</p>
<table>
<tbody>
{% for name, value in facts %}
<tr><th scope="row">{{ name }}</th><td>{{ value | printable }}</td></tr>
{% endfor %}
</tbody>
</table>
{{ picture }}
</div>
"""
)


_COMPARISON = _PAGES.from_string(
    """\
<div>
<p><strong>{{ sentence }}</strong></p>
{% for prediction in predictions %}
<p>{{ prediction }}</p>
{% endfor %}
{{ table }}
</div>
"""
)


def comparison_html(sentence: str, predictions: Sequence[str], table: pd.DataFrame) -> str:
    """What became of the stalls, and the servers side by side."""
    # pandas escapes the texts.
    shown = Markup(table.set_index("server").T.to_html())
    return _COMPARISON.render(sentence=sentence, predictions=predictions, table=shown)


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
    # The timeline has already escaped the texts in the SVG.
    picture = Markup(timeline.svg("ladder", scan, row.connection))
    return _CONNECTION.render(
        verdict=verdicts.of_connection(row), number=row.connection, facts=facts, picture=picture
    )


def scan_html(scan: Result) -> str:
    """The answer, the sockets, the histogram of waits, the worst connections."""
    view = View(scan, json.LIMITS._replace(sockets=MAX_SOCKETS), Options())
    summary, affected = view.summary, scan.core.affected(MAX_CONNECTIONS)
    rows = [
        (
            row.connection,
            row.client,
            row.server,
            certainty.counts(row),
            certainty.lost(row),
            maybe_duration(row.mean_latency_ms),
            maybe_duration(row.predicted_latency_ms),
        )
        for row in affected
    ]
    return _SCAN.render(
        verdict=verdicts.in_one_line(summary),
        header=header.of(view),
        paths=", ".join(scan.captures),
        packets=summary.packets,
        notices=[notice.text for notice in notices.of(scan)],
        sockets=view.nodelay,
        histogram=_histogram(scan),
        rows=rows,
        more=summary.affected_connections - len(rows),
    )


def _histogram(scan: Result) -> Markup:
    if files.missing(FOR_PAGES):
        return Markup("")
    # The timeline has already escaped the texts in the SVG.
    return Markup(timeline.svg("histogram", scan))
