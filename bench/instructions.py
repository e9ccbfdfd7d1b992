"""Instructions per packet, as multiples of libpcap's bare loop, and memory: no clock is read.

Both programs run under valgrind; less what they take for a hundred packets, that is what the
packets cost. The yardstick in the same run takes out compilers and machines. What one more
connection or stall takes is the slope between two captures. Exit status: 0 as expected, 1 not, 2 it
could not be measured. Run from the top folder:

    python -m bench.instructions
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain

from bench.measuring import BUILD, BenchError, Capture, build, generate, run
from bench.run import NAGLE_SCAN

Plan = tuple[str, int, int | None]
"""Mode, connections and packets, as the generator takes them."""

START: Plan = ("clean", 10, 100)
"""A capture of nearly no packets: its cost is the start."""

WORKS: dict[str, tuple[Plan, float]] = {
    "rpc": (("rpc", 1000, 40_000), 7.45),
    "alive": (("rpc", 10_000, 100_000), 6.65),
    "short": (("short", 3000, None), 5.65),
    "stalls": (("stalls", 100, 20_000), 16.38),
}
"""Instructions expected per packet, in those of the yardstick. Faster? Write the new figure."""

SLOPES: dict[str, tuple[Plan, Plan, float]] = {
    "connection": (("clean", 20_000, 2_000_000), ("clean", 200_000, 2_000_000), 540),
    "stall": (("stalls", 100, 200_000), ("stalls", 100, 2_000_000), 190),
}
"""Captures that differ in nothing but the number of these, and the bytes of peak memory expected of
each. Both captures have more than the JSON lists. Less? Write the new figure here."""

TOLERANCE = 1.25
"""Two runs differ by 1 %; other compilers and libraries by more."""

COUNT = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def instructions(words: list[str]) -> int:
    """How many instructions a command takes, all threads together."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            [*COUNT, *words], capture_output=True, text=True, check=False, env=environment
        )
    except OSError as error:
        raise BenchError(f"valgrind: {error.strerror}") from None
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise BenchError(f"valgrind on {words[0]}: exit status {done.returncode}")
    return int(found[1].replace(",", ""))


def scan_words(capture: Capture) -> list[str]:
    """The whole command, with its JSON written."""
    output = str(BUILD / "counted.json")
    return [sys.executable, NAGLE_SCAN, str(capture.path), "-o", output, "--exit-zero"]


def loop_words(capture: Capture) -> list[str]:
    """The yardstick."""
    return [str(BUILD / "pcap_loop"), str(capture.path)]


def per_packet() -> Iterator[tuple[str, float, float]]:
    """The instructions of each work: in words, in those of the yardstick, and expected."""
    ways = (scan_words, loop_words)
    starts = [instructions(words(generate(*START))) for words in ways]
    for name, (plan, expected) in WORKS.items():
        capture = generate(*plan)
        scan, loop = (
            (instructions(words(capture)) - at_start) / capture.packets
            for words, at_start in zip(ways, starts, strict=True)
        )
        times = scan / loop
        said = f"{scan:.0f} instructions per packet, {times:.2f} x libpcap's {loop:.0f}"
        yield f"{name}: {said}, expected {expected:.2f}", times, expected


def slopes() -> Iterator[tuple[str, float, float]]:
    """The memory that one more connection or stall takes: in words, in bytes, and expected."""
    for name, (*plans, expected) in SLOPES.items():
        less, more = (generate(*plan) for plan in plans)
        before, after = (run(scan_words(capture)) for capture in (less, more))
        count = more.stalls - less.stalls or more.connections - less.connections
        bytes_each = (after.peak_bytes - before.peak_bytes) / count
        said = (
            f"{bytes_each:.0f} bytes and {(after.faults - before.faults) / count:.3f} page faults"
        )
        yield f"{name}: {said} each, expected {expected}", bytes_each, expected


def main() -> int:
    """Compares all works with what is expected."""
    build()
    as_expected = True
    for words, found, expected in chain(per_packet(), slopes()):
        right = expected / TOLERANCE <= found <= expected * TOLERANCE
        as_expected &= right
        print(f"{words}: {'fine' if right else 'NOT AS EXPECTED'}", flush=True)
    if not as_expected:
        print("More: find out why. Less: write the new figure into bench/instructions.py.")
    return 0 if as_expected else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"instructions.py: {error}", file=sys.stderr)
        sys.exit(2)
