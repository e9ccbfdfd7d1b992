#!/usr/bin/env python3
"""Changes of a verdict when its capture is disturbed: metamorphic.py [--sample N] [--update]

Disturbs every labelled capture in every way of disturb.py, scans it and compares what is found with
what is true. A disturbance takes knowledge away and never adds any, so

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
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from random import Random
from zlib import crc32

import disturb
import nagle_scan
import pandas as pd
import truths
from disturb import DISTURBANCES, Capture, Frame
from scoring import holds_of, is_other_wait, is_true_stall, result_of
from truths import SIDES, Place, Row

LABELLED = Path(__file__).resolve().parents[1] / "labelled"
TABLE = Path(__file__).with_suffix(".txt")
FORMATS = (".pcap", ".pcap.gz")  # that can be disturbed
AS_IT_IS = "as it is"
FAULTS = ["false", "certain", "raised", "clean", "clean 3", "nodelay", "refused"]
COLUMNS = ["captures", "true", "found", *FAULTS]
MANY = 3
Socket = tuple[frozenset[int], int]  # both ports of its connection, and its own


@dataclass(frozen=True)
class Labelled:
    """A capture with a truth that is known frame by frame."""

    truth: Row
    capture: Capture
    places: dict[int, Place]  # of frames with data
    needs: dict[Place, tuple[int, int, int]]  # frames of the data before, the ACK, the segment
    holds: dict[Place, Row]
    options: dict[Socket, set[str]]  # right answers on TCP_NODELAY

    def is_false(self, where: Place) -> bool:
        """Nothing was held there, and the wire can tell."""
        return where not in self.holds and not any(
            is_other_wait(self.truth, where, flag) for flag in ("nagle_too", "undecidable")
        )

    def left(self, frames: Sequence[Frame]) -> set[Place]:
        """The true stalls that the frames still show."""
        at: dict[int, int] = {}
        for index, frame in enumerate(frames):
            at.setdefault(frame.number, index)
        found: set[Place] = set()
        for where, hold in self.holds.items():
            order = [at.get(number, -1) for number in self.needs.get(where, (0, 0, 0))]
            if is_true_stall(hold) and order[0] >= 0 and order == sorted(set(order)):
                found.add(where)
        return found


def truths_of(folder: Path) -> list[Row]:
    """The truths of the captures in a folder that can be disturbed."""
    return [truth for truth in truths.read(folder) if truth["capture"].endswith(FORMATS)]


def labelled(folder: Path, truth: Row) -> Labelled:
    """One of them, with the places of its frames, and the frames that each segment needs."""
    path = truths.capture(folder, truth)
    scan, capture = nagle_scan.scan(path, threads=1), disturb.read(path)
    made = Labelled(truth, capture, {}, {}, holds_of(truth), options(truth))
    seen = {}
    for number in (connection["connection"] for connection in truth["connections"]):
        table = scan.segments(number)
        data, ack = dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, 0)  # the last frames of each side
        names = ("frame", "sender", "rel_seq", "len", "flags_text")
        for frame, sender, at, length, flags in zip(*(table[n] for n in names), strict=True):
            is_pure_ack = not length and flags == "ACK"
            seen[frame] = {"sender": sender, "is_pure_ack": is_pure_ack, "is_syn": flags == "SYN"}
            if length:
                where = made.places[frame] = (number, sender, at)
                other = SIDES[sender == "client"]
                made.needs.setdefault(where, (data[sender], ack[other], frame))
                data[sender] = frame
            if "ACK" in flags:
                ack[sender] = frame
    frames = [replace(frame, **seen.get(frame.number, {})) for frame in capture.frames]
    return replace(made, capture=capture._replace(frames=frames))


def options(truth: Row) -> dict[Socket, set[str]]:
    """The right answers on the TCP_NODELAY of each socket."""
    found: dict[Socket, set[str]] = defaultdict(set)
    for connection in truth["connections"]:
        for end, socket in zip(
            (connection[side] for side in SIDES), sockets(connection), strict=True
        ):
            is_open = end["nagle"] == "switched" or end.get("waits_for_acks")
            found[socket] |= {end["nagle"], "on", "off"} if is_open else {end["nagle"]}
    return found


def sockets(connection: Row) -> list[Socket]:
    """Client's and server's of a connection, in a truth or a result."""
    ports = [connection[side]["port"] for side in SIDES]
    return [(frozenset(ports), port) for port in ports]


@dataclass
class Finding:
    """The findings in a disturbed capture, in the places of the original."""

    confidence: dict[Place, str] = field(default_factory=dict)
    wrong_options: set[Socket] = field(default_factory=set)
    verdict: str = ""

    @property
    def certain(self) -> set[Place]:
        """The places of stalls that are called certain."""
        return {where for where, word in self.confidence.items() if word == "certain"}


def look(own: Labelled, frames: Sequence[Frame]) -> Finding:
    """Scan these frames, and trace back what is found."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "disturbed.pcap"
        disturb.write(path, own.capture, frames)
        result = result_of(nagle_scan.scan(path, threads=1))
    finding = Finding(verdict=result["summary"]["verdict"])
    for connection in result["connections"]:
        for stall in connection["stalls"]:
            number = frames[stall["frame_held"] - 1].number
            where = own.places.get(number, (-1, "", number))
            finding.confidence[where] = stall["confidence"]
        for side, socket in zip(SIDES, sockets(connection), strict=True):
            said = connection[side]["nagle"]
            if said not in {"unknown"} | own.options.get(socket, {said}):
                finding.wrong_options.add(socket)
    return finding


