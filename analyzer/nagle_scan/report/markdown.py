"""`-o ticket.md`: the finding in under 60 lines of Markdown, for GitHub, GitLab and Jira."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nagle_scan import _core, advice, messages
from nagle_scan.compare import compare
from nagle_scan.outputs import Options
from nagle_scan.report import files, held, sentences, wireshark
from nagle_scan.report.comparison import Beside, beside
from nagle_scan.report.findings import Finding, findings
from nagle_scan.report.ladder import ladder
from nagle_scan.report.layout import count, duration, endpoint, file_name, maybe_duration
from nagle_scan.report.markup import code, escaped, table
from nagle_scan.results import Scan

MAX_SENTENCES = 2
MAX_NOTES = 2
MAX_CONNECTIONS = 3
MAX_SERVERS = 2
MAX_WAITS = 5
MAX_REASONS = 3
MAX_NAMES = 3
PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "max")


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes the ticket. Raises `OutputError`."""
    save(scan, path, options.baseline)


def save(scan: Scan, path: str, baseline: Scan | None = None) -> None:
    """Writes the ticket; see `Scan.to_markdown`."""
    content = "\n".join(_lines(scan, baseline)) + "\n"
    files.replace(path, content.encode())


def _lines(scan: Scan, baseline: Scan | None) -> Iterator[str]:
    summary = scan.core.summary()
    if summary.verdict == "stalls":
        yield from _stalls(scan, summary)
    elif summary.verdict == "clean":
        yield from _clean(scan, summary)
    else:
        yield "## Cannot tell whether there are Nagle stalls"
        reason = sentences.cannot_tell(summary)
        yield escaped(reason[0].upper() + reason[1:])
        yield ""
    if baseline is not None:
        yield from _beside(beside(baseline, compare(baseline, scan), MAX_SERVERS))
    yield from _notes(summary)
    yield _versions(scan, summary)


def _stalls(scan: Scan, summary: _core.Summary) -> Iterator[str]:
    found = findings(scan.core.groups())
    yield f"## Nagle's algorithm costs {duration(summary.stalled_ms)} in {_stall_count(summary)}"
    for finding in found[:MAX_SENTENCES]:
        yield f"- {_sentence(finding)}"
    if len(found) > MAX_SENTENCES:
        yield f"- ... and {len(found) - MAX_SENTENCES:,} more like these"
    rows = scan.core.affected(MAX_CONNECTIONS)
    cost = sentences.cost(summary)
    if cost is not None:
        yield f"- {cost}"
    yield ""
    yield from _connections(scan, rows, summary)
    yield from _latencies(scan.core.servers(MAX_SERVERS))
    # Of the worst connection, whose frames are in the evidence file too.
    clearest = scan.core.stalls_of(rows[0].id, 1)[0]
    yield from _clearest(scan, clearest)
    yield from _fix(found[0], scan)
    yield from _wireshark(scan, clearest)


def _stall_count(summary: _core.Summary) -> str:
    connections = f"{summary.affected_connections} of {count(summary.connections, 'connection')}"
    return f"{count(summary.stalls, 'stall')} on {connections}"


def _sentence(finding: Finding) -> str:
    """The report's sentence with its addresses as code: Markdown would make emoji of `:100:`."""
    sentence = escaped(f"{held.verdict(finding)} {held.option(finding)}")
    group = finding.group
    ends = (group.sender_addr, group.receiver_addr)
    servers = [endpoint(addr, group.server_port) for addr in ends]
    for address in dict.fromkeys((*servers, *ends)):
        # Not within an address that is code already.
        whole = rf"(?<![\w.:`\[]){re.escape(escaped(address))}(?![\w:`])(?!\.\d)"
        sentence = re.sub(whole, code(address), sentence)
    return sentence


def _connections(
    scan: Scan, rows: Sequence[_core.ConnectionRow], summary: _core.Summary
) -> Iterator[str]:
    more = summary.affected_connections - len(rows)
    yield "### Affected connections" + (f" (the worst {len(rows)})" if more else "")
    heads = (
        "tcp.stream" if scan.filter is None else "stream",
        "client",
        "server",
        "held by",
        "stalls",
        "lost",
        "mean now",
    )
    cells = [
        (
            str(row.id),
            code(row.client),
            code(row.server),
            sentences.holder(row),
            f"{row.stalls:,}",
            duration(row.stalled_ms),
            maybe_duration(row.mean_latency_ms),
            maybe_duration(row.predicted_latency_ms),
        )
        for row in rows
    ]
    yield from table((*heads, "without stalls"), "rlllrrrr", cells)


