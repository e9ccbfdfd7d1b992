"""What a reader must know of the capture before believing a report."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.wording import count, printable

COARSE_CLOCK_MS = 10.0
"""A coarser clock hides the shortest waits that are reported by default."""


class Notice(NamedTuple):
    """Something to know of the capture, without a full stop."""

    text: str
    is_urgent: bool = False
    """Must it be known before the verdict?"""


def of(summary: _core.Summary, names: Sequence[str]) -> Iterator[Notice]:
    """What the capture does not show, and what was done to it. `names`: of the captures."""
    if summary.anonymized:
        yield Notice(f"addresses anonymized: {summary.anonymized}, keyed")
    for path, warning, is_loss in summary.warnings:
        yield Notice((f"{printable(path)}: " if len(names) > 1 else "") + warning, is_loss)
    if summary.clock_ms >= COARSE_CLOCK_MS:
        times, there = "its timestamps", ""
        if summary.clocks_differ:
            times, there = "timestamps of some captures", " there"
        yield Notice(
            f"{times} come in steps of {summary.clock_ms:g} ms or more: shorter waits cannot "
            f"be seen{there}, and holds cannot be proven",
            is_urgent=True,
        )
    if summary.without_handshake:
        their = "its" if summary.without_handshake == 1 else "their"
        yield Notice(
            f"{count(summary.without_handshake, 'connection')} without {their} handshake: "
            "round trips, windows and the MSS are estimates there"
        )
    if summary.connections_not_listed:
        yield Notice(
            f"{count(summary.connections_not_listed, 'connection')} without data, as of a port "
            "scan or a SYN flood, counted but not listed"
        )
    if summary.servers_not_listed:
        yield Notice(
            f"{count(summary.servers_not_listed, 'server')} that lost least in the totals of the "
            "JSON, not among its servers"
        )
    if summary.waits_not_listed:
        waits = count(summary.waits_not_listed, "wait")
        yield Notice(f"{waits} without a stall counted but not listed")
