#!/usr/bin/env python3
"""How accurate the installed nagle-scan is on chains of relays: chain_accuracy.py [FOLDER...]

As accuracy.py, by default over captures/chains, but captures of one leg alone are a group of their
own: a relay that passes on what another held looks there much like a hold, so that may be
suspected, but never said as certain. Captures of several hosts that lack a leg count there too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from accuracy import scored
from accuracy_report import HEAD, Limit, row, share, show_lines
from calibration import CONFIDENCES
from scoring import Row, Score

CHAINS = Path(__file__).resolve().parents[1] / "chains"
LINE = 150  # of a disagreement
WHOLE, CUT = "every leg captured", "a leg missing"


def group(truth: Row) -> str:
    """Which of the two groups a capture belongs to."""
    legs = {connection["server"]["port"] for connection in truth["connections"]}
    return WHOLE if len(legs) == truth["legs"] or not truth["relays"] else CUT


def limits(name: str, counts: Counter[str]) -> Iterator[Limit]:
    """What must be true of a group."""
    false = sum(counts[f"false {c}"] for c in CONFIDENCES)
    true = f"{counts['true']} stalls"
    yield Limit("recall", share(counts["found"], counts["true"]), 0.99, of=true)
    if name == WHOLE:
        reported = counts["found"] + false
        precision = share(counts["found"], reported)
        yield Limit("precision", precision, 0.99, of=f"{reported} reported")
    else:
        certain = counts["false certain"]
        yield Limit("false, and certain", certain, at_most=0, of=f"{false} false")
    yield Limit("TCP_NODELAY verdicts wrong", counts["nagle"], at_most=0)


def said(counts: Counter[str]) -> str:
    """How many of those of each confidence are true."""
    found = {c: (counts[f"found {c}"], counts[f"false {c}"]) for c in CONFIDENCES}
    return ", ".join(f"{c}: {true} of {true + false}" for c, (true, false) in found.items())


def score_folders(folders: list[Path]) -> dict[str, dict[str, Score]]:
    """The score of each case, by group."""
    scores: dict[str, dict[str, Score]] = defaultdict(lambda: defaultdict(Score))
    for file in sorted(f for folder in folders for f in folder.glob("*/*.truth.json")):
        truth, _, score = scored(file)
        scores[group(truth)][truth["case"]].add(score)
    return scores


def show(name: str, cases: dict[str, Score], limit: int) -> bool:
    """Print a group; whether it meets its limits."""
    total = Score()
    for score in cases.values():
        total.add(score)
    print(f"{name}:", HEAD, *(row(c, s.counts) for c, s in cases.items()), sep="\n")
    print(row("ALL", total.counts), end="\n\n")
    print("true of those said to be", said(total.counts), end="\n\n")
    show_lines([line[:LINE] for line in total.lines], limit)
    bounds = list(limits(name, total.counts))
    for bound in bounds:
        verdict, of = "ok  " if bound.is_met else "FAIL", f" of {bound.of}" if bound.of else ""
        print(f"{verdict} {bound.name:34} {bound.text:>9}  ({bound.required}){of}")
    print()
    return all(bound.is_met for bound in bounds)


def main() -> int:
    """Print the accuracy; 1 if it is below a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=int, default=10, help="disagreements shown of each kind")
    parser.add_argument("folders", nargs="*", type=Path, default=[CHAINS])
    arguments = parser.parse_args()
    scores = score_folders(arguments.folders)
    if not scores:
        parser.error(f"no truth files below {', '.join(map(str, arguments.folders))}")
    met = [show(name, scores[name], arguments.limit) for name in sorted(scores)]
    return not all(met)


if __name__ == "__main__":
    sys.exit(main())
