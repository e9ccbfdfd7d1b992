#!/usr/bin/env python3
"""Take captures and their truth over into a shipped folder: ship.py TARGET FOLDER [NAME...]

Of the captures in FOLDER, those that TARGET has under the same name, and those named (CASE/NAME).
Frames are cut to their first 96 bytes, files compressed; a capture that came compressed stays so.
"""

from __future__ import annotations

import argparse
import gzip
import struct
import subprocess
import sys
from pathlib import Path

import truths

SNAP = 96  # all headers, but for the last options of an IPv6 SYN with the -i any header
LITTLE_ENDIAN = {bytes.fromhex("d4c3b2a1"), bytes.fromhex("4d3cb2a1")}  # us, ns


def shipped(capture: Path) -> bytes:
    """The file's new contents."""
    if capture.suffix in (".gz", ".zst"):
        return capture.read_bytes()
    if capture.suffix == ".pcapng":
        command = ["editcap", "-F", "pcapng", "-s", str(SNAP), str(capture), "-"]
        cut = subprocess.run(command, check=True, capture_output=True).stdout
        return gzip.compress(cut, mtime=0)
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
    """Take them over; 1 if there are none."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("target", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    rows = {row["name"]: row for row in truths.read(arguments.target)}
    taken = [
        row
        for row in truths.read(arguments.folder)
        if row["name"] in rows or row["name"] in arguments.names
    ]
    for row in taken:
        capture = truths.capture(arguments.folder, row)
        if capture.suffix not in (".gz", ".zst"):
            row["capture"] += ".gz"
        target = truths.capture(arguments.target, row)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(shipped(capture))
        rows[row["name"]] = row
    for case in {row["case"] for row in taken}:
        truths.replace(arguments.target, case, [r for r in rows.values() if r["case"] == case])
    print(f"{len(taken)} captures")
    return not taken


if __name__ == "__main__":
    sys.exit(main())
