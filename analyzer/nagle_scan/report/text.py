"""The terminal report: the verdict, the connections, the clearest stall, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagle_scan import _core, advice
from nagle_scan.report import held, remedies, sentences, wireshark
from nagle_scan.report.findings import Finding, findings
from nagle_scan.report.layout import (
    Style,
    count,
    duration,
    endpoint,
    headed,
    maybe_duration,
    printable,
    table,
    wrapped,
)
from nagle_scan.results import Scan

MAX_CONNECTIONS = 10
MAX_GROUPS = 5
MAX_SERVERS = 5
MAX_WAITS = 5
MAX_PARTIES = 6
MAX_REMEDIES = 2


def render(whole: Scan, style: Style) -> str:
    """The whole report, without a final newline."""
    scan = whole.core
    summary = scan.summary()
    notices = [
        *sentences.notices(summary),
        *wireshark.numbering(whole.filter is not None, len(whole.paths)),
    ]
    parts = [_header(summary, whole.names, style), *_notices(notices, style)]
    if summary.verdict == "stalls":
        parts += _stalls(scan, summary, whole.paths, style)
    elif summary.verdict == "clean":
        parts += _clean(scan, summary, whole.min_wait_ms, style)
    else:
        reason = sentences.cannot_tell(summary)
        parts.append("\n" + headed("CANNOT TELL", style.bold, reason, style))
    return "\n".join(parts)


def _header(summary: _core.Summary, paths: Sequence[str], style: Style) -> str:
    names = printable(", ".join(paths[:3])) + (f" and {len(paths) - 3} more" * (len(paths) > 3))
    counts = (
        f"{count(summary.packets, 'packet')}, {count(summary.connections, 'TCP connection')}, "
        f"{count(summary.exchanges, 'exchange')}"
    )
    return (
        f"{style.faint}{wrapped(f'nagle-scan {_core.VERSION}: {names}: {counts}', '  ')}{style.end}"
    )


def _notices(notices: Sequence[str], style: Style) -> Iterator[str]:
    for notice in notices:
        lines = wrapped(f"note: {notice}.", "      ")
        yield lines.replace("note:", f"{style.bold}note:{style.end}", 1)


def _stalls(
    scan: _core.Scan, summary: _core.Summary, paths: Sequence[str], style: Style
) -> Iterator[str]:
    groups = scan.groups()
    connections = scan.affected(MAX_CONNECTIONS)
    yield ""
    found = findings(groups)
    for finding in found[:MAX_GROUPS]:
        sentence = f"{held.verdict(finding)} {held.option(finding)}"
        yield headed("STALL", style.bad, sentence, style)
    if len(found) > MAX_GROUPS:
        yield f"       ... and {len(found) - MAX_GROUPS:,} more like these (see -o stalls.csv)"
    cost = sentences.cost(summary)
    if cost is not None:
        yield headed("COST ", style.bold, cost, style)
    yield from _latencies(scan, style)
    yield from _connections(connections, summary, style)
    spared = sentences.first_exchange(connections, groups)
    if spared is not None:
        yield "\n" + wrapped(spared, "")
    clearest = scan.clearest()
    if clearest is not None:
        yield from _clearest(clearest, style)
    yield from _remedies(found, paths, style)
    yield from _options(scan, style)


def _connections(
    rows: Sequence[_core.ConnectionRow], summary: _core.Summary, style: Style
) -> Iterator[str]:
    affected = summary.affected_connections
    yield f"\n{style.bold}Affected connections{style.end} ({affected} of {summary.connections})\n"
    heads = ("stream", "client", "server", "held by", "stalls", "lost", "exchanges", "mean now")
    lines = [(*heads, "without stalls")]
    for row in rows:
        lines.append(
            (
                str(row.id),
                row.client,
                row.server,
                sentences.holder(row),
                str(row.stalls),
                duration(row.stalled_ms),
                str(row.exchanges),
                maybe_duration(row.mean_latency_ms),
                maybe_duration(row.predicted_latency_ms),
            )
        )
    yield from table(lines)
    if affected > len(rows):
        yield f"  ... and {affected - len(rows)} more (see -o result.json)"


def _clearest(stall: _core.WaitRow, style: Style) -> Iterator[str]:
    yield f"\n{style.bold}The clearest stall{style.end} (tcp.stream {stall.connection})\n"
    rows = [("frame", "time", "from", "to", "payload", "")]
    rows += [
        (
            str(frame.frame),
            f"{frame.after_ms:.3f} ms",
            frame.sender,
            frame.receiver,
            f"{frame.length} B",
            frame.what,
        )
        for frame in sentences.frames(stall)
    ]
    yield from table(rows)
    yield f"\n  Why this is {stall.confidence}:"
    for reason in stall.evidence:
        yield wrapped(f"  - {reason}.", "    ")


def _remedies(found: Sequence[Finding], paths: Sequence[str], style: Style) -> Iterator[str]:
    """What to change, for each side that holds something back; its costliest cause decides."""
    for sender, finding in held.by_party(found, MAX_REMEDIES):
        yield from remedies.render(sender, finding, paths, style)


def _latencies(scan: _core.Scan, style: Style) -> Iterator[str]:
    """Percentiles by server, as measured and without the stalls."""
    servers = scan.servers(MAX_SERVERS)
    if not servers:
        return
    yield f"\n{style.bold}Latency by server{style.end} (request's first byte to reply's last)\n"
    rows: list[tuple[str, ...]] = [
        ("server", "exchanges", "", "p50", "p75", "p90", "p95", "p99", "max")
    ]
    for server in servers:
        name = endpoint(server.addr, server.port)
        rows.append((name, f"{server.exchanges:,}", "now", *map(duration, server.latency_ms)))
        if server.stalled_exchanges:
            rows.append(("", "", "without stalls", *map(duration, server.predicted_ms)))
    yield from table(rows)


def _options(scan: _core.Scan, style: Style) -> Iterator[str]:
    """What the wire shows of TCP_NODELAY, whatever the source code says."""
    options = list(sentences.options(scan.nagle(MAX_PARTIES)))
    if not options:
        return
    yield f"\n{style.bold}Is TCP_NODELAY in effect?{style.end}\n"
    rows = [("", "sockets", "connections", "")]
    rows += [(row.answer, row.sockets, f"{row.connections:,}", row.proof) for row in options]
    yield from table(rows)


def _clean(
    scan: _core.Scan, summary: _core.Summary, min_wait_ms: float, style: Style
) -> Iterator[str]:
    yield ""
    yield headed("NO STALL", style.good, sentences.no_stall(summary, min_wait_ms), style)
    yield from _latencies(scan, style)
    yield from _other_waits(scan, min_wait_ms, style)
    yield from _options(scan, style)


def _other_waits(scan: _core.Scan, min_wait_ms: float, style: Style) -> Iterator[str]:
    waits = scan.longest_waits(MAX_WAITS)
    if not waits:
        yield f"\nNo other wait was longer than {min_wait_ms:g} ms beyond the round trip."
        return
    yield f"\n{style.bold}What the waits were instead{style.end}\n"
    causes = [("cause", "by", "waits", "in all", "longest", "")]
    causes += [
        (
            row.cause,
            row.by,
            f"{row.waits:,}",
            duration(row.total_ms),
            duration(row.longest_ms),
            sentences.meaning(row),
        )
        for row in scan.causes()
    ]
    yield from table(causes)
    yield f"\n{style.bold}The longest waits were{style.end}\n"
    rows = [("stream", "wait", "cause", "by", "frames", "")]
    rows += [
        (
            str(wait.connection),
            duration(wait.wait_ms),
            wait.cause,
            wait.by,
            f"{wait.frame_from}-{wait.frame_to}",
            advice.hint(wait),
        )
        for wait in waits
    ]
    yield from table(rows)