def _latencies(servers: Sequence[_core.ServerRow]) -> Iterator[str]:
    if not servers:
        return
    yield "### Latency by server (request's first byte to reply's last)"
    rows: list[Sequence[str]] = []
    for server in servers:
        name = code(endpoint(server.addr, server.port))
        exchanges = f"{server.exchanges:,}"
        rows.append((name, exchanges, "now", *map(duration, server.latency_ms)))
        if server.stalled_exchanges:
            without = map(duration, server.predicted_ms)
            rows.append((name, exchanges, "without stalls", *without))
    yield from table(("server", "exchanges", "", *PERCENTILES), "lrl" + "r" * 6, rows)


def _clearest(scan: Scan, stall: _core.WaitRow) -> Iterator[str]:
    yield "### The clearest stall"
    yield from ("```text", *ladder(stall), "```")
    for said in messages.describe(scan, stall):
        yield f"- {escaped(said)}."
    for reason in stall.evidence[:MAX_REASONS]:
        yield f"- {stall.confidence}: {escaped(reason)}."
    yield ""


def _fix(finding: Finding, scan: Scan) -> Iterator[str]:
    yield "### The fix (the first that you can)"
    for number, remedy in enumerate(advice.for_group(finding.group, scan.paths), 1):
        where = remedy.where.format(sender="{sender}", receiver="{receiver}")
        where = escaped(where).replace(r"\{sender\}", code(held.party(finding)))
        where = where.replace(r"\{receiver\}", code(held.receiver(finding)))
        yield f"{number}. {where}: {escaped(remedy.what)} {escaped(remedy.price)}"
        if remedy.settings:
            yield f"   {escaped(remedy.known_by)}"
        yield from (f"   - {escaped(str(setting))}" for setting in remedy.settings)
    yield ""


def _wireshark(scan: Scan, stall: _core.WaitRow) -> Iterator[str]:
    first, last = stall.frame_from, stall.frame_to
    yield "### See it in Wireshark"
    yield "```text"
    yield wireshark.display_filter(stall, scan.filter is not None)
    yield "```"
    if len(scan.names) > 1:
        yield "Numbers count through all files: join them first, in the order of time (`mergecap`)."
    yield (
        f"Frame {first} is not acknowledged before frame {stall.frame_ack}, a pure ACK (`tcp.len` "
        f"is 0); frame {last} leaves {stall.release_ms:.3f} ms later. Useful columns: "
        "`frame.time_delta_displayed`, `tcp.len`, `tcp.analysis.acks_frame`, "
        "`tcp.analysis.ack_rtt`."
    )
    yield ""


def _clean(scan: Scan, summary: _core.Summary) -> Iterator[str]:
    yield "## No Nagle or delayed-ACK stall"
    yield f"None of {scan.min_wait_ms:g} ms or more in {count(summary.connections, 'connection')}."
    yield ""
    yield from _latencies(scan.core.servers(MAX_SERVERS))
    waits = scan.core.longest_waits(MAX_WAITS)
    if waits:
        yield "### The longest waits were"
        heads = ("tcp.stream", "wait", "cause", "by", "frames", "")
        rows = [
            (
                str(wait.connection),
                duration(wait.wait_ms),
                code(wait.cause),
                wait.by,
                f"{wait.frame_from} to {wait.frame_to}",
                escaped(advice.hint(wait)),
            )
            for wait in waits
        ]
        yield from table(heads, "rrllll", rows)


def _beside(shown: Beside) -> Iterator[str]:
    yield f"### Before and after (before: {code(shown.names)})"
    yield f"{shown.head}: {escaped(shown.text)}"
    if shown.table:
        heads, *rows = shown.table
        cells = [tuple(escaped(cell) for cell in row) for row in rows]
        yield from table(heads, "llrrrrrrrrrl", cells)
    yield from (f"- {escaped(prediction)}" for prediction in shown.predictions)
    yield ""


def _notes(summary: _core.Summary) -> Iterator[str]:
    notes = list(sentences.notices(summary))
    for note in notes[:MAX_NOTES]:
        yield f"- note: {escaped(note)}."
    if len(notes) > MAX_NOTES:
        yield f"- ... and {count(len(notes) - MAX_NOTES, 'more note')}"
    if notes:
        yield ""


def _versions(scan: Scan, summary: _core.Summary) -> str:
    names = ", ".join(code(file_name(name)) for name in scan.names[:MAX_NAMES])
    more = f" and {len(scan.names) - MAX_NAMES} more" * (len(scan.names) > MAX_NAMES)
    if scan.filter is not None:
        # It may name addresses.
        more += f" with the filter {code(scan.filter) if scan.key is None else 'of this scan'}"
    packets, connections = summary.packets, summary.connections
    return (
        f"nagle-scan {_core.VERSION}, capture {names}{more}: {count(packets, 'packet')}, "
        f"{count(connections, 'TCP connection')}."
    )
