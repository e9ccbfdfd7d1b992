"""`-o ticket.md`: the findings in under 60 lines of Markdown, for GitHub, GitLab and Jira."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nagle_scan import _core
from nagle_scan.advice import Setting
from nagle_scan.messages import split
from nagle_scan.report import header, held, hops, sentences, verdicts, wireshark
from nagle_scan.report.ascii_ladder import ladder
from nagle_scan.report.comparison import ShownComparison
from nagle_scan.report.fixes import Fix
from nagle_scan.report.markup import code, escaped, table
from nagle_scan.report.nodelay import NOT_KNOWN
from nagle_scan.report.options import Options
from nagle_scan.report.view import Limits, View
from nagle_scan.result import Result
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.wording import (
    PERCENTILES,
    count,
    duration,
    endpoint,
    file_name,
    maybe_duration,
    percentiles,
    sentence_start,
)

LIMITS = Limits(groups=4, fixes=1, connections=2, servers=2, compared=2, waits=5, sockets=4, hops=7)
MAX_ANSWERS = 2
MAX_NOTES = 2
MAX_REASONS = 3
MAX_NAMES = 3


def write(result: Result, path: str, options: Options) -> None:
    """Writes the ticket. Raises `OutputError`."""
    view = View(result, LIMITS, options)
    files.replace(path, ("\n".join(_lines(view)) + "\n").encode())


def _lines(view: View) -> Iterator[str]:
    if view.comparison is not None:
        yield from _comparison(view.comparison)
    yield f"## {verdicts.in_one_line(view.summary)}"
    yield from _answer(view)
    if view.summary.stalls:
        yield from _stalls(view)
    elif view.summary.verdict == "clean":
        yield from _clean(view)
    yield from _notes([notice.text for notice in view.notices])
    yield ""
    yield _versions(view.result, view.summary)


def _answer(view: View) -> Iterator[str]:
    """Verdict, cost, fix and rest."""
    verdict, *others = header.of(view)
    yield f"- {_marked(view, verdict.text)}"
    yield from (f"- {item.head.capitalize()}: {_marked(view, item.text)}" for item in others)


def _stalls(view: View) -> Iterator[str]:
    groups = view.group_table(code)
    if groups:
        more = f" ({view.groups_more:,} more: -o stalls.csv)" if view.groups_more else ""
        yield f"### Who holds data{more}"
        yield from table(groups[0], "lllll"[: len(groups[0])], groups[1:])
    if view.clearest is not None:
        yield from _clearest(view, view.clearest)
    for fix in view.fixes:
        yield from _fix(fix)
    yield from _nodelay(view)
    yield from _hops(view)
    if not groups:
        yield from _connections(view)
    # The hops have their latency beside them.
    if not view.chains:
        yield from _latencies(view)
    if view.clearest is not None and not view.summary.is_text:
        yield from _wireshark(view, view.clearest)


def _marked(view: View, text: str) -> str:
    """`text` with its addresses as code: Markdown would make emoji of `:100:`."""
    text = escaped(text)
    pairs = [group.worst for group in view.groups]
    ends = [addr for pair in pairs for addr in (pair.sender_addr, pair.receiver_addr)]
    servers = [held.server(pair) for pair in pairs]
    for address in dict.fromkeys((*servers, *ends)):
        # Skip addresses that are code already.
        whole = rf"(?<![\w.:`\[]){re.escape(escaped(address))}(?![\w`]|:[\w:]|\.\d)"
        text = re.sub(whole, code(address), text)
    return text


def _hops(view: View) -> Iterator[str]:
    if view.chains:
        yield "### Hop by hop (each hop waits for its upstream)"
    for chain in view.chains:
        yield from (f"- {escaped(said)}" for said in (*chain.leads, *chain.predictions))
        yield ""
        rows = [hops.cells(hop, code) for hop in chain.hops]
        yield from table(hops.HEADS, "rlllllrrr", rows)


def _connections(view: View) -> Iterator[str]:
    worst = f" (the worst {len(view.connections)})" if view.connections_more else ""
    yield f"### Affected connections{worst}"
    heads = (
        "stream" if view.is_filtered else "tcp.stream",
        "client",
        "server",
        "held by",
        "stalls, time lost",
        "mean now",
    )
    cells = [
        (
            str(row.connection),
            code(row.client),
            code(row.server),
            sentences.holder(row),
            certainty.cell(row),
            maybe_duration(row.mean_latency_ms),
            maybe_duration(row.predicted_latency_ms),
        )
        for row in view.connections
    ]
    yield from table((*heads, sentences.WITHOUT_STALLS), "rllllrr", cells)


def _latencies(view: View) -> Iterator[str]:
    if not view.servers:
        return
    yield "### Latency by server (request's first byte to reply's last)"
    rows: list[Sequence[str]] = []
    for server in view.servers:
        name = code(endpoint(server.addr, server.port))
        exchanges = f"{server.exchanges:,}"
        rows.append((name, exchanges, "now", *percentiles(server.latency_ms, server.exchanges)))
        if server.stalled_exchanges:
            without = percentiles(server.predicted_ms, server.exchanges)
            rows.append((name, exchanges, sentences.WITHOUT_STALLS, *without))
    yield from table(("server", "exchanges", "", *PERCENTILES), "lrl" + "r" * 6, rows)


def _clearest(view: View, stall: _core.WaitRow) -> Iterator[str]:
    yield f"### The clearest stall is {stall.confidence}"
    yield from ("```text", *ladder(stall), "```")
    for said in split.describe(view.result.files, stall):
        yield f"- {escaped(said)}."
    yield from (f"- {escaped(reason)}." for reason in stall.evidence[:MAX_REASONS])
    if view.plain_words is not None:
        yield f"- {_marked(view, view.plain_words)}"
    yield ""


def _fix(fix: Fix) -> Iterator[str]:
    choice = f" ({fix.choice})" if fix.choice else ""
    yield f"### What to change for {fix.named(code)}{choice}"
    if fix.first:
        yield f"{escaped(fix.first)}\n"
    for number, remedy in enumerate(fix.remedies, 1):
        where = sentence_start(fix.where_there(remedy, code))
        yield f"{number}. {where}: {escaped(remedy.what)} {escaped(remedy.price)}"
        if remedy.known_by:
            yield f"   {escaped(remedy.known_by)}"
        yield from (f"   - {_setting(setting)}" for setting in remedy.settings)
    yield ""


def _setting(setting: Setting) -> str:
    """Its source is a link: escaped, an underscore in an address would break it in Jira."""
    note = f"{escaped(setting.note)}; " if setting.note else ""
    knob, source = escaped(f"{setting.program}: {setting.knob}"), escaped(setting.label)
    return f"{knob} ({note}[{source}]({setting.address}))"


def _nodelay(view: View) -> Iterator[str]:
    """Proven answers come first; the heads name the subject, to save a line."""
    rows = sorted(view.nodelay, key=lambda row: row.answer == NOT_KNOWN)[:MAX_ANSWERS]
    if not rows:
        return
    stream = "stream" if view.is_filtered else "tcp.stream"
    cells = [
        (
            row.answer,
            escaped(row.sockets),
            f"{row.connections:,}",
            escaped(row.proof.replace("tcp.stream", stream)),
        )
        for row in rows
    ]
    heads = ("TCP_NODELAY in effect", "sockets", "connections", "evidence")
    yield from table(heads, "llrl", cells)


def _wireshark(view: View, stall: _core.WaitRow) -> Iterator[str]:
    first, last = stall.frame_from, stall.frame_to
    yield "### See it in Wireshark"
    yield f"- in the capture: {code(wireshark.display_filter(stall))}"
    if view.result.can_be_read_again:
        evidence = code(wireshark.evidence_filter(stall))
        yield f"- in `evidence.pcapng`, which numbers frames anew: {evidence}"
    merged = ""
    if len(view.result.captures) > 1:
        merged = "Frame and stream numbers count across all files: merge them first (`mergecap`). "
    yield (
        f"- {merged}Frame {first} is not acknowledged before frame {stall.frame_ack} (`tcp.len` is "
        f"{stall.len_ack}); frame {last} leaves {stall.release_ms:.3f} ms later. Useful columns: "
        "`frame.time_delta_displayed`, `tcp.len`, `tcp.analysis.acks_frame`, "
        "`tcp.analysis.ack_rtt`."
    )


def _clean(view: View) -> Iterator[str]:
    yield from _hops(view)
    yield from _latencies(view)
    if view.waits:
        yield f"### {view.waits_heading}"
        heads = ("tcp.stream", "wait", "cause", "sender", "frames", "")
        rows = [
            (
                str(wait.connection),
                duration(wait.wait_ms),
                code(wait.cause),
                wait.sender,
                f"{wait.frame_from} to {wait.frame_to}",
                escaped(meaning),
            )
            for wait, meaning in view.waits
        ]
        yield from table(heads, "rrllll", rows)
    for told in view.other_waits:
        yield escaped(told)
        yield ""


def _comparison(shown: ShownComparison) -> Iterator[str]:
    yield f"# {shown.head}: {escaped(shown.text)} (before: {code(shown.names)})"
    if shown.table:
        heads, *rows = shown.table
        cells = [tuple(escaped(cell) for cell in row) for row in rows]
        yield from table(heads, "llrrrrrrrrrl", cells)
    yield from (f"- {escaped(prediction)}" for prediction in shown.predictions)
    if shown.predictions or not shown.table:
        yield ""


def _notes(notes: Sequence[str]) -> Iterator[str]:
    yield from (f"- note: {escaped(note)}." for note in notes[: MAX_NOTES - 1])
    if notes[MAX_NOTES - 1 :]:
        more = len(notes) - MAX_NOTES
        told = f" ... and {count(more, 'more note')}" if more > 0 else ""
        yield f"- note: {escaped(notes[MAX_NOTES - 1])}.{told}"


def _versions(result: Result, summary: _core.Summary) -> str:
    names = ", ".join(code(file_name(name)) for name in result.captures[:MAX_NAMES])
    more = f" and {len(result.captures) - MAX_NAMES} more" * (len(result.captures) > MAX_NAMES)
    if result.filter is not None:
        # It may name addresses.
        shown = "of this scan" if result.is_anonymized else code(result.filter)
        more += f" with the filter {shown}"
    packets, connections = summary.packets, summary.connections
    return (
        f"nagle-scan {_core.VERSION}, capture {names}{more}: {count(packets, 'packet')}, "
        f"{count(connections, 'TCP connection')}."
    )