def count(finding: Finding, before: Finding, true: set[Place], own: Labelled) -> Counter[str]:
    """The numbers of one disturbed capture, beside what was found before."""
    false = {where for where in finding.confidence if own.is_false(where)}
    new = finding.confidence.keys() - before.confidence.keys()
    sure = finding.certain - before.certain
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


def score(case: tuple[Path, Row]) -> tuple[dict[str, Counter[str]], list[str]]:
    """The numbers of each disturbance of a capture, and a line for each fault."""
    own, before = labelled(*case), Finding()
    counts: dict[str, Counter[str]] = {}
    lines: list[str] = []
    for name, change in DISTURBANCES.items():
        frames = change(own.capture.frames, Random(f"{own.truth['name']} {name}"))
        if not frames:
            continue
        try:
            finding = look(own, frames)
            counts[name] = count(finding, before, own.left(frames), own)
            before = finding if name == AS_IT_IS else before
        except nagle_scan.NagleScanError:
            counts[name] = Counter({"captures": 1, "refused": 1})
        faults = ", ".join(f"{counts[name][f]} {f}" for f in FAULTS if counts[name][f])
        lines += [f"{name}: {own.truth['name']}: {faults}"] if faults else []
    return counts, lines


def sampled(rows: list[Row], most: int) -> list[Row]:
    """At most `most` captures, picked by a checksum; all for 0."""
    picked = sorted(rows, key=lambda row: crc32(str(row["name"]).encode()))[: most or None]
    return [row for row in rows if row in picked]


def table(totals: dict[str, Counter[str]]) -> pd.DataFrame:
    """A row for each disturbance."""
    rows = pd.DataFrame(totals).T.reindex(columns=COLUMNS)
    return rows.fillna(0).astype(int)


def read_table(text: str) -> pd.DataFrame:
    """The numbers of a printed table."""
    return pd.read_csv(StringIO(text), sep=r"\s{2,}", engine="python", index_col=0)


def more_faults(totals: pd.DataFrame, known: pd.DataFrame) -> list[str]:
    """The kinds of faults that are more than the known ones."""
    more = totals[FAULTS] - known.loc[totals.index, FAULTS]
    return [
        f"{name}: {by} {fault} more than known"
        for fault in FAULTS
        for name, by in more[fault].items()
        if by > 0
    ]


def main() -> int:
    """Print the table; 1 if there are more faults than known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="captures; default all")
    parser.add_argument("--faults", action="store_true", help="a line for each fault, too")
    parser.add_argument("--update", action="store_true", help="write metamorphic.txt")
    arguments = parser.parse_args()
    cases = [(LABELLED, row) for row in sampled(truths_of(LABELLED), arguments.sample)]
    totals: dict[str, Counter[str]] = {name: Counter() for name in DISTURBANCES}
    with get_context("spawn").Pool() as pool:
        for counts, lines in pool.imap(score, cases, chunksize=8):
            for name, numbers in counts.items():
                totals[name].update(numbers)
            print(*(f"{line}\n" for line in lines if arguments.faults), sep="", end="")
    found = table(totals)
    print(found.to_string())
    if arguments.update:
        TABLE.write_text(f"{found.to_string()}\n")
    more = more_faults(found, read_table(TABLE.read_text()))
    print(*(f"{line}\n" for line in more), sep="", end="")
    return bool(more)


if __name__ == "__main__":
    sys.exit(main())
