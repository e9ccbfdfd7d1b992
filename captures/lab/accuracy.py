#!/usr/bin/env python3
"""How accurate the installed nagle-scan is: accuracy.py [--markdown] [--limit N] [FOLDER...]

Scans every capture whose truth is in a folder (default: captures/labelled), prints what was found,
missed, false and given a wrong cause, by case and in all, and fails below the limits. A folder
called chains or programs has groups and limits of its own. README.md explains the truth of a
capture, scoring.py which findings count.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import accuracy_report
import pairs
import truths
from accuracy_report import ALL, Groups, group
from calibration import Event
from scoring import Score, is_true_stall, scored
from truths import SIDES, Row

CAPTURES = Path(__file__).resolve().parents[1]
LABELLED, CHAINS, PROGRAMS = (CAPTURES / name for name in ("labelled", "chains", "programs"))
FEW = 3  # true stalls that one connection may have and be called clean


def score_folder(folder: Path) -> tuple[Groups, list[pairs.Pair]]:
    """The score of each case, by group, and the pairs among the captures."""
    scores: Groups = defaultdict(lambda: defaultdict(Score))
    latencies = pairs.Latencies()
    results: dict[str, dict[str, Row]] = defaultdict(dict)
    for truth in truths.read(folder):
        scan, result, score = scored(folder, truth)
        if folder.name == PROGRAMS.name:
            false_clean(truth, result, score)
            if accuracy_report.SUBSCRIBER not in truth["name"]:
                results[truth["case"]][truth["name"]] = result
        latencies.add(truth, scan)
        scores[group(truth, folder)][truth["case"]].add(score)
    for case, of_points in results.items():
        contradictions(of_points, scores[ALL][case])
    return scores, latencies.pairs()


def false_clean(truth: Row, result: Row, score: Score) -> None:
    """Connections called clean and conclusive, although they stall."""
    for connection in result["connections"]:
        number = connection["connection"]
        held = sum(is_true_stall(s) for s in truth["stalls"] if s["connection"] == number)
        if connection["verdict"] == "clean" and connection["conclusive"] and held >= FEW:
            score.counts["false clean"] += 1
            score.lines.append(f"CLEAN   {truth['name']} {number}: {held} stalls")


def contradictions(results: dict[str, Row], score: Score) -> None:
    """Counts results of two points of one run that cannot both be true of a connection."""
    answers: dict[tuple[int, str], set[str]] = defaultdict(set)
    for connection in (c for result in results.values() for c in result["connections"]):
        port = connection["client"]["port"]
        for side in SIDES:
            answers[port, f"{side}'s TCP_NODELAY"].add(connection[side]["nagle"])
        certain = any(s["confidence"] == "certain" for s in connection["stalls"])
        is_clean = connection["verdict"] == "clean" and connection["conclusive"]
        answers[port, "stalls"].add("on" if certain else "off" if is_clean else "unknown")
    for (port, of), found in answers.items():
        if {"on", "off"} <= found:
            score.counts["contradictions"] += 1
            score.lines.append(f"CONTRA  {', '.join(results)} port {port}: {of} {sorted(found)}")


def chain_events() -> list[Event]:
    """Stalls reported of the chains: in most of these captures a relay's other leg is missing.

    Only there does the doubt matter that a relay would look the same.
    """
    return [event for truth in truths.read(CHAINS) for event in scored(CHAINS, truth)[2].events]


def main() -> int:
    """Print the accuracy; 1 if it is below a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--markdown", action="store_true", help="the totals as a Markdown table")
    parser.add_argument("--limit", type=int, default=10, help="disagreements shown of each kind")
    parser.add_argument("folders", nargs="*", type=lambda p: Path(p).resolve(), default=[LABELLED])
    arguments = parser.parse_args()
    is_met = True
    for folder in arguments.folders:
        scores, measured = score_folder(folder)
        if not scores:
            parser.error(f"no {truths.FILE} in {folder}")
        events = chain_events() if folder == LABELLED else []
        report = accuracy_report.Report(folder, scores, measured, events)
        print(report.markdown() if arguments.markdown else report.text(arguments.limit))
        is_met &= report.is_met
    return not is_met


if __name__ == "__main__":
    sys.exit(main())
