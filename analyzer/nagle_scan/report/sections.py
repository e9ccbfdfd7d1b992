"""The sections of a report in words, block by block: text and ticket lay the blocks out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nagle_scan.report import hops, sentences
from nagle_scan.report.slowest import milliseconds
from nagle_scan.words import certainty
from nagle_scan.words.wording import (
    PERCENTILES,
    count,
    duration,
    endpoint,
    maybe_duration,
    percentiles,
    sentence_start,
)

if TYPE_CHECKING:
    from nagle_scan import _core
    from nagle_scan.advice import Setting
    from nagle_scan.report.fixes import Fix
    from nagle_scan.report.view import View

SPARE_OF_LATENCIES = ("p75", "p90", "exchanges", "p95", "lost")
"""Columns of latencies to drop on a narrow terminal, in this order."""
SPARE_OF_HOPS = ("passed on", "hop", "lost")
"""Columns of hops to drop; the lost time stands above the table, too."""
SPARE_OF_CONNECTIONS = ("exchanges", "held by", "client")
"""Columns of connections to drop."""

ABOVE = "(above)"
"""In place of a sentence that was said before."""

T = TypeVar("T")
Row = tuple[str, ...]


class Head(NamedTuple):
    """The heading of a section, and a note in brackets."""

    words: str
    note: str = ""


class Step(NamedTuple):
    """A numbered remedy, its settings, and what in the capture points to them."""

    number: int
    words: str
    known_by: str
    settings: Sequence[str]


class Table(NamedTuple):
    """Heads and rows; the columns that a narrow page leaves out."""

    rows: Sequence[Row]
    spare: Sequence[str] = ()


Block = Head | Step | Table | str
"""Part of a section; a text is a paragraph."""


class Marks(NamedTuple):
    """How a format marks up what comes from a capture: names, other text, settings."""

    name: Callable[[str], str] = str
    text: Callable[[str], str] = str
    setting: Callable[[Setting], str] = str


PLAIN = Marks()
"""Texts for a terminal, as they are."""


def _note(about: str, more: int, file: str) -> str:
    """The brackets of a heading: also how many are not shown, and the file that has them."""
    return "; ".join(filter(None, (about, f"{more:,} more: -o {file}" if more else "")))


def groups(view: View, marks: Marks) -> Iterator[Block]:
    """Who holds data, if these are several."""
    rows = view.group_table(marks.name)
    if rows:
        yield Head("Who holds data", _note("", view.groups_more, "stalls.csv"))
        yield Table(rows)


def fix(fix: Fix, marks: Marks) -> Iterator[Block]:
    """The remedies, each followed by its settings."""
    yield Head(f"What to change for {fix.named(marks.name)}", fix.choice)
    if fix.first:
        yield marks.text(fix.first)
    for number, remedy in enumerate(fix.remedies, 1):
        where = sentence_start(fix.where_there(remedy, marks.name))
        words = f"{where}: {marks.text(remedy.what)} {marks.text(remedy.price)}".rstrip()
        settings = [*map(marks.setting, remedy.settings)]
        yield Step(number, words, marks.text(remedy.known_by), settings)


def nodelay(view: View, marks: Marks) -> Iterator[Block]:
    """Is TCP_NODELAY in effect on the wire, whatever the source code says?"""
    if not view.nodelay:
        return
    yield Head("Is TCP_NODELAY in effect?", _note("", view.nodelay_more, "result.json"))
    rows: list[Row] = [("", "sockets", "connections", "")]
    rows += [
        (row.answer, marks.text(row.sockets), f"{row.connections:,}", marks.text(row.proof))
        for row in view.nodelay
    ]
    yield Table(rows)


def chains(view: View, marks: Marks) -> Iterator[Block]:
    """Chains of relays."""
    if view.chains:
        about = _note("each hop waits for its upstream", view.chains_more, "result.json")
        yield Head("Hop by hop", about)
    for number, chain in enumerate(view.chains):
        yield from [""] * bool(number)
        yield from map(marks.text, chain.leads)
        rows = [hops.HEADS, *(hops.cells(hop, marks.name) for hop in chain.hops)]
        yield Table(rows, SPARE_OF_HOPS)
        yield from map(marks.text, chain.predictions)


def latencies(view: View, marks: Marks) -> Iterator[Block]:
    """Percentiles by server, as measured and without the stalls."""
    if not view.servers:
        return
    about = _note("request's first byte to reply's last", view.servers_more, "result.json")
    yield Head("Latency by server", about)
    rows: list[Row] = [("server", "exchanges", "", *PERCENTILES)]
    for server in view.servers:
        name, exchanges = marks.name(endpoint(server.addr, server.port)), server.exchanges
        rows.append((name, f"{exchanges:,}", "now", *percentiles(server.latency_ms, exchanges)))
        if view.has_prediction(server):
            without = percentiles(server.predicted_ms, exchanges)
            rows.append(("", "", sentences.WITHOUT_STALLS, *without))
    yield Table(rows, SPARE_OF_LATENCIES)


def slowest(view: View, marks: Marks) -> Iterator[Block]:
    """The slowest exchanges and the median one, each as a sum of parts."""
    if view.slowest is None:
        return
    heads, _, has_connecting, exchanges = view.slowest
    yield Head(view.slowest.heading, "in ms; the parts right of the latency add up to it")
    before = ("connecting",) if has_connecting else ()
    rows: list[Row] = [("", "stream", "from frame", *before, "latency", *heads)]
    for row in exchanges:
        connecting = (milliseconds(row.connecting_ms),) * has_connecting
        parts = map(milliseconds, row.parts_ms)
        numbers = str(row.stream), str(row.frame), *connecting, row.latency, *parts
        rows.append((marks.text(row.name), *numbers))
    yield Table(rows, before)


def connections(view: View, marks: Marks) -> Iterator[Block]:
    """The connections with stalls."""
    summary = view.summary
    about = f"{summary.affected_connections:,} of {summary.connections:,}"
    if summary.possible_connections:
        possible = summary.possible_connections
        about += (
            f"; {possible:,} {'other' if possible == 1 else 'others'} with possible stalls only"
        )
    yield Head("Affected connections", _note(about, view.connections_more, "result.json"))
    heads = ("stream", "client", "server", "held by", "stalls, time lost", "exchanges", "mean now")
    rows: list[Row] = [(*heads, sentences.WITHOUT_STALLS)]
    rows += [
        (
            str(row.connection),
            marks.name(row.client),
            marks.name(row.server),
            sentences.holder(row),
            certainty.cell(row),
            f"{row.exchanges:,}",
            maybe_duration(row.mean_latency_ms),
            maybe_duration(sentences.predicted_ms(row)),
        )
        for row in view.connections
    ]
    yield Table(rows, SPARE_OF_CONNECTIONS)


def once(rows: Iterable[tuple[T, str]], said: str) -> Iterator[tuple[T, str]]:
    """Rows with their meanings; those that were `said` are not said again."""
    for row, meaning in rows:
        yield row, ABOVE if meaning in said else meaning
        said += meaning


def causes(view: View, marks: Marks) -> Iterator[Block]:
    """Waits that are no stalls, by cause, and what else there is to say of them."""
    more = view.summary.waits_not_listed
    about = f"{count(more, 'more wait')}, {duration(view.summary.waits_not_listed_ms)}, not listed"
    yield Head("Where the time went instead", about if more else "")
    rows: list[Row] = [("cause", "sender", "waits", "in all", "longest", "")]
    rows += [
        (
            marks.name(row.cause),
            row.sender,
            f"{row.waits:,}",
            duration(row.total_ms),
            duration(row.longest_ms),
            marks.text(meaning),
        )
        for row, meaning in view.causes
    ]
    yield Table(rows)
    yield from map(marks.text, view.other_waits)


def waits(
    heading: str, longest: Sequence[tuple[_core.WaitRow, str]], marks: Marks, said: str = ""
) -> Iterator[Block]:
    """The longest waits without a stall, and what each means, unless that was `said` before."""
    yield Head(heading)
    rows: list[Row] = [("stream", "wait", "cause", "sender", "frames", "")]
    rows += [
        (
            str(wait.connection),
            duration(wait.wait_ms),
            marks.name(wait.cause),
            wait.sender,
            f"{wait.frame_from}-{'end' if wait.ending == 'capture' else wait.frame_to}",
            marks.text(meaning),
        )
        for wait, meaning in once(longest, said)
    ]
    yield Table(rows)
