#!/usr/bin/env python3
"""Make captures with known truth: make.py KIND [--out DIR] [--truth-only] [WORD...]

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
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import cases
import chains
import real
import scripted
import truth_rows
import truths
from tools import HERE
from truths import Row

Case = Any  # of the kind


class Kind(NamedTuple):
    """Its cases; which programs one lacks; how one is recorded, and what is true of it."""

    cases: Callable[[], Iterable[Case]]
    missing: Callable[[Case], list[str]]
    record: Callable[[Case, Path], None]
    truth: Callable[[Case, Path], list[Row]]


KINDS = {
    "run": Kind(cases.listed, scripted.missing, scripted.record, truth_rows.of_run),
    "stacks": Kind(cases.stack_cases, scripted.missing, scripted.record, truth_rows.of_run),
    "real": Kind(real.programs, real.missing, real.record, real.truth),
    "chains": Kind(chains.all_chains, lambda _: [], chains.record, chains.truth),
}


def make(kind: Kind, case: Case, out: Path, truth_only: bool) -> None:
    """Record a case and write its truth."""
    folder = out / case.id
    if not truth_only:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kind.record(case, folder)
    rows = kind.truth(case, folder)
    truths.replace(out, case.id, rows)
    stalls = max(len(row["stalls"]) for row in rows)
    print(f"{case.id:44} {stalls:4} stalls, {len(rows)} captures", flush=True)


def main() -> int:
    """Make the captures and their truth; 1 when a case failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--truth-only", action="store_true")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_intermixed_args()
    kind, words, failed = KINDS[arguments.kind], arguments.words, 0
    for case in kind.cases():
        if words and not any(word in case.id for word in words):
            continue
        if missing := kind.missing(case):
            print(f"{case.id:44} left out: no {', '.join(missing)}")
            continue
        try:
            make(kind, case, arguments.out, arguments.truth_only)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{case.id:44} failed: {error}", flush=True)
            failed += 1
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
