#!/usr/bin/env python3
"""Measures what each rule decides: rules.py [--shared FOLDER] [--write] [RULE...]

Scans captures whose truth is known, once with all rules and once without each, and prints what
changes. `make rules` builds an engine that can switch rules off (analyzer/src/rules.rs), and
writes docs/rules.md. Scanned are the shipped captures and those of ../shared, where it exists: of
the ones there without a truth.json only changes are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import scoring
import shared_truth
import truths
from calibration import CONFIDENCES
from nagle_scan import _core
from truths import Row

CAPTURES = Path(__file__).resolve().parents[1]
SHARED = CAPTURES.parents[1] / "shared"
PAGE = CAPTURES.parent / "docs" / "rules.md"
VARIABLE = "NAGLE_SCAN_RULES_OFF"  # analyzer/src/rules.rs
SUFFIXES = {".pcap", ".pcapng", ".cap", ".dmp", ".gz"}
ALL = "all rules"
FEW = 3  # true stalls of a connection that is wrongly called clean
HEAD = """# What each rule decides

`make rules` writes this page: it scans the captures with known truth once with all rules and once
without each. A rule that decides nothing here guards what its sentence says, or goes.

"""
ABOUT = """
*Changes*: captures with truth, and others, whose result is another one without the rule. *Certain*,
*likely*, *possible*: stalls reported that are true, and false. *Causes*: wrong ones of true stalls.
*Waits*: those with their true cause. *Clean*: connections called so that are, and that stall.
*Options*: wrong answers on TCP_NODELAY. All but the first row say what the rule's absence adds.

Captures that lost frames are few here: [metamorphic.py](../captures/lab/metamorphic.py), run in
the same build with `NAGLE_SCAN_RULES_OFF=excuse`, shows what that rule does for them, and what
`echo_unseen` and `clock_bound` do. [rules.rs](../analyzer/src/rules.rs) names the input that shows
what a rule guards which decides little here.
"""
COLUMNS = (
    *("without", "changes", "others", *CONFIDENCES),
    *("causes", "waits", "clean", "options", "what it guards"),
)
Counts = dict[str, int]
Seen = dict[str, tuple[str, Counts | None]]  # by capture: what its result is, and counts


class Case(NamedTuple):
    """A capture, and its truth, if it is known, in this lab's schema or that of ../shared."""

    capture: Path
    truth: Row | None
    is_shared: bool = False


def cases(shared: Path) -> Iterator[Case]:
    """The captures to scan."""
    for folder in (CAPTURES / name for name in ("labelled", "chains", "programs")):
        for truth in truths.read(folder):
            yield Case(truths.capture(folder, truth), truth)
    for folder in sorted(shared.glob("*/")):
        known = dict(shared_truth.read(folder))
        yield from (Case(capture, truth, is_shared=True) for capture, truth in known.items())
        others = {file for file in folder.rglob("*") if file.suffix in SUFFIXES} - known.keys()
        yield from (Case(capture, None) for capture in sorted(others))


# -- one scan of all captures, in a process of its own -------------------------------------------


def scan_all(shared: Path, base: Seen) -> Seen:
    """Results and counts; the latter again only where the result is not that of `base`."""
    seen: Seen = {}
    for case in cases(shared):
        name = str(case.capture)
        try:
            scan = nagle_scan.scan(case.capture, exchanges=True, threads=1)
        except nagle_scan.NagleScanError as error:
            seen[name] = (str(error), None)
            continue
        text = str(scan.render("json"))
        digest = sha256(text.encode()).hexdigest()
        same = base.get(name)
        counts = same[1] if same and same[0] == digest else count(case, scan, json.loads(text))
        seen[name] = (digest, counts)
    return seen


