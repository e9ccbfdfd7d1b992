#!/usr/bin/env python3
"""Take captures and their truth over into a shipped folder: ship.py TARGET FOLDER [NAME...]

Of the captures in FOLDER, those that TARGET has under the same name, and those named (CASE/NAME).
Files are compressed; a capture that came compressed stays so.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

import truths


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
        content = capture.read_bytes()
        if capture.suffix not in (".gz", ".zst"):
            row["capture"] += ".gz"
            content = gzip.compress(content, mtime=0)
        target = truths.capture(arguments.target, row)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        rows[row["name"]] = row
    for case in {row["case"] for row in taken}:
        truths.replace(arguments.target, case, [r for r in rows.values() if r["case"] == case])
    print(f"{len(taken)} captures")
    return not taken


if __name__ == "__main__":
    sys.exit(main())
