#!/usr/bin/env python3
"""Score an analyzer against the truth: score.py [--out DIR] [--only WORD]... [COMMAND...]

COMMAND is run once for each capture, CAPTURE and OUT.json in it replaced by
paths (default: .venv/bin/nagle-scan of this checkout). It must write the JSON
of the project's output contract: connections[].id, .client/.server.nagle,
.stalls[] with sender, rel_seq, cause, confidence. Its exit status does not matter.

Columns: true stalls (held by Nagle for 12 ms or more and released by a pure ACK;
8 to 12 ms count neither way), found, found by confidence (certain/likely/
possible), missed; data: the same for those that data with an ACK in it
released, or an ACK after a retransmission, found of true; false ones by confidence;
short: reported, and really held by Nagle, but for less than 8 ms (the wire shows only
an upper bound);
cause: found with the other cause; nagle: directions whose verdict contradicts
the socket option, and (unknown of all).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from calibration import CONFIDENCES
from scoring import Row, Score, score_capture

HERE = Path(__file__).resolve().parent
NAGLE_SCAN = HERE.parents[1] / ".venv" / "bin" / "nagle-scan"
DEFAULT = [str(NAGLE_SCAN), "CAPTURE", "-o", "OUT.json", "--exit-zero"]
HEAD = (
    f"{'case':38} {'true':>5} {'found':>5} {'by confidence':>14} {'missed':>6} "
    f"{'data':>9} {'false c/l/p':>11} {'short':>5} {'cause':>5} {'nagle':>5} (unknown)"
)


def analyze(command: list[str], capture: Path) -> Row | str:
    """The analyzer's result, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        words = [
            w.replace("CAPTURE", str(capture)).replace("OUT.json", str(result)) for w in command
        ]
        done = subprocess.run(words, capture_output=True, text=True)
        if not result.exists():
            last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            return f"exit {done.returncode}: {last[:150]}"
        answer: Row = json.loads(result.read_text())
        return answer


def run_and_score(command: list[str], truth_file: Path) -> tuple[Row, Score]:
    """The truth of one capture, and how the analyzer did."""
    truth: Row = json.loads(truth_file.read_text())
    result = analyze(command, truth_file.with_name(truth["capture"]))
    if isinstance(result, str):
        score = Score()
        score.counts["failed"] += 1
        score.lines.append(f"FAILED  {truth['name']}: {result}")
        return truth, score
    return truth, score_capture(truth, result)


def row(name: str, counts: Counter[str]) -> str:
    """One line of the table."""
    false = "/".join(str(counts[f"false {c}"]) for c in CONFIDENCES)
    found = "/".join(str(counts[f"found {c}"]) for c in CONFIDENCES)
    data = f"{counts['found by data']}/{counts['true by data']}"
    return (
        f"{name:38} {counts['true']:5} {counts['found']:5} {found:>14} {counts['missed']:6} "
        f"{data:>9} {false:>11} {counts['short']:5} {counts['cause']:5} {counts['nagle']:5} "
        f"({counts['nagle unknown']}/{counts['directions']})"
        + (f"  {counts['failed']} FAILED" if counts["failed"] else "")
    )


def report(scores: dict[str, Score], points: dict[str, Score], limit: int) -> None:
    """Print the table and the lines below it."""
    print(HEAD)
    total = Score()
    for name, score in scores.items():
        print(row(name, score.counts))
        total.add(score)
    print()
    for name, score in sorted(points.items()):
        print(row(f"at {name}", score.counts))
    print(row("ALL", total.counts))
    print(
        f"{total.counts['coincidence']} of the false ones are coincidences: "
        f"the application wrote within 3 ms after the ACK; "
        f"{total.counts['either']} reported waits were the congestion window's "
        f"and might be Nagle's too (not counted)"
    )
    errors = sorted(total.ack_delay_errors)
    if errors:
        middle = errors[len(errors) // 2]
        print(f"ack_delay_ms is off by {middle:.2f} ms in the middle, {errors[-1]:.1f} at most")
    print()
    report_lines(total.lines, limit)


def report_lines(lines: list[str], limit: int) -> None:
    """Print at most so many lines of each kind."""
    kinds = Counter(line.split()[0] for line in lines)
    shown: Counter[str] = Counter()
    for line in lines:
        kind = line.split()[0]
        shown[kind] += 1
        if shown[kind] <= limit:
            print(line)
    print(
        *(f"... and {kinds[k] - limit} more {k} (--limit)" for k in kinds if kinds[k] > limit),
        sep="\n",
    )


def name_of(truth_file: Path) -> str:
    """Case and name of a capture."""
    return f"{truth_file.parent.name}/{truth_file.name.removesuffix('.truth.json')}"


def main() -> int:
    """Score all captures, or the chosen ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument(
        "--only", action="append", default=[], help="captures whose case/name contains this word"
    )
    parser.add_argument("--limit", type=int, default=60, help="lines shown of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = [w for w in arguments.command if w != "--"] or DEFAULT
    if command is DEFAULT and not NAGLE_SCAN.exists():
        parser.error(f"no {NAGLE_SCAN}: run make setup, or name a COMMAND")
    files = sorted(arguments.out.glob("*/*.truth.json"))
    only = arguments.only
    files = [f for f in files if not only or any(word in name_of(f) for word in only)]
    scores: dict[str, Score] = {}
    points: dict[str, Score] = {}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for truth, score in pool.map(lambda f: run_and_score(command, f), files):
            scores.setdefault(truth["case"], Score()).add(score)
            points.setdefault(truth["point"], Score()).add(score)
    report(scores, points, arguments.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
