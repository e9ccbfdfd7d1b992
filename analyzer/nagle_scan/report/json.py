"""`-o result.json`: the output contract, written by the engine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from nagle_scan.compare import PERCENTILES, Numbers, Row, compare
from nagle_scan.outputs import Options
from nagle_scan.report import files
from nagle_scan.results import Scan


def write(scan: Scan, path: str, options: Options) -> None:
    """Writes schema `nagle-scan/1`. Raises `OutputError`."""
    if options.baseline is None:
        scan.to_json(path)
    else:
        with files.whole(path) as name:
            scan.core.write_json(name, json.dumps(_beside(options.baseline, scan)))


def _beside(baseline: Scan, scan: Scan) -> dict[str, Any]:
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
