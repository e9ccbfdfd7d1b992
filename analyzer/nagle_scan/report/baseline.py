"""What `-o result.json` says of a baseline."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from nagle_scan.compare import PERCENTILES, Numbers, Row, compare
from nagle_scan.results import Scan


def members(baseline: Scan, scan: Scan) -> str:
    """The members of the result, as JSON: the baseline's head, and the comparison with it."""
    return json.dumps(_members(baseline, scan))


def _members(baseline: Scan, scan: Scan) -> dict[str, Any]:
    """The baseline's captures, summary and servers, and the comparison with it."""
    head = json.loads(baseline.core.json_head())
    comparison = compare(baseline, scan)
    return {
        "baseline": {name: head[name] for name in ("captures", "summary", "servers")},
        "comparison": {
            "verdict": comparison.verdict,
            "servers": [_row(row) for row in comparison.rows],
        },
    }


def _row(row: Row) -> dict[str, Any]:
    predicted_ms, measured_ms = row.prediction or (None, None)
    return {
        "addr": row.addr,
        "port": row.port,
        "state": row.state,
        "before": _numbers(row.before),
        "after": _numbers(row.after),
        "predicted_p50_ms": predicted_ms,
        "measured_p50_ms": measured_ms,
    }


def _numbers(numbers: Numbers | None) -> dict[str, Any] | None:
    if numbers is None:
        return None
    named = {
        kind: {f"{name}_ms": ms for name, ms in zip(PERCENTILES, values, strict=False)} or None
        for kind, values in (("latency", numbers.latency_ms), ("predicted", numbers.predicted_ms))
    }
    counts = asdict(numbers)
    return {name: counts[name] for name in ("stalls", "stalled_ms", "exchanges")} | named
