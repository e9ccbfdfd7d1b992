"""Measures, for rules.py, what the captures lose and gain by other thresholds.

Runs with the engine for trials, whose thresholds are variables.
"""

from __future__ import annotations

import ast
import csv
import ctypes
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nagle_scan
import truths
from accuracy import CHAINS, LABELLED, PROGRAMS
from accuracy_report import false, told
from nagle_scan import _core
from scoring import result_of, score_capture
from truths import Row

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "rules.tsv"
SIZES = {size: getattr(ctypes, f"c_uint{8 * min(size, 8)}") for size in (1, 2, 4, 8, 16)}
COLUMNS = (
    "true",
    "false",
    "certain, true",
    "certain, false",
    "stalls with a wrong cause",
    "waits with their cause",
    "clean, true",
    "clean, false",
    "inconclusive",
    "TCP_NODELAY, true",
    "TCP_NODELAY, false",
)
ONE_OF = 6
"""Every so many captures is scanned: all of them take an hour."""
OF_A_WHOLE = ("chance", "share", "weight")
"""Units of numbers between 0 and 1."""
Seen = tuple[Row, Counter[str]]


class Trial:
    """The engine for trials, and what the labelled captures say as it is."""

    def __init__(self) -> None:
        """Scan them all."""
        self.engine = ctypes.CDLL(_core.__file__)
        symbols = subprocess.run(
            ["nm", "--dynamic", "--print-size", _core.__file__],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = (line.split() for line in symbols.stdout.splitlines())
        self.sizes = {row[3]: int(row[1], 16) for row in rows if len(row) == 4}
        every = [(f, truth) for f in (LABELLED, CHAINS, PROGRAMS) for truth in truths.read(f)]
        self.captures = every[::ONE_OF]
        self.before: list[Seen] = [({}, Counter())] * len(self.captures)
        self.before = self.seen()

    def seen(self) -> list[Seen]:
        """Result and counts of each capture. A scan mostly waits for its own threads."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(self.scan, range(len(self.captures))))

    def scan(self, index: int) -> Seen:
        """Of one capture. A result that is as before counts as before."""
        folder, truth = self.captures[index]
        scan = nagle_scan.scan(truths.capture(folder, truth), threads=1)
        result = result_of(scan)
        if result == self.before[index][0]:
            return self.before[index]
        return result, counted(truth, result, scan)

    def changes(self, name: str, value: float) -> list[int]:
        """What the captures lose and gain with this value, a number for each column."""
        kind = ctypes.c_double if isinstance(value, float) else SIZES[self.sizes[name]]
        variable = kind.in_dll(self.engine, name)
        as_it_is = variable.value
        variable.value = value
        seen = self.seen()
        variable.value = as_it_is
        differ = [(now, was) for now, was in zip(seen, self.before, strict=True) if now is not was]
        changed = sum((now for (_, now), _ in differ), Counter())
        changed.subtract(sum((was for _, (_, was) in differ), Counter()))
        return [len(differ), *(changed[column] for column in COLUMNS)]


def counted(truth: Row, result: Row, scan: nagle_scan.Scan) -> Counter[str]:
    """What is right and wrong of one capture's result, by column."""
    counts = score_capture(truth, result, scan).counts
    verdict = result["summary"]["verdict"]
    return Counter(
        {
            "true": counts["found"] + counts["found by data"],
            "false": false(counts),
            "certain, true": counts["found certain"],
            "certain, false": counts["false certain"],
            "stalls with a wrong cause": counts["cause"],
            "waits with their cause": counts["waits right"],
            "clean, true": int(verdict == "clean" and not counts["true"]),
            "clean, false": int(verdict == "clean" and counts["true"] > 0),
            "inconclusive": int(verdict == "inconclusive"),
            "TCP_NODELAY, true": told(counts) - counts["nagle"],
            "TCP_NODELAY, false": counts["nagle"],
        }
    )


def values(value: str, unit: str) -> Iterator[float]:
    """Half and double of a value: of two numbers the first, of most of a whole what it lacks of it.

    What is counted is at least 1.
    """
    first = ast.literal_eval(value)
    number = first[0] if isinstance(first, tuple) else first
    for factor in (0.5, 2):
        if isinstance(number, int):
            yield max(1, round(number * factor))
        elif unit in OF_A_WHOLE and number > 0.5:
            yield 1 - (1 - number) * factor
        else:
            yield number * factor


def measure(names: list[str]) -> None:
    """Writes the table anew, or the rows of these names; each as soon as it was measured."""
    trial = Trial()
    rows: dict[tuple[str, str], list[str]] = {}
    if names and TABLE.exists():
        with TABLE.open(newline="") as file:
            rows = {(row[0], row[1]): row for row in list(csv.reader(file, "excel-tab"))[1:]}
    variants = [
        (name, tried, (name, f"{tried:.10g}"))
        for name, value, unit, *_ in _core.thresholds()
        for tried in values(value, unit)
    ]
    for name, tried, key in variants:
        if not names or name in names:
            rows[key] = [*key, *map(str, trial.changes(name, tried))]
            print(*rows[key], flush=True)
            write([rows[key] for *_, key in variants if key in rows])


def write(rows: list[list[str]]) -> None:
    """Writes the table."""
    with TABLE.open("w", newline="") as file:
        table = csv.writer(file, "excel-tab", lineterminator="\n")
        table.writerow(("threshold", "value", "captures that change", *COLUMNS))
        table.writerows(rows)


if __name__ == "__main__":
    measure(sys.argv[1:])
