"""What a reader must know of the capture before believing a report."""

from __future__ import annotations

from collections.abc import Iterator

from nagle_scan import _core
from nagle_scan.wording import count, printable

COARSE_CLOCK_MS = 10.0
"""A coarser clock hides the shortest waits that are reported by default."""


def of(summary: _core.Summary) -> Iterator[str]:
    """What the capture does not show, and what was done to it; without full stops."""
    if summary.anonymized:
        yield f"addresses anonymized: {summary.anonymized}, keyed"
    several = len({path for path, _ in summary.warnings}) > 1
    for path, warning in summary.warnings:
        yield (f"{printable(path)}: " if several else "") + warning
    if summary.clock_ms >= COARSE_CLOCK_MS:
        times, there = "its timestamps", ""
        if summary.clocks_differ:
            times, there = "timestamps of some captures", " there"
        yield (
            f"{times} come in steps of {summary.clock_ms:g} ms or more: shorter waits cannot "
            f"be seen{there}, and holds cannot be proven"
        )
    if summary.without_handshake:
        their = "its" if summary.without_handshake == 1 else "their"
        yield (
            f"{count(summary.without_handshake, 'connection')} without {their} handshake: "
            "round trips, windows and the MSS are estimates there"
        )
    if summary.connections_not_listed:
        yield (
            f"{count(summary.connections_not_listed, 'connection')} without data, as of a port "
            "scan or a SYN flood, counted but not listed"
        )
    if summary.servers_not_listed:
        yield (
            f"{count(summary.servers_not_listed, 'server')} that lost least in the totals of the "
            "JSON, not among its servers"
        )
    if summary.waits_not_listed:
        yield f"{count(summary.waits_not_listed, 'wait')} without a stall counted but not listed"
