"""`-o result.sarif`: a finding per server and side that stalls, as SARIF 2.1.0."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nagle_scan import _core
from nagle_scan.report import header, held
from nagle_scan.report.view import Limits, View
from nagle_scan.system import files
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import file_name, sentence_start

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

LIMITS = Limits(groups=1000, fixes=5, connections=0, servers=0, compared=0, waits=0)
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"certain": "error", "likely": "warning", "possible": "note"}
RULES = tuple(cause for cause in causes.CAUSES if cause.is_stall)
PLACES = {cause.name: place for place, cause in enumerate(RULES)}
"""Of a rule among the rules."""


HEAD = f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [\n'.encode()
BETWEEN = b",\n"
TAIL = b"\n]}\n"


def write(result: Result, path: str, options: Options) -> None:
    """Writes the findings. Raises `OutputError`."""
    files.replace(path, HEAD + _json(_run(View(result, LIMITS, options))) + TAIL)


def part(result: Result, options: Options, name: str, number: int) -> bytes:
    """The findings of one capture among several."""
    del number
    return _json(_run(View(result, LIMITS, options)) | _category(name))


def unusable(name: str, reason: str, number: int) -> bytes:
    """A capture that cannot be read, as a failed run."""
    del number
    invocation = {
        "executionSuccessful": False,
        "toolExecutionNotifications": [{"level": "error", "message": {"text": reason}}],
    }
    artifacts = [{"location": {"uri": quote(file_name(name))}}]
    run = {"tool": {"driver": _driver()}, "invocations": [invocation], "artifacts": artifacts}
    return _json(run | {"results": []} | _category(name))


def _category(name: str) -> dict[str, Any]:
    """Code scanning takes only one run of each category from a file."""
    return {"automationDetails": {"id": f"nagle-scan/{name}/"}}


def _json(run: dict[str, Any]) -> bytes:
    return json.dumps(run, indent=1).replace("\x7f", "\\u007f").encode()


def _run(view: View) -> dict[str, Any]:
    captures = json.loads(view.core.json_head())["captures"]
    uris = [quote(file_name(capture["path"])) for capture in captures]
    first_frames = [capture["first_frame"] for capture in captures]
    return {
        "tool": {"driver": _driver()},
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": _notifications(view)}
        ],
        "artifacts": [{"location": {"uri": uri}} for uri in uris],
        "results": [
            _result(view, group, _artifact(group.worst, uris, first_frames))
            for group in view.shown_groups
        ],
    }


def _driver() -> dict[str, Any]:
    return {
        "name": "nagle-scan",
        "version": _core.VERSION,
        "rules": [
            {
                "id": cause.name,
                "shortDescription": {"text": f"{cause.meaning['client']}."},
                "help": {
                    "text": _core.explain(cause.name),
                    "markdown": _core.explain(cause.name),
                },
            }
            for cause in RULES
        ],
    }


def _artifact(
    worst: _core.Group, uris: Sequence[str], first_frames: Sequence[int]
) -> dict[str, Any]:
    """The capture that holds its first frames: they are counted through all captures."""
    frame = worst.frames_split[0][0] if worst.frames_split else 1
    place = max(bisect_right(first_frames, frame) - 1, 0)
    return {"uri": uris[place], "index": place}


def _result(view: View, group: _core.ServerGroup, artifact: dict[str, Any]) -> dict[str, Any]:
    cause, surest = group.worst.cause, certainty.shares(group)[0].word
    return {
        "ruleId": cause,
        "ruleIndex": PLACES[cause],
        "level": LEVELS[surest],
        "message": {"text": f"{view.told(group)} {view.first_remedy(group)}".rstrip()},
        "locations": [{"physicalLocation": {"artifactLocation": artifact}}],
        # The same stall in a later capture is the same finding.
        "partialFingerprints": {"stall/v1": f"{cause} {held.party(group)}"},
        "properties": {
            "confidence": surest,
            "stream": group.worst.connection,
            "frames": [list(pair) for pair in group.worst.frames_split],
            "stalls": group.stalls,
            "stalled_ms": group.stalled_ms,
        },
    }


def _notifications(view: View) -> list[dict[str, Any]]:
    """What a reader must know about the capture; without findings, why there are none."""
    told = [("note", f"{sentence_start(note)}.") for note in (*view.urgent, *view.notes)]
    if not view.summary.stalls:
        level = "note" if view.summary.verdict == "clean" else "warning"
        told[:0] = [(level, item.text) for item in header.of(view)]
    if view.groups_more:
        told.append(("warning", f"{view.groups_more:,} more groups of stalls are not listed."))
    return [{"level": level, "message": {"text": text}} for level, text in told]
