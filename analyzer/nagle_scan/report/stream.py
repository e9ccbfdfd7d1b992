"""`--stream N`: one connection on the terminal, judged with all others of its capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.report import sections, sentences, text, verdicts
from nagle_scan.report.nodelay import IN_EFFECT
from nagle_scan.words import causes
from nagle_scan.words.wording import count, duration, maybe_duration, printable, sentence_start

if TYPE_CHECKING:
    from nagle_scan.result import Result
    from nagle_scan.system.terminal import Style

MOST_ROWS = 20
"""Limit on the stalls of a connection, and on its other waits."""


def render(result: Result, number: int, style: Style) -> str:
    """The whole report, without a final newline. Raises `KeyError` for an unknown connection."""
    row = result.row_of(number)
    parts = [_header(result, row, style), "", *_answer(row, style)]
    stalls = result.core.stalls_of(number, MOST_ROWS)
    if stalls:
        parts += text.laid_out(_stalls(row, stalls), style)
        parts += text.clearest(stalls[0], style)
    waits = result.core.longest_waits(MOST_ROWS, number)
    if waits:
        is_elided = result.core.summary().is_elided
        meanings = [(wait, causes.meaning_of(wait, is_elided)) for wait in waits]
        section = sections.waits("Its longest other waits", meanings, sections.PLAIN)
        parts += text.laid_out(section, style)
    return "\n".join(parts)


def in_one_line(row: _core.ConnectionRow) -> str:
    """The verdict, and why there is none."""
    why = {name: reason for name, reason, _ in _core.reasons()}.get(row.hidden, "")
    said = verdicts.of_connection(row)
    return f"{said}: {why}" if why and row.verdict == "inconclusive" else said


def _header(result: Result, row: _core.ConnectionRow, style: Style) -> str:
    names = printable(", ".join(result.captures))
    counts = f"{count(row.segments, 'segment')}, {count(row.exchanges, 'exchange')}"
    ends = f"tcp.stream {row.connection}, {row.client} to {row.server}: {counts}"
    return text.title(f"{names}: {ends}", style)


def _answer(row: _core.ConnectionRow, style: Style) -> Iterator[str]:
    head, _, said = in_one_line(row).partition(": ")
    said = said.partition(": ")[2] or said
    holders = {"both": "both sides"}
    if row.stalls:
        holder = sentences.holder(row)
        said += f", held by {holders.get(holder, f'the {holder}')}"
    facts = [
        (head.upper(), f"{sentence_start(said)}."),
        ("LATENCY", _latency(row)),
        ("NODELAY", f"in effect: client {IN_EFFECT[row.client_nagle]}, server "
         f"{IN_EFFECT[row.server_nagle]}."),
        ("SEEN", f"{sentences.place(row)}; round trip {maybe_duration(row.rtt_ms)}"
         f"{' (of other connections of these hosts)' * row.rtt_borrowed}; MSS "
         f"{row.mss:,} bytes{' (inferred)' * row.mss_inferred}."),
    ]  # fmt: skip
    return text.items([fact for fact in facts if fact[1]], style)


def _latency(row: _core.ConnectionRow) -> str:
    if row.mean_latency_ms is None:
        return ""
    without = ""
    then_ms = sentences.predicted_ms(row)
    if row.stalls and then_ms is not None:
        without = f", about {duration(then_ms)} {sentences.WITHOUT_STALLS}"
    return f"{duration(row.mean_latency_ms)} on average{without}."


def _stalls(row: _core.ConnectionRow, stalls: list[_core.WaitRow]) -> Iterator[sections.Block]:
    more = row.stalls - len(stalls)
    yield sections.Head(
        "Its stalls", f"the clearest first{f'; {more:,} more: -o stalls.csv' * bool(more)}"
    )
    rows: list[sections.Row] = [("held by", "cause", "frames", "wait", "held for", "")]
    rows += [
        (
            stall.sender,
            stall.cause,
            f"{stall.frame_from}, {stall.frame_ack}, {stall.frame_to}",
            duration(stall.wait_ms),
            duration(stall.hold_ms),
            stall.confidence,
        )
        for stall in stalls
    ]
    yield sections.Table(rows)
