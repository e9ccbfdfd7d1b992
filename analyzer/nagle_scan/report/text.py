"""The terminal report: the verdict, the connections, the clearest stall, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.report import header, hops, sentences, verdicts
from nagle_scan.report.stall_frames import frames
from nagle_scan.report.view import Limits, View
from nagle_scan.system.terminal import Style
from nagle_scan.words import certainty
from nagle_scan.words.wording import (
    PERCENTILES,
    count,
    duration,
    endpoint,
    maybe_duration,
    percentiles,
    printable,
    sentence_start,
)

if TYPE_CHECKING:
    from nagle_scan.report.comparison import ShownComparison
    from nagle_scan.report.fixes import Fix
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

SPARE_PERCENTILES = ("p75", "p90", "exchanges", "p95", "lost")
"""Columns to drop on a narrow terminal, in this order."""
SPARE_OF_HOPS = ("passed on", "hop", "lost")
"""Likewise; what is lost stands above the table, too."""
LIMITS = Limits(
    groups=10, fixes=2, connections=10, servers=5, compared=10, waits=5, sockets=6, hops=12
)  # fmt: skip


def render(result: Result, style: Style, options: Options) -> str:
    """The whole report, without a final newline."""
    view = View(result, LIMITS, options)
    parts = [_header(view.summary, result.captures, style)]
    parts += _notices(view.urgent, style)
    if view.comparison is not None:
        parts += _comparison(view.comparison, style)
    parts += ["", *_answer(view, style)]
    if view.summary.stalls:
        parts += _stalls(view, style)
    elif view.summary.verdict == "clean" or view.has_other_waits:
        parts += _rest(view, style)
    if view.notes:
        parts += ["", *_notices(view.notes, style)]
    return "\n".join(parts)


def in_one_line(result: Result, options: Options) -> str:
    """The verdict, or the comparison with the baseline."""
    return View(result, LIMITS, options).in_one_line


def _header(summary: _core.Summary, paths: Sequence[str], style: Style) -> str:
    names = printable(", ".join(paths[:3])) + (f" and {len(paths) - 3} more" * (len(paths) > 3))
    counts = (
        f"{count(summary.packets, 'packet')}, {count(summary.connections, 'TCP connection')}, "
        f"{count(summary.exchanges, 'exchange')}"
    )
    title = f"nagle-scan {_core.VERSION}{verdicts.mark(summary)}"
    header = style.wrapped(f"{title}: {names}: {counts}", "  ")
    return f"{style.faint}{header}{style.end}"


def _notices(notices: Sequence[str], style: Style) -> Iterator[str]:
    for notice in notices:
        lines = style.wrapped(f"note: {notice}.", "      ")
        yield lines.replace("note:", f"{style.bold}note:{style.end}", 1)


def _answer(view: View, style: Style) -> Iterator[str]:
    """Verdict, cost, fix and rest, on the first screen."""
    colours = {"stalls": style.bad, "stalls, minor": style.bad, "clean": style.good}
    items = header.of(view)
    width = max(len(item.head) for item in items)
    for head, text in items:
        yield style.headed(head.upper().ljust(width), colours.get(head, style.bold), text)


def _stalls(view: View, style: Style) -> Iterator[str]:
    if view.groups[1:]:
        yield f"\n{style.bold}Who holds data{style.end}\n"
        yield from style.table(view.group_table())
    if view.groups_more:
        yield f"  ... and {view.groups_more:,} more (see -o stalls.csv)"
    if view.clearest is not None:
        yield from _clearest(view.clearest, style)
    if view.plain_words is not None:
        yield "\n" + style.wrapped(view.plain_words, "")
    for fix in view.fixes_told:
        yield from _fix(fix, style)
    if view.first_exchange is not None:
        yield "\n" + style.wrapped(f"  {view.first_exchange}", "  ")
    yield from _nodelay(view, style)
    yield from _hops(view, style)
    yield from _latencies(view, style)
    yield from _connections(view, style)
    if view.summary.verdict == "possible":
        yield from _other_waits(view, style)


def _rest(view: View, style: Style) -> Iterator[str]:
    """What there is to see without a stall."""
    yield from _hops(view, style)
    yield from _latencies(view, style)
    yield from _other_waits(view, style)
    yield from _nodelay(view, style)


def _hops(view: View, style: Style) -> Iterator[str]:
    """Chains of relays."""
    if view.chains:
        yield f"\n{style.bold}Hop by hop{style.end} (each hop waits for its upstream)"
    for chain in view.chains:
        yield ""
        yield from (style.wrapped(f"  {lead}", "  ") for lead in chain.leads)
        rows = [hops.HEADS, *(hops.cells(hop) for hop in chain.hops)]
        yield from style.table(rows, SPARE_OF_HOPS)
        yield from (style.wrapped(f"  {prediction}", "  ") for prediction in chain.predictions)
    if view.chains_more:
        yield f"  ... and {view.chains_more:,} more hops (see -o result.json)"


def _connections(view: View, style: Style) -> Iterator[str]:
    summary = view.summary
    counts = f"{summary.affected_connections} of {summary.connections}"
    yield f"\n{style.bold}Affected connections{style.end} ({counts})\n"
    heads = ("stream", "client", "server", "held by", "stalls, time lost", "exchanges", "mean now")
    rows = [(*heads, sentences.WITHOUT_STALLS)]
    rows += [
        (
            str(row.connection),
            row.client,
            row.server,
            sentences.holder(row),
            certainty.cell(row),
            str(row.exchanges),
            maybe_duration(row.mean_latency_ms),
            maybe_duration(row.predicted_latency_ms),
        )
        for row in view.connections
    ]
    yield from style.table(rows, ("exchanges", "held by", "client"))
    if view.connections_more:
        yield f"  ... and {view.connections_more} more (see -o result.json)"


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
        for frame in frames(stall)
    ]
    yield from style.table(rows, ("to",))
    yield f"\n  Why this is {stall.confidence}:"
    for reason in stall.evidence:
        yield style.wrapped(f"  - {reason}.", "    ")


def _fix(fix: Fix, style: Style) -> Iterator[str]:
    """The remedies, each followed by its settings."""
    choice = f" ({fix.choice})" if fix.choice else ""
    head = style.wrapped(f"What to change for {fix.sender}{choice}", "")
    yield f"\n{style.bold}{head}{style.end}\n"
    if fix.first:
        yield style.wrapped(f"  {fix.first}", "  ")
    for number, remedy in enumerate(fix.remedies, 1):
        words = f"{sentence_start(fix.where_there(remedy))}: {remedy.what} {remedy.price}".rstrip()
        yield style.wrapped(f"  {number}. {words}", "     ")
        if remedy.known_by:
            yield style.wrapped(f"     {remedy.known_by}", "     ")
        for setting in remedy.settings:
            yield style.wrapped(f"     - {setting}", "       ")
    if fix.test_well:
        yield "\n" + style.wrapped(f"  {fix.test_well}", "  ")


def _latencies(view: View, style: Style) -> Iterator[str]:
    """Percentiles by server, as measured and without the stalls."""
    if not view.servers:
        return
    yield f"\n{style.bold}Latency by server{style.end} (request's first byte to reply's last)\n"
    rows: list[tuple[str, ...]] = [("server", "exchanges", "", *PERCENTILES)]
    for server in view.servers:
        name = endpoint(server.addr, server.port)
        rows.append(
            (
                name,
                f"{server.exchanges:,}",
                "now",
                *percentiles(server.latency_ms, server.exchanges),
            )
        )
        if server.stalled_exchanges:
            rows.append(
                (
                    "",
                    "",
                    sentences.WITHOUT_STALLS,
                    *percentiles(server.predicted_ms, server.exchanges),
                )
            )
    yield from style.table(rows, SPARE_PERCENTILES)
    if view.servers_more:
        yield f"  ... and {view.servers_more:,} more (see -o result.json)"


def _nodelay(view: View, style: Style) -> Iterator[str]:
    """Is TCP_NODELAY in effect on the wire, whatever the source code says?"""
    if not view.nodelay:
        return
    yield f"\n{style.bold}Is TCP_NODELAY in effect?{style.end}\n"
    rows = [("", "sockets", "connections", "")]
    rows += [(row.answer, row.sockets, f"{row.connections:,}", row.proof) for row in view.nodelay]
    yield from style.table(rows)
    if view.nodelay_more:
        yield f"  ... and {view.nodelay_more:,} more"


def _other_waits(view: View, style: Style) -> Iterator[str]:
    if not view.waits:
        yield f"\nNo other wait was longer than {view.min_wait_ms:g} ms beyond the round trip."
        return
    yield f"\n{style.bold}Where the time went instead{style.end}\n"
    causes = [("cause", "sender", "waits", "in all", "longest", "")]
    causes += [
        (
            row.cause,
            row.sender,
            f"{row.waits:,}",
            duration(row.total_ms),
            duration(row.longest_ms),
            meaning,
        )
        for row, meaning in view.causes
    ]
    yield from style.table(causes)
    yield from ("\n" + style.wrapped(f"  {told}", "  ") for told in view.other_waits)
    yield f"\n{style.bold}{view.waits_heading}{style.end}\n"
    rows = [("stream", "wait", "cause", "sender", "frames", "")]
    rows += [
        (
            str(wait.connection),
            duration(wait.wait_ms),
            wait.cause,
            wait.sender,
            f"{wait.frame_from}-{wait.frame_to}",
            meaning,
        )
        for wait, meaning in view.waits
    ]
    yield from style.table(rows)


def _comparison(shown: ShownComparison, style: Style) -> Iterator[str]:
    colours = {
        "clean": style.good,
        "fixed": style.good,
        "inconclusive": style.bold,
        "possible": style.bold,
    }
    colour = colours.get(shown.outcome, style.bad)
    yield "\n" + style.headed(shown.head, colour, shown.text)
    yield style.wrapped(f"(before: {shown.names})", " ")
    yield from (style.wrapped(f"note: {note}.", "      ") for note in shown.notes)
    if shown.table:
        yield "\n" + "\n".join(style.table(shown.table, SPARE_PERCENTILES))
    if shown.more:
        yield f"  ... and {shown.more} more (see -o result.json)"
    yield from ("\n" + style.wrapped(prediction, "") for prediction in shown.predictions)
