#!/usr/bin/env python3
"""How accurate nagle-scan is on real programs: python -m real_programs.accuracy [FOLDER...]

Run in captures/lab; as accuracy.py, by default over captures/programs. Captures filtered to one
subscriber are a group of their own. What the points of one run say must not contradict: neither
TCP_NODELAY on here and off there, nor a connection clean here with certain stalls there.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from accuracy import scored
from accuracy_report import Limit, share, show_lines
from calibration import CONFIDENCES
from scoring import BY_ACK, SURE_MS, Row, Score

from real_programs.table import SUBSCRIBER

PROGRAMS = Path(__file__).resolve().parents[2] / "programs"
HEAD = (
    f"{'case':42} {'files':>5} {'true':>5} {'found':>5} {'false c/l/p':>12} {'short':>5} "
    f"{'precision':>9} {'recall':>6} {'nagle':>5} {'clean':>5} {'contra':>6}"
)
WHOLE, FILTERED = "all connections captured", "one subscriber captured"
FEW = 3  # true stalls that one connection may have and be called clean
Groups = dict[str, dict[str, Score]]


def false_clean(truth: Row, result: Row, score: Score) -> None:
    """Connections called clean and conclusive, although they stall."""
    for connection in result["connections"]:
        held = [
            s
            for s in truth["stalls"]
            if s["connection"] == connection["connection"]
            and s["hold_ms"] >= SURE_MS
            and s["release"] in BY_ACK
        ]
        is_clean = connection["verdict"] == "clean" and connection["conclusive"]
        if is_clean and len(held) >= FEW:
            score.counts["false clean"] += 1
            number = connection["connection"]
            score.lines.append(f"CLEAN   {truth['name']} {number}: {len(held)} stalls")


def contradictions(results: dict[str, Row], score: Score) -> None:
    """What two points of one run say of the same connection and cannot both be true."""
    said: dict[tuple[int, str], set[str]] = defaultdict(set)
    for result in results.values():
        for c in result["connections"]:
            port = c["client"]["port"]
            for side in ("client", "server"):
                said[port, f"{side}'s TCP_NODELAY"].add(c[side]["nagle"])
            certain = any(s["confidence"] == "certain" for s in c["stalls"])
            is_clean = c["verdict"] == "clean" and c["conclusive"]
            said[port, "stalls"].add("on" if certain else "off" if is_clean else "unknown")
    for (port, of), answers in said.items():
        if {"on", "off"} <= answers:
            score.counts["contradictions"] += 1
            score.lines.append(f"CONTRA  {', '.join(results)} port {port}: {of} {sorted(answers)}")


def score_folders(folders: list[Path]) -> Groups:
    """The score of each case, by group."""
    scores: Groups = defaultdict(lambda: defaultdict(Score))
    for folder in sorted(f for above in folders for f in above.iterdir() if f.is_dir()):
        results: dict[str, Row] = {}
        for file in sorted(folder.glob("*.truth.json")):
            truth, result, score = scored(file)
            is_filtered = SUBSCRIBER in truth["name"]
            false_clean(truth, result, score)
            scores[FILTERED if is_filtered else WHOLE][truth["case"]].add(score)
            if not is_filtered:
                results[truth["name"]] = result
        contradictions(results, scores[WHOLE][folder.name])
    return scores


def row(name: str, score: Score) -> str:
    """One line of the table."""
    counts = score.counts
    false = [counts[f"false {c}"] for c in CONFIDENCES]
    precision = share(counts["found"], counts["found"] + sum(false))
    recall = share(counts["found"], counts["true"])
    return (
        f"{name:42} {counts['captures']:5} {counts['true']:5} {counts['found']:5} "
        f"{'/'.join(map(str, false)):>12} {counts['short']:5} {precision:9.3f} {recall:6.3f} "
        f"{counts['nagle']:5} {counts['false clean']:5} {counts['contradictions']:6}"
    )


def show(name: str, cases: dict[str, Score], limit: int) -> bool:
    """Print a group; whether it meets its limits."""
    total = Score()
    for score in cases.values():
        total.add(score)
    print(f"{name}:", HEAD, *(row(case, s) for case, s in cases.items()), sep="\n")
    print(row("ALL", total), end="\n\n")
    show_lines(total.lines, limit)
    counts = total.counts
    false = sum(counts[f"false {c}"] for c in CONFIDENCES)
    bounds = (
        Limit("precision", share(counts["found"], counts["found"] + false), 0.985),
        Limit("recall", share(counts["found"], counts["true"]), 0.985),
        Limit("false, and certain", counts["false certain"], at_most=2),
        Limit("TCP_NODELAY verdicts wrong", counts["nagle"], at_most=0),
        Limit("stalling connections called clean", counts["false clean"], at_most=0),
        Limit("points that contradict", counts["contradictions"], at_most=0),
    )
    for bound in bounds:
        verdict = "ok  " if bound.is_met else "FAIL"
        print(f"{verdict} {bound.name:34} {bound.text:>9}  ({bound.required})")
    print()
    return all(bound.is_met for bound in bounds)


def sentences(scores: Groups) -> str:
    """What docs/report.md says of the shipped ones."""
    said = []
    for name in sorted(scores):
        counts = sum((score.counts for score in scores[name].values()), Counter[str]())
        false = [counts[f"false {confidence}"] for confidence in CONFIDENCES]
        said.append(
            f"With {name}, {counts['found']} of {counts['true']} stalls are found; of "
            f"{counts['found'] + sum(false)} reported {sum(false)} are false, {false[0]} of them "
            f"`certain` and {false[2]} `possible`.\n"
        )
    return "".join(said)


def main() -> int:
    """Print the accuracy; 1 if it is below a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=int, default=10, help="disagreements shown of each kind")
    parser.add_argument("folders", nargs="*", type=Path, default=[PROGRAMS])
    arguments = parser.parse_args()
    scores = score_folders(arguments.folders)
    if not scores:
        parser.error(f"no truth files below {', '.join(map(str, arguments.folders))}")
    met = [show(name, scores[name], arguments.limit) for name in sorted(scores)]
    return not all(met)


if __name__ == "__main__":
    sys.exit(main())
