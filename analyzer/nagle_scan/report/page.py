"""What stands on the page, and how much of it: the worst in full, the rest counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core, advice, messages
from nagle_scan.compare import compare
from nagle_scan.report import held, sentences, verdict, wireshark
from nagle_scan.report.comparison import Beside, beside
from nagle_scan.report.findings import Finding, findings
from nagle_scan.report.fixes import MAX_FIXES, Fix, fixes
from nagle_scan.report.layout import count, duration, file_name, printable
from nagle_scan.report.pictures import Picture, Pictures

if TYPE_CHECKING:
    from nagle_scan.results import Scan

MAX_CAPTURES = 3
MAX_GROUPS = 5
MAX_PARTIES = 12
MAX_SERVERS = 15
MAX_HOPS = 20
MAX_INDEX = 200
MAX_IN_FULL = 10
MAX_STALLS = 3
MAX_WAITS = 20
PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "max")
WORDS = {"stalls": "Stalls found", "clean": "No stall", "inconclusive": "Cannot tell"}


class Figure(NamedTuple):
    """One of the numbers at the top."""

    label: str
    value: str
    note: str


class Connection(NamedTuple):
    """A connection told in full."""

    row: _core.ConnectionRow
    stalls: Sequence[_core.WaitRow]
    messages: Sequence[str]
    """What kinds of message the frames of the clearest stall end and carry."""
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Page:
    """Everything the templates need; they choose nothing."""

    summary: _core.Summary
    min_wait_ms: float
    title: str
    word: str
    captures: Sequence[str]
    captures_more: int
    begin: str
    end: str
    headline: str
    also: Sequence[str]
    also_more: int
    plain: Sequence[str]
    figures: Sequence[Figure]
    beside: Beside | None
    shown: Sequence[Picture]
    fixes: Sequence[Fix]
    first_exchange: str | None
    options: Sequence[sentences.Option]
    options_more: bool
    percentiles: Sequence[str]
    servers: Sequence[_core.ServerRow]
    servers_more: bool
    hops: Sequence[_core.HopRow]
    hops_lead: str
    index: Sequence[_core.ConnectionRow]
    connections: Sequence[Connection]
    in_full: frozenset[int]
    causes: Sequence[_core.CauseRow]
    waits: Sequence[tuple[_core.WaitRow, str]]
    idle_last: bool
    notices: Sequence[str]
    filter: str | None
    numbering: Sequence[str]


def page(scan: Scan, min_wait_ms: float, baseline: Scan | None = None) -> Page:
    """Chooses what the page of `scan` shows."""
    core, summary = scan.core, scan.core.summary()
    groups, index = core.groups(), core.affected(MAX_INDEX)
    found = findings(groups)
    servers, hops = core.servers(MAX_SERVERS + 1), core.hops()[:MAX_HOPS]
    clearest = core.clearest()
    longest = core.longest_waits(MAX_WAITS)
    parties = core.nagle(MAX_PARTIES + 1)
    spared = sentences.first_exchange(index[:MAX_IN_FULL], groups)
    pictures = Pictures(scan)
    # Drawn in the order of their worth: the space is limited.
    shown = [] if summary.verdict == "inconclusive" else pictures.overall(clearest)
    drawn = pictures.of([row.id for row in index[:MAX_IN_FULL]], clearest)
    stalls = [core.stalls_of(row.id, MAX_STALLS) for row in index[:MAX_IN_FULL]]
    told = messages.describe_all(scan, [clearest_first[0] for clearest_first in stalls])
    connections = [
        Connection(row, stalls_of, kinds, drawn[row.id])
        for row, stalls_of, kinds in zip(index, stalls, told, strict=False)
    ]
    return Page(
        summary=summary,
        min_wait_ms=min_wait_ms,
        title=verdict.in_one_line(summary),
        word=WORDS[summary.verdict],
        captures=[_name(path) for path in scan.names[:MAX_CAPTURES]],
        captures_more=max(len(scan.names) - MAX_CAPTURES, 0),
        begin=_time(summary.first_ns),
        end=_time(summary.last_ns),
        headline=_headline(summary, found, min_wait_ms),
        also=[held.verdict(finding) for finding in found[1:MAX_GROUPS]],
        also_more=max(len(found) - MAX_GROUPS, 0),
        plain=_plain(summary, found, longest),
        figures=_figures(summary, longest),
        beside=None if baseline is None else beside(baseline, compare(baseline, scan)),
        shown=shown,
        fixes=fixes(found, scan.paths, spared is not None),
        first_exchange=spared,
        options=_options(summary, parties[:MAX_PARTIES]),
        options_more=len(parties) > MAX_PARTIES,
        percentiles=PERCENTILES,
        servers=servers[:MAX_SERVERS],
        servers_more=len(servers) > MAX_SERVERS,
        hops=hops,
        hops_lead=sentences.hops(hops),
        index=index,
        connections=connections,
        in_full=frozenset(view.row.id for view in connections),
        causes=[row for row in core.causes() if row.cause not in sentences.STALLS],
        waits=[(wait, _meaning(core, wait)) for wait in longest],
        idle_last=_idle_last(longest),
        notices=list(sentences.notices(summary)),
        filter=wireshark.display_filter(clearest, scan.filter is not None) if clearest else None,
        numbering=list(wireshark.numbering(scan.filter is not None, len(scan.paths))),
    )


def _options(summary: _core.Summary, parties: Sequence[_core.NagleRow]) -> list[sentences.Option]:
    """None where nothing can be told: not for want of small pieces, as elsewhere."""
    if summary.verdict == "inconclusive":
        return []
    return list(sentences.options(parties))


def _idle_last(waits: Sequence[_core.WaitRow]) -> bool:
    """Do a client's own pauses follow shorter waits, which kept somebody waiting?"""
    lengths = [wait.wait_ms for wait in waits]
    return lengths != sorted(lengths, reverse=True)