def count(case: Case, scan: nagle_scan.Scan, result: Row) -> Counts | None:
    """Counts of true and false findings of a result; `None` without a truth."""
    if case.truth is None:
        return None
    truth = shared_truth.of_result(case.truth, result) if case.is_shared else case.truth
    score = scoring.score_capture(truth, result, scan).counts
    stalls = Counter(s["connection"] for s in truth["stalls"] if scoring.is_true_stall(s))
    for connection in result["connections"]:
        if connection["verdict"] == "clean" and connection["conclusive"]:
            held = stalls[connection["connection"]]
            score["truly clean"] += held == 0
            score["falsely clean"] += held >= FEW
    return dict(score)


# -- all rules -------------------------------------------------------------------------------------


def without(rules: str, shared: Path, base: Path | None) -> Seen:
    """The results without some rules."""
    command = [sys.executable, __file__, f"--shared={shared}", f"--scan={base or os.devnull}"]
    variables = {**os.environ, VARIABLE: rules}
    done = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE)
    seen: Seen = json.loads(done.stdout)
    return seen


def measured(rules: list[str], shared: Path) -> Iterator[tuple[str, list[str]]]:
    """The rows of the table: a name, and its cells."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        base = without("", shared, None)
        file = Path(folder) / "base.json"
        file.write_text(json.dumps(base))
        known = sum(counts is not None for _, counts in base.values())
        yield ALL, [str(known), str(len(base) - known), *numbers(total(base), {})]
        for rule, seen in zip(
            rules, pool.map(lambda rule: without(rule, shared, file), rules), strict=True
        ):
            yield rule, compared(seen, base)


def compared(seen: Seen, base: Seen) -> list[str]:
    """The cells of a rule: what changes."""
    changed = [name for name in base if seen[name][0] != base[name][0]]
    known = sum(base[name][1] is not None for name in changed)
    cells = [str(number or "") for number in (known, len(changed) - known)]
    return cells + numbers(total(seen), total(base))


def total(seen: Seen) -> Counts:
    """The counts of all captures."""
    counts: Counter[str] = Counter()
    for _, one in seen.values():
        counts.update(one or {})
    return dict(counts)


def numbers(counts: Counts, base: Counts) -> list[str]:
    """Counts, less those of all rules: pairs of true and false ones, and single ones."""
    sign = "+" if base else ""

    def cell(*names: str) -> str:
        more = [counts.get(name, 0) - base.get(name, 0) for name in names]
        return ", ".join(f"{one:{sign}}" for one in more) if any(more) or not base else ""

    words = [cell(f"found {word}", f"false {word}") for word in CONFIDENCES]
    clean = cell("truly clean", "falsely clean")
    return [*words, cell("cause"), cell("waits right"), clean, cell("nagle")]


def row(cells: list[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Print the table, and write the page if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED, help="captures not shipped")
    parser.add_argument("--write", action="store_true", help=f"docs/{PAGE.name}")
    parser.add_argument("--scan", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("rules", nargs="*", help="default: every rule and every cause")
    arguments = parser.parse_args()
    if arguments.scan:
        text = arguments.scan.read_text()
        json.dump(scan_all(arguments.shared, json.loads(text) if text else {}), sys.stdout)
        return 0
    guards = dict(vars(_core).get("RULES", ()))
    if not guards:
        parser.error("this build cannot switch rules off: make rules")
    # The last one is what remains.
    guards |= {cause: f"The [cause](causes.md) `{cause}`." for cause in _core.CAUSES[:-1]}
    guards |= {name: f"Not judged: {why}." for name, why, _ in _core.reasons()}
    lines = [row(list(COLUMNS)), row(["---", *["---:"] * (len(COLUMNS) - 2), "---"])]
    print(*lines, sep="", end="", flush=True)
    for rule, cells in measured(arguments.rules or list(guards), arguments.shared):
        lines.append(row([rule, *cells, guards.get(rule, "")]))
        print(lines[-1], end="", flush=True)
    if arguments.write:
        PAGE.write_text(HEAD + "".join(lines) + ABOUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
