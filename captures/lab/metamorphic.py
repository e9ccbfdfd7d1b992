#!/usr/bin/env python3
"""What a verdict may become when its capture is disturbed: metamorphic.py [--sample N] [--update]

Disturbs every labelled capture in every way of disturb.py, mixes it with strangers and with
another capture, scans it and compares what is found with what is true. A disturbance takes
knowledge away and never adds any, so

    may happen       a hold is lost, falls in confidence, or loses its cause; TCP_NODELAY becomes
                     unknown; a verdict becomes inconclusive
    must not happen  something false appears that was not there before ('false')
                     ... and is called certain ('certain'), also what was there before as less
                     a hold becomes certain that was not ('raised')
                     a capture is clean in which holds are left ('clean'; 'clean 3': three or more)
                     TCP_NODELAY gets a wrong answer that it did not have before ('nodelay')
                     the capture is refused

A hold is left if the segment, the ACK that released it and the data before are still captured, in
this order. What is found is traced back by frame, so that it does not matter what became of times,
connection numbers and stream offsets. Of the row 'as it is' every fault counts, of the others only
what the disturbance brought; a capture that was clean before counts again. Files in other formats
than pcap are left out, and no frames are cut to more than 80 bytes: they are shipped with 96.
Drawn with fixed seeds: the same every time. Fails if a number of faults is larger than the one in
metamorphic.txt, which --update writes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from zlib import crc32

import disturb
import nagle_scan
from disturb import DISTURBANCES, MS, Capture, Disturbance, Frames
from scoring import result_of
from traced import Known, Labelled, Ports, is_false, labelled, left, truths_of
from truths import SIDES

LABELLED = Path(__file__).resolve().parents[1] / "labelled"
TABLE = Path(__file__).with_suffix(".txt")
AS_IT_IS = "as it is"
FAULTS = ("false", "certain", "raised", "clean", "clean 3", "nodelay", "refused")
COLUMNS = ("captures", "true", "found", *FAULTS)
MANY = 3
PARTNERS = 30  # looked at for one whose ports are others


@dataclass
class Finding:
    """What was found in a disturbed capture, in the places of the originals."""

    confidence: dict[Known, str] = field(default_factory=dict)
    wrong_options: set[tuple[Ports, int]] = field(default_factory=set)
    verdict: str = ""


def disturbed(own: Labelled, other: Labelled | None = None) -> Iterator[tuple[str, Frames, int]]:
    """Each disturbance, its frames, and of how many captures they are."""
    frames, link = own.capture.frames, own.capture.link
    strangers = partial(disturb.among_strangers, link=link)
    changes: dict[str, Disturbance] = {**DISTURBANCES, "50 SYNs of strangers": strangers}
    for name, change in changes.items():
        dice = Random(f"{own.truth['name']} {name}")
        if changed := change(frames, dice):
            yield name, changed, 1
    if other:
        beside = [replace(f, source=1) for f in other.capture.frames]
        yield "two captures merged", disturb.merged(frames, beside), 2
        yield "merged, clocks of 1 ms and 1 us", disturb.merged(frames, beside, MS), 2


def look(capture: Capture, frames: Frames, parts: list[Labelled], folder: Path) -> Finding:
    """Scan these frames, and trace back what is found."""
    path = folder / "disturbed.pcap"
    disturb.write(path, capture, frames)
    result = result_of(nagle_scan.scan(path, threads=1))
    finding = Finding(verdict=result["summary"]["verdict"])
    for connection in result["connections"]:
        for stall in connection["stalls"]:
            held = frames[stall["frame_held"] - 1]
            where = parts[held.source].traced.places.get(held.number, (-1, "", held.number))
            finding.confidence[held.source, where] = stall["confidence"]
        ports = frozenset(connection[side]["port"] for side in SIDES)
        right = next((part.options[ports] for part in parts if ports in part.options), {})
        for side in SIDES:
            port, said = connection[side]["port"], connection[side]["nagle"]
            if said != "unknown" and said not in right.get(port, {said}):
                finding.wrong_options.add((ports, port))
    return finding


def count(
    finding: Finding, before: Finding, true: set[Known], parts: list[Labelled]
) -> Counter[str]:
    """The numbers of one disturbed capture, beside what was found before."""
    false = {known for known in finding.confidence if is_false(known, parts)}
    new = finding.confidence.keys() - before.confidence.keys()
    sure = certain(finding) - certain(before)
    is_clean = finding.verdict == "clean"
    return Counter(
        {
            "captures": 1,
            "true": len(true),
            "found": len(true & finding.confidence.keys()),
            "false": len(false & new),
            "certain": len(false & sure),
            "raised": len(sure - new - false),
            "clean": int(is_clean and len(true) > 0),
            "clean 3": int(is_clean and len(true) >= MANY),
            "nodelay": len(finding.wrong_options - before.wrong_options),
        }
    )


def certain(finding: Finding) -> set[Known]:
    """What is called certain."""
    return {known for known, confidence in finding.confidence.items() if confidence == "certain"}


def together(own: Finding, other: Finding) -> Finding:
    """What was found in two captures before they were merged."""
    moved = {(1, where): confidence for (_, where), confidence in other.confidence.items()}
    return Finding({**own.confidence, **moved}, own.wrong_options | other.wrong_options)


@cache
def before(folder: Path, number: int) -> Finding:
    """What is found in a capture as it is."""
    own = labelled(folder, number)
    with tempfile.TemporaryDirectory() as scratch:
        return look(own.capture, own.capture.frames, [own], Path(scratch))


def partner(folder: Path, number: int) -> int | None:
    """The next capture with the same link type and unit of time and no port in common."""
    own, many = labelled(folder, number), len(truths_of(folder))
    for step in range(1, min(PARTNERS, many)):
        other = labelled(folder, (number + step) % many)
        kinds = [(one.capture.link, one.capture.is_ns) for one in (own, other)]
        if kinds[0] == kinds[1] and not own.options.keys() & other.options.keys():
            return (number + step) % many
    return None


def score(folder: Path, number: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Of one capture: the numbers of each disturbance, and a line for each fault."""
    own, beside = labelled(folder, number), partner(folder, number)
    parts = [own] if beside is None else [own, labelled(folder, beside)]
    counts: dict[str, Counter[str]] = {}
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, frames, captures in disturbed(own, *parts[1:]):
            mixed = parts[:captures]
            was = before(folder, number) if name != AS_IT_IS else Finding()
            if beside is not None and captures > 1:
                was = together(was, before(folder, beside))
            try:
                finding = look(own.capture, frames, mixed, Path(scratch))
                counts[name] = count(finding, was, left(frames, mixed), mixed)
            except nagle_scan.NagleScanError as error:
                counts[name] = Counter({"captures": 1, "refused": 1})
                lines.append(f"{name}: {own.truth['name']}: {error}")
            faults = ", ".join(f"{counts[name][f]} {f}" for f in FAULTS if counts[name][f])
            lines += [f"{name}: {own.truth['name']}: {faults}"] if faults else []
    return counts, lines


