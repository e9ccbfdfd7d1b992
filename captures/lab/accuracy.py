#!/usr/bin/env python3
"""How accurate the installed nagle-scan is: accuracy.py [--markdown] [--limit N] [FOLDER...]

Scans every capture with a truth file below the folders (default: captures/labelled), prints what
was found, missed, false and given a wrong cause, per case and in all, and fails below the limits.
README.md tells what a truth file says; scoring.py and waits.py, what counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import accuracy_report
import calibration
import known
import nagle_scan
import pairs
from scoring import Row, Score, score_capture
from waits import score_waits

CAPTURES = Path(__file__).resolve().parents[1]
LABELLED = CAPTURES / "labelled"


def scan_and_score(truth: Row, capture: Path) -> tuple[Score, nagle_scan.Scan]:
    """Scan one capture and compare it with its truth, its waits too."""
    scan = nagle_scan.scan(capture, exchanges=True)
    result = as_json(scan)
    score = score_capture(truth, result)
    score_waits(truth, result, lambda connection: data(scan, connection), score)
    return score, scan


def scored(truth_file: Path) -> tuple[Row, Row, Score]:
    """A truth, the result of scanning its capture, and how they compare."""
    truth: Row = json.loads(truth_file.read_text())
    result = as_json(nagle_scan.scan(truth_file.with_name(truth["capture"])))
    return truth, result, score_capture(truth, result)


def as_json(scan: nagle_scan.Scan) -> Row:
    """The scan's result as its users read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        scan.to_json(path)
        result: Row = json.loads(path.read_text())
        return result


def data(scan: nagle_scan.Scan, connection: int) -> Iterable[tuple[str, int, int, int]]:
    """Sender, stream offset, length and time of a connection's segments."""
    table = scan.segments(connection)
    columns = (table[name].tolist() for name in ("sender", "rel_seq", "len", "time_ns"))
    return zip(*columns, strict=True)


def score_folders(folders: list[Path]) -> tuple[dict[str, Score], list[pairs.Pair]]:
    """The score of every case, and the pairs among the captures."""
    scores: dict[str, Score] = {}
    before: dict[tuple[str, str], tuple[nagle_scan.Scan, bool]] = {}
    after: dict[tuple[str, str], nagle_scan.Scan] = {}
    for file in sorted(f for folder in folders for f in folder.glob("*/*.truth.json")):
        truth: Row = json.loads(file.read_text())
        score, scan = scan_and_score(truth, file.with_name(truth["capture"]))
        case, name = truth["case"], file.name.removesuffix(".truth.json")
        scores.setdefault(case, Score()).add(score)
        if pairs.is_fixed(case):
            after[pairs.base_name(case), name] = scan
        elif pairs.is_comparable(truth, scan.core.summary().exchanges):
            before[pairs.base_name(case), name] = scan, pairs.has_merged_writes(truth)
    measured = [
        pairs.measure(", ".join(key), scan, after[key], is_bound)
        for key, (scan, is_bound) in before.items()
        if key in after
    ]
    return scores, [pair for pair in measured if pair]


def chain_events() -> Iterable[calibration.Event]:
    """Stalls reported of the chains: in most of these captures a relay's other leg is missing.

    Only there does the doubt matter that a relay would look the same.
    """
    for file in sorted(CAPTURES.glob("chains/*/*.truth.json")):
        yield from scored(file)[2].events


def main() -> int:
    """Print the accuracy; 1 if it is below a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--markdown", action="store_true", help="the totals as a Markdown table")
    parser.add_argument("--limit", type=int, default=10, help="disagreements shown of each kind")
    parser.add_argument("folders", nargs="*", type=Path, default=[LABELLED])
    arguments = parser.parse_args()
    scores, measured = score_folders(arguments.folders)
    if not scores:
        parser.error(f"no truth files below {', '.join(map(str, arguments.folders))}")
    is_lab = arguments.folders == [LABELLED]
    total, missed = known.parted(scores, is_lab)
    if is_lab:
        total.events += chain_events()
    if arguments.markdown:
        counted = len(scores.keys() - known.KNOWN)
        text = accuracy_report.markdown(total, counted, measured)
        print(text + known.markdown(missed))
    else:
        accuracy_report.show(scores, total, measured, arguments.limit)
        print(*known.text(scores, missed), sep="\n")
    bounds = [limit.is_met for limit in accuracy_report.limits(total.counts, measured)]
    return not (all(bounds) and calibration.is_met(total.events))


if __name__ == "__main__":
    sys.exit(main())
