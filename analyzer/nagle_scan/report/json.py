"""What a baseline adds to `-o result.json`, which the engine writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nagle_scan.wording import PERCENTILES

if TYPE_CHECKING:
    from nagle_scan.compare import Numbers, ServerChange
    from nagle_scan.report.formats import BaselineMap
    from nagle_scan.result import Result


def members(baseline: Result, result: Result, moved: BaselineMap) -> str:
    """The baseline's captures, summary and servers, and the comparison with it, as JSON."""
    # Only needed with a baseline: importing it takes longer than a small scan.
    import json

    from nagle_scan.compare import compare

    head = json.loads(baseline.core.json_head())
    comparison = compare(baseline, result, moved)
    members = {
        "baseline": {name: head[name] for name in ("captures", "summary", "servers")},
        "comparison": {
            "verdict": comparison.outcome,
            "servers": [_server(change) for change in comparison.servers],
        },
    }
    return json.dumps(members)


def _server(change: ServerChange) -> dict[str, Any]:
    predicted_ms, measured_ms = change.prediction or (None, None)
    return {
        "addr": change.addr,
        "port": change.port,
        "state": change.state,
        "before": _numbers(change.before),
        "after": _numbers(change.after),
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
    counts = {
        "stalls": numbers.stalls,
        "stalled_ms": numbers.stalled_ms,
        "exchanges": numbers.exchanges,
    }
    return counts | named
