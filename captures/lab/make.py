#!/usr/bin/env python3
"""Make captures with known truth: make.py KIND [--out DIR] [--truth-only] [--seed N] [WORD...]

Runs every case of a kind whose id contains one of the WORDs (all without one), each in fresh
network namespaces (so: as root), into DIR/CASE/:
    CAPTURE.pcap(ng)        one per capture point, and the case's extra captures
    client.log server.log   the applications' own logs      wire.log  what the wires did
and writes what is true of the captures into DIR/truth.jsonl, also with --truth-only from captures
made before. A case is left out, with a line that says so, when a program it needs is not there.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chains
import check
import drawn
import real
import scripted
import truth_rows
import truths
from cases import listed, stack_cases
from tools import HERE
from truths import Row

Case = Any  # of the kind


def nothing_missing(_: Case) -> list[str]:
    """It needs what every case needs."""
    return []


def as_found(_: Case, __: Path, found: list[str]) -> list[str]:
    """Whatever check.py complains about counts."""
    return found


@dataclass(frozen=True)
class Kind:
    """Its cases, of the hard ones those of a seed; how one is recorded, and what is true of it."""

    cases: Callable[[int], Iterable[Case]]
    record: Callable[[Case, Path], None]
    truth: Callable[[Case, Path], list[Row]] = truth_rows.of_run
    missing: Callable[[Case], list[str]] = nothing_missing
    complaints: Callable[[Case, Path, list[str]], list[str]] = as_found


KINDS = {
    "run": Kind(lambda seed: [*listed(), *drawn.all_drawn(seed)], scripted.record),
    "stacks": Kind(lambda _: stack_cases(), scripted.record, missing=scripted.missing),
    "real": Kind(
        lambda _: [*real.before_and_after(), *real.as_shipped(), *real.overloaded()],
        real.record,
        real.truth,
        real.missing,
        real.complaints,
    ),
    "chains": Kind(lambda _: chains.all_chains(), chains.record, chains.truth),
}


def make(kind: Kind, case: Case, out: Path, truth_only: bool) -> list[str]:
    """Record a case, write its truth and check it; what is wrong with that."""
    folder = out / case.id
    if not truth_only:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kind.record(case, folder)
    rows = kind.truth(case, folder)
    truths.replace(out, case.id, rows)
    found = [text for row in rows if "leg" not in row for text in check.complaints(out, row)]
    found = kind.complaints(case, folder, found)
    stalls = max(len(row["stalls"]) for row in rows)
    print(f"{case.id:44} {stalls:4} stalls, {len(rows)} captures", *found, sep="\n        ")
    return found


def main() -> int:
    """Make the captures and their truth; 1 when the check complains."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--truth-only", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of the hard cases")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_intermixed_args()
    kind, words, bad = KINDS[arguments.kind], arguments.words, 0
    for case in kind.cases(arguments.seed):
        if words and not any(word in case.id for word in words):
            continue
        if missing := kind.missing(case):
            print(f"{case.id:44} left out: no {', '.join(missing)}")
            continue
        bad += bool(make(kind, case, arguments.out, arguments.truth_only))
        sys.stdout.flush()
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
