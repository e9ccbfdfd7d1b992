"""The verdict in one line, for titles."""

from __future__ import annotations

from nagle_scan import _core
from nagle_scan.report.layout import count, duration


def in_one_line(summary: _core.Summary) -> str:
    """What a scan found, without a full stop."""
    connections = count(summary.connections, "connection")
    if summary.verdict == "stalls":
        stalls = count(summary.stalls, "Nagle stall")
        affected = f"{summary.affected_connections:,} of {connections}"
        return f"{stalls}, {duration(summary.stalled_ms)} lost, on {affected}"
    if summary.verdict == "clean":
        return f"No Nagle stall on {connections}"
    return "No verdict: the capture does not tell"


def of_connection(row: _core.ConnectionRow) -> str:
    """What was found on one connection."""
    if row.stalls:
        return f"{count(row.stalls, 'Nagle stall')}, {duration(row.stalled_ms)} lost"
    return "No Nagle stall" if row.conclusive else "No verdict: the capture does not tell"