def sampled(folder: Path, most: int) -> list[int]:
    """Numbers of so many captures, picked by a checksum; of all for 0."""
    every = truths_of(folder)

    def checksum(number: int) -> int:
        return crc32(str(every[number]["name"]).encode())

    return sorted(sorted(range(len(every)), key=checksum)[: most or None])


def table(totals: dict[str, Counter[str]]) -> str:
    """A line for each disturbance."""
    head = " " * 31 + "".join(f"{column:>9}" for column in COLUMNS)
    rows = (
        f"{name:31}" + "".join(f"{counts[column]:9}" for column in COLUMNS)
        for name, counts in totals.items()
    )
    return "\n".join((head, *rows)) + "\n"


def read_table(text: str) -> dict[str, Counter[str]]:
    """The numbers of a table."""
    rows = (line.rsplit(maxsplit=len(COLUMNS)) for line in text.splitlines()[1:])
    return {
        name.strip(): Counter(dict(zip(COLUMNS, map(int, numbers), strict=True)))
        for name, *numbers in rows
    }


def more_faults(totals: dict[str, Counter[str]], known: dict[str, Counter[str]]) -> list[str]:
    """What there is more of than is known."""
    return [
        f"{name}: {counts[fault]} {fault}, known are {known[name][fault]}"
        for name, counts in totals.items()
        for fault in FAULTS
        if counts[fault] > known[name][fault]
    ]


def read_arguments() -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="so many captures; default all")
    parser.add_argument("--faults", action="store_true", help="a line for each fault, too")
    parser.add_argument("--update", action="store_true", help="write metamorphic.txt")
    parser.add_argument("folder", nargs="?", type=Path, default=LABELLED)
    return parser.parse_args()


def main() -> int:
    """Print the table; 1 if there are more faults than known."""
    arguments = read_arguments()
    folder = arguments.folder.resolve()
    totals: dict[str, Counter[str]] = {}
    with get_context("spawn").Pool() as pool:
        chosen = sampled(folder, arguments.sample)
        for counts, lines in pool.imap(partial(score, folder), chosen, chunksize=8):
            for name, numbers in counts.items():
                totals.setdefault(name, Counter()).update(numbers)
            if arguments.faults:
                print(*(f"{line}\n" for line in lines), sep="", end="")
    print(table(totals), end="")
    if arguments.update:
        TABLE.write_text(table(totals))
    known = read_table(TABLE.read_text())
    more = more_faults(totals, known) if folder == LABELLED else []
    print(*(f"{line}\n" for line in more), sep="", end="")
    return bool(more)


if __name__ == "__main__":
    sys.exit(main())
