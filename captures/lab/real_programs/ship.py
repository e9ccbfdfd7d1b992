#!/usr/bin/env python3
"""Choose captures of real programs to ship, with their truth: python -m real_programs.ship FOLDER

Run in captures/lab; writes to captures/programs. Whole runs at all points, and of the others one
point, which a checksum of the case's name picks; of a fan-out also what a filter on one subscriber
captures there. The lists name programs, paths and who was refused, and nothing of a result.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from zlib import crc32

from ship import ship

from real_programs.accuracy import PROGRAMS
from real_programs.table import SUBSCRIBER

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


def chosen(folder: Path) -> list[Path]:
    """The truth files of a case whose captures are shipped."""
    files = sorted(folder.glob("*.truth.json"))
    if folder.name in EVERY_POINT:
        return files
    whole = [file for file in files if SUBSCRIBER not in file.name]
    point = whole[crc32(folder.name.encode()) % len(whole)].name.removesuffix(".truth.json")
    return [file for file in files if file.name.startswith((f"{point}.", f"{point}-"))]


def main() -> None:
    """Replace what is shipped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="what real_programs recorded")
    folder = parser.parse_args().folder
    shutil.rmtree(PROGRAMS, ignore_errors=True)
    for case in (*EVERY_POINT, *ONE_POINT):
        for file in chosen(folder / case):
            ship(file, PROGRAMS / case)


if __name__ == "__main__":
    main()
