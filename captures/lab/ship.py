#!/usr/bin/env python3
"""Choose captures to ship with their truth: ship.py WHAT FOLDER

WHAT is one of
    lab        of each case one capture, at the point that a checksum of the case's name picks (the
               same for a case before and after its fix); all if the case has captures in other
               formats, or if its truth differs from point to point; of a run joined midway, one
               capture that began late and one that lost its beginning
    field      every capture of every case
    hard       of the cases hard-..., a checksum picks one of each kind that stalls and one that
               does not; what jitter shows depends on the point, so of those with jitter of 5 to
               20 ms all points are shipped
    chains     one capture of all legs and one of a single leg
    programs   whole runs at all points, and of others one point; of a fan-out also what a filter
               on one subscriber captures there
The rules look at names and truth, never at what an analyzer finds. Frames are cut to their first 96
bytes, files compressed; a capture that came compressed stays so.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import truths
from accuracy import CHAINS, LABELLED, PROGRAMS
from accuracy_report import SUBSCRIBER
from chains import ALONE
from pairs import base_name
from truths import KINDS, Row, short_name

TARGETS = {
    "lab": LABELLED,
    "field": LABELLED,
    "hard": LABELLED,
    "chains": CHAINS,
    "programs": PROGRAMS,
}
POINTS = {"client", "middle", "server", "loopback"}
JITTERED = ("hard-jitter-", "hard-radio-")
SNAP = 96  # all headers, but for the last options of an IPv6 SYN with the -i any header
LITTLE_ENDIAN = {bytes.fromhex("d4c3b2a1"), bytes.fromhex("4d3cb2a1")}  # us, ns
# The lists name programs, paths and who was refused, and nothing of a result.
EVERY_POINT = (
    "redis-publishers-server-refused-w20",
    "redis-fanout-shipped-w20",
    "aiohttp-pages-server-refused-w20jitter",
)
ONE_POINT = (
    "redis-publishers-shipped-w20",
    "redis-publishers-server-refused-w20loss",
    "redis-fanout-shipped-l1",
    "mosquitto-fanout-shipped-w20",
    "mosquitto-nodelay-fanout-shipped-w20",
    "postgres-fanout-shipped-w20",
    "postgres-fanout-server-refused-w20",
    "tornado-fanout-server-refused-l1",
    "tornado-pages-shipped-w20",
    "node-pages-server-refused-lo",
    "mariadb-queries-client-refused-w20",
    "memcached-shipped-w20",
    "nbd-server-refused-l1",
    "ssh-shipped-w20",
)


def chosen(rows: list[Row]) -> list[Row]:
    """The captures of one case that are shipped."""
    case = rows[0]["case"]
    if "legs" in rows[0]:
        return of_chain(rows)
    if case in ONE_POINT:
        return of_program(rows)
    pick = crc32(base_name(case).encode())
    late, joined = ([r for r in rows if word in r["name"]] for word in ("-late", "-joined"))
    if joined:
        return [late[pick % len(late)], joined[pick % len(joined)]]
    alike = len({tuple(len(row[kind]) for kind in KINDS) for row in rows}) == 1
    names = {short_name(row) for row in rows}
    if case in EVERY_POINT or not alike or not names <= POINTS or case.startswith(JITTERED):
        return rows
    return [rows[pick % len(rows)]]


def of_chain(rows: list[Row]) -> list[Row]:
    """One capture of all legs, and one that holds a leg only."""
    pick = crc32(rows[0]["case"].encode())
    whole = [r for r in rows if "leg" not in r and len(ports(r)) == r["legs"]]
    first = whole[pick % len(whole)]
    legs = [r for r in rows if r["name"].startswith(f"{first['name']}{ALONE}")]
    return [first, *([legs[pick % len(legs)]] if legs else [])]


def ports(truth: Row) -> set[int]:
    """Of all servers in a capture."""
    return {connection["server"]["port"] for connection in truth["connections"]}


def of_program(rows: list[Row]) -> list[Row]:
    """What was captured at one point."""
    whole = [row for row in rows if SUBSCRIBER not in row["name"]]
    point = whole[crc32(rows[0]["case"].encode()) % len(whole)]["name"]
    return [row for row in rows if row["name"] in (point, f"{point}{SUBSCRIBER}")]


def of_each_kind(cases: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Of each kind of hard case one that stalls and one that does not; of programs, each."""
    alike: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for case, rows in cases.items():
        *kind, last = case.removesuffix("-nots").split("-")
        stalls = any(row["stalls"] for row in rows)
        alike["-".join(kind), stalls and last not in ("near", "far")].append(case)
    picked = {min(names, key=lambda name: crc32(name.encode())) for names in alike.values()}
    return {case: rows for case, rows in cases.items() if case in picked}


def selected(what: str, cases: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The captures of each case that are shipped."""
    if what == "field":
        return cases
    if what == "programs":
        wanted = {c: rows for c, rows in cases.items() if c in (*EVERY_POINT, *ONE_POINT)}
    else:
        is_hard = what == "hard"
        wanted = {c: rows for c, rows in cases.items() if c.startswith("hard-") == is_hard}
        wanted = of_each_kind(wanted) if is_hard else wanted
    return {case: chosen(rows) for case, rows in wanted.items()}


def ship(source: Path, target: Path, case: str, rows: list[Row]) -> None:
    """Write captures of a case, cut and compressed, and their truth."""
    shutil.rmtree(target / case, ignore_errors=True)
    (target / case).mkdir(parents=True)
    for row in rows:
        capture = truths.capture(source, row)
        if capture.suffix not in (".gz", ".zst"):
            row["capture"] += ".gz"
        truths.capture(target, row).write_bytes(shipped(capture))
    truths.replace(target, case, rows)


def shipped(capture: Path) -> bytes:
    """The file's new contents."""
    if capture.suffix in (".gz", ".zst"):
        return capture.read_bytes()
    if capture.suffix == ".pcapng":
        command = ["editcap", "-F", "pcapng", "-s", str(SNAP), str(capture), "-"]
        return gzip.compress(
            subprocess.run(command, check=True, capture_output=True).stdout, mtime=0
        )
    return gzip.compress(snapped(capture.read_bytes()), mtime=0)


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


def main() -> int:
    """Replace what is shipped of the cases in a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=TARGETS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    target = TARGETS[arguments.what]
    cases: dict[str, list[Row]] = defaultdict(list)
    for row in truths.read(arguments.folder):
        cases[row["case"]].append(row)
    picked = selected(arguments.what, cases)
    for case, rows in picked.items():
        ship(arguments.folder, target, case, rows)
    print(f"{len(picked)} cases in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