def _meaning(core: _core.Scan, wait: _core.WaitRow) -> str:
    row = core.connection(wait.connection)
    if row is not None and not row.conclusive:
        return "only one direction was captured: a stall would look the same"
    return advice.hint(wait)


def _name(path: str) -> str:
    return "standard input" if path == "-" else printable(file_name(path))


def _time(time_ns: int) -> str:
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{rest_ns // 1_000_000:03d}"


def _headline(summary: _core.Summary, found: Sequence[Finding], min_wait_ms: float) -> str:
    if found:
        return held.verdict(found[0])
    if summary.verdict == "clean":
        return sentences.no_stall(summary, min_wait_ms)
    reason = sentences.cannot_tell(summary)
    return reason[0].upper() + reason[1:]


def _plain(
    summary: _core.Summary, found: Sequence[Finding], longest: Sequence[_core.WaitRow]
) -> list[str]:
    if found:
        options = dict.fromkeys(held.option(finding) for finding in found[:MAX_FIXES])
        return [held.in_plain_words(found[0]), *options]
    if summary.verdict != "clean":
        return []
    below = f" {sentences.WAITS_BELOW}" if longest else ""
    return [sentences.NO_STALL_MEANS + below]


def _figures(summary: _core.Summary, longest: Sequence[_core.WaitRow]) -> list[Figure]:
    if summary.verdict == "stalls":
        return [
            Figure("Stalls", f"{summary.stalls:,}", _where(summary)),
            Figure("Time lost", duration(summary.stalled_ms), _each(summary)),
            Figure("Share of the latency", *_share(summary)),
        ]
    if summary.verdict == "clean":
        return [
            Figure("Stalls", "0", f"in {count(summary.connections, 'connection')}"),
            Figure("Exchanges", f"{summary.exchanges:,}", "requests with their replies"),
            Figure("Longest other wait", *_longest(longest)),
        ]
    return []


def _where(summary: _core.Summary) -> str:
    possible, likely, certain = summary.stalls_by_confidence
    sure = [(certain, "certain"), (likely, "likely"), (possible, "possible")]
    told = ", ".join(f"{number:,} {word}" for number, word in sure if number)
    return (
        f"on {summary.affected_connections:,} of {count(summary.connections, 'connection')}; {told}"
    )


def _each(summary: _core.Summary) -> str:
    return f"about {duration(summary.stalled_ms / summary.stalls)} each"


def _share(summary: _core.Summary) -> tuple[str, str]:
    cost = sentences.cost(summary)
    if cost is None:
        return "-", "A stream of messages rather than requests and replies: no latency to share."
    share = summary.affected_stalled_ms / max(summary.affected_latency_ms, 1e-6)
    return f"{100 * min(share, 1.0):.1f} %", cost


def _longest(waits: Sequence[_core.WaitRow]) -> tuple[str, str]:
    if not waits:
        return "none", "beyond the round trip"
    return duration(waits[0].wait_ms), f"{waits[0].cause}: {advice.hint(waits[0])}"
