"""Members that Python adds to `-o result.json`, which the engine writes: the words of the reports.

The engine puts the members of one JSON object behind its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nagle_scan import _core
from nagle_scan.compare import compare
from nagle_scan.report import header, notices, verdicts
from nagle_scan.report.view import Limits, View
from nagle_scan.words.reading import READING
from nagle_scan.words.wording import PERCENTILES

if TYPE_CHECKING:
    from nagle_scan.advice import Remedy
    from nagle_scan.compare import Numbers, ServerChange
    from nagle_scan.report.fixes import Fix
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

LIMITS = Limits(groups=20, fixes=20)


def members(result: Result, options: Options) -> str:
    """How it was scanned, the report in words, and the comparison with a baseline, as JSON."""
    members: dict[str, Any] = {
        "version": _core.VERSION,
        "min_wait_ms": float(result.options.min_wait_ms),
        # A filter may name the addresses that are hidden.
        "filter": None if result.is_anonymized else result.options.filter,
        "report": report(result, options),
    }
    members["report"]["notices"] += notices.left_out_of_json(result)
    if options.baseline is not None:
        members |= _compared(options.baseline, result, options)
    # A terminal obeys DEL as well, which `json.dumps` does not escape.
    return json.dumps(members).replace("\x7f", "\\u007f")


def report(result: Result, options: Options) -> dict[str, Any]:
    """The sentences shared by all reports."""
    view = View(result, LIMITS, options)
    return {
        **({} if options.follows else {"reading": list(READING)}),
        "sentence": verdicts.in_one_line(view.summary),
        "sentences": [item.text for item in header.of(view)],
        "notices": [*view.urgent, *view.notes],
        "advice": [_advice(fix, remedy) for fix in view.fixes for remedy in fix.remedies],
    }


def _advice(fix: Fix, remedy: Remedy) -> dict[str, Any]:
    return {
        "sender": fix.sender,
        "receiver": fix.receiver,
        "first": fix.first,
        "where": fix.where(remedy),
        "what": remedy.what,
        "price": remedy.price,
        "known_by": remedy.known_by,
        "settings": [
            {name: getattr(setting, name) for name in ("program", "knob", "note", "address")}
            for setting in remedy.settings
        ],
    }


def _compared(baseline: Result, result: Result, options: Options) -> dict[str, Any]:
    """The baseline's captures, summary and servers, and the comparison with it."""
    head = json.loads(baseline.core.json_head())
    comparison = compare(baseline, result, options.baseline_map)
    return {
        "baseline": {name: head[name] for name in ("captures", "summary", "servers")},
        "comparison": {
            "verdict": comparison.outcome,
            "servers": [_server(change) for change in comparison.servers],
        },
    }


def _server(change: ServerChange) -> dict[str, Any]:
    predicted_ms, latency_ms = change.prediction or (None, None)
    return {
        "addr": change.addr,
        **({"name": change.name} if change.name else {}),
        **({"was": change.was} if change.was else {}),
        "port": change.port,
        "state": change.state,
        **({"proof": change.chances.proof} if change.chances and change.chances.proof else {}),
        "before": _numbers(change.before),
        "after": _numbers(change.after),
        "predicted_p50_ms": predicted_ms,
        "latency_p50_ms": latency_ms,
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
