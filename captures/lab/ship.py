#!/usr/bin/env python3
"""Choose captures to ship with their truth: ship.py [--all | --kinds] [--to DIR] FOLDER...

DIR is captures/labelled, if not another.

The rule looks at names and truth, never at what an analyzer finds. Of each case one capture, at
the point that a checksum of the case's name picks (the same for a case before and after its fix);
all of them with --all, or if the case has captures in other formats, or if its truth differs from
point to point. Of a chain of relays, one capture of all legs and one of a single leg. Of a run
joined midway, one capture that began late and one that lost its beginning. Of the hard
cases (--kinds), a checksum picks one of each kind that stalls and one that does not; what jitter
shows depends on the point, so of those with jitter of 5 to 20 ms all points are shipped.
Frames are cut to their first 96 bytes, files compressed; a capture that came compressed stays so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from zlib import crc32

from chain_truth import ALONE
from pairs import base_name
from scoring import Row
from truth_files import KINDS

LABELLED = Path(__file__).resolve().parents[1] / "labelled"
POINTS = {"client", "middle", "server", "loopback"}
JITTERED = ("hard-jitter-", "hard-radio-")
SNAP = 96  # all headers, but for the last options of an IPv6 SYN with the -i any header
LITTLE_ENDIAN = {bytes.fromhex("d4c3b2a1"), bytes.fromhex("4d3cb2a1")}  # us, ns


def chosen(files: list[Path]) -> list[Path]:
    """The truth files of one case whose captures are shipped."""
    truths = [json.loads(file.read_text()) for file in files]
    if "legs" in truths[0]:
        return chosen_of_chain(truths, files)
    pick = crc32(base_name(truths[0]["case"]).encode())
    late, joined = (sorted(f for f in files if word in f.name) for word in ("-late", "-joined"))
    if joined:
        return [late[pick % len(late)], joined[pick % len(joined)]]
    alike = len({tuple(len(truth[kind]) for kind in KINDS) for truth in truths}) == 1
    names = {file.name.removesuffix(".truth.json") for file in files}
    if not alike or not names <= POINTS or truths[0]["case"].startswith(JITTERED):
        return files
    return [sorted(files)[pick % len(files)]]


def chosen_of_chain(truths: list[Row], files: list[Path]) -> list[Path]:
    """One capture of all legs, and one that holds a leg only."""
    pick = crc32(truths[0]["case"].encode())
    every = zip(truths, files, strict=True)
    whole = sorted(f for t, f in every if "leg" not in t and len(ports(t)) == t["legs"])
    first = whole[pick % len(whole)]
    view = first.name.removesuffix(".truth.json")
    legs = sorted(first.parent.glob(f"{view}{ALONE}*.truth.json"))
    return [first, *([legs[pick % len(legs)]] if legs else [])]


def ports(truth: Row) -> set[int]:
    """Of all servers in a capture."""
    return {connection["server"]["port"] for connection in truth["connections"]}


def of_each_kind(cases: dict[str, list[Path]]) -> dict[str, list[Path]]:
    """Of each kind of hard case one that stalls and one that does not; of programs, each."""
    alike: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for case, files in cases.items():
        *kind, last = case.removesuffix("-nots").split("-")
        stalls = any(json.loads(file.read_text())["stalls"] for file in files)
        program = last in ("near", "far")
        alike["-".join(kind), stalls and not program].append(case)
    picked = {min(names, key=lambda name: crc32(name.encode())) for names in alike.values()}
    return {case: files for case, files in cases.items() if case in picked}


def ship(truth_file: Path, target: Path) -> None:
    """Write a capture, cut and compressed, and its truth."""
    truth: Row = json.loads(truth_file.read_text())
    capture = truth_file.with_name(truth["capture"])
    if capture.suffix not in (".gz", ".zst"):
        truth["capture"] += ".gz"
    target.mkdir(parents=True, exist_ok=True)
    (target / truth["capture"]).write_bytes(shipped(capture))
    (target / truth_file.name).write_text(compact(truth))


def shipped(capture: Path) -> bytes:
    """The file's new contents."""
    if capture.suffix in (".gz", ".zst"):
        return capture.read_bytes()
    if capture.suffix == ".pcapng":
        cut = subprocess.run(
            ["editcap", "-F", "pcapng", "-s", str(SNAP), capture, "-"],
            check=True,
            capture_output=True,
        ).stdout
    else:
        cut = snapped(capture.read_bytes())
    return gzip.compress(cut, mtime=0)


def snapped(pcap: bytes) -> bytes:
    """A pcap file with its frames cut; one that ends within a frame goes on doing so."""
    order = "<" if pcap[:4] in LITTLE_ENDIAN else ">"
    parts, at = [pcap[:24]], 24
    while at < len(pcap):
        header = pcap[at : at + 16]
        if len(header) < 16:
            parts.append(header)
            break
        seconds, fraction, captured, length = struct.unpack(f"{order}4I", header)
        kept = min(captured, SNAP)
        parts.append(struct.pack(f"{order}4I", seconds, fraction, kept, length))
        body = pcap[at + 16 : at + 16 + captured]
        parts.append(body[:kept] if len(body) == captured else body[: kept - 1])
        at += 16 + captured
    return b"".join(parts)


def compact(truth: Row) -> str:
    """JSON with a line for each row of its tables."""
    lines = []
    for key, value in truth.items():
        text = json.dumps(value)
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Replace what is shipped of the cases in the folders."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every capture of every case")
    parser.add_argument("--to", type=Path, default=LABELLED, help="another folder than labelled")
    parser.add_argument("--kinds", action="store_true", help="two hard cases of each kind")
    parser.add_argument("folders", nargs="+", type=Path)
    arguments = parser.parse_args()
    cases: dict[str, list[Path]] = defaultdict(list)
    for folder in arguments.folders:
        for file in sorted(folder.glob("*/*.truth.json")):
            cases[file.parent.name].append(file)
    hard = {case: cases.pop(case) for case in list(cases) if case.startswith("hard-")}
    picked = of_each_kind(hard) if arguments.kinds else cases
    for case, files in picked.items():
        shutil.rmtree(arguments.to / case, ignore_errors=True)
        for file in files if arguments.all else chosen(files):
            ship(file, arguments.to / case)
    print(f"{len(picked)} cases in {arguments.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
