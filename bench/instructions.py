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

from bench.measuring import BUILD, BenchError, Capture, build, generate, run
from bench.run import NAGLE_SCAN

Plan = tuple[str, int, int | None]
"""Mode, connections and packets, as the generator takes them."""

START: Plan = ("clean", 10, 100)
"""A capture of nearly no packets: its cost is the start."""

WORKS: dict[str, Plan] = {
    "rpc": ("rpc", 1000, 40_000),
    "alive": ("rpc", 10_000, 100_000),
    "short": ("short", 3000, None),
    "stalls": ("stalls", 100, 20_000),
}

EXPECTED = {"rpc": 7.45, "alive": 6.65, "short": 4.55, "stalls": 19.57}
"""Instructions per packet, in those of the yardstick. Faster? Write the new figure here."""

SLOPES: dict[str, tuple[Plan, Plan]] = {
    "connection": (("clean", 20_000, 2_000_000), ("clean", 200_000, 2_000_000)),
    "stall": (("stalls", 100, 200_000), ("stalls", 100, 2_000_000)),
}
"""Captures that differ in nothing but the number of these. Both have more than the JSON lists."""

EXPECTED_BYTES = {"connection": 540, "stall": 190}
"""Peak memory that each takes. Less? Write the new figure here."""

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


def each(name: str) -> tuple[float, float]:
    """Bytes and page faults that one more connection or stall takes."""
    less, more = (generate(*plan) for plan in SLOPES[name])
    before, after = (run(scan_words(capture)) for capture in (less, more))
    count = more.stalls - less.stalls or more.connections - less.connections
    bytes_each = (after.peak_bytes - before.peak_bytes) / count
    return bytes_each, (after.faults - before.faults) / count


def is_expected(found: float, expected: float) -> bool:
    """Is it within the tolerance?"""
    return expected / TOLERANCE <= found <= expected * TOLERANCE


def main() -> int:
    """Compares all works with what is expected."""
    build()
    start = generate(*START)
    starts = [instructions(words(start)) for words in (scan_words, loop_words)]
    as_expected = True
    for name, expected in EXPECTED.items():
        capture = generate(*WORKS[name])
        scan, loop = (
            (instructions(words(capture)) - at_start) / capture.packets
            for words, at_start in zip((scan_words, loop_words), starts, strict=True)
        )
        right = is_expected(scan / loop, expected)
        as_expected &= right
        print(
            f"{name}: {scan:.0f} instructions per packet, {scan / loop:.2f} x libpcap's "
            f"{loop:.0f}, expected {expected:.2f}: {'fine' if right else 'NOT AS EXPECTED'}",
            flush=True,
        )
    for name, bytes_expected in EXPECTED_BYTES.items():
        bytes_each, faults = each(name)
        right = is_expected(bytes_each, bytes_expected)
        as_expected &= right
        print(
            f"{name}: {bytes_each:.0f} bytes and {faults:.3f} page faults each, "
            f"expected {bytes_expected}: {'fine' if right else 'NOT AS EXPECTED'}",
            flush=True,
        )
    if not as_expected:
        print("More: find out why. Less: write the new figure into bench/instructions.py.")
    return 0 if as_expected else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"instructions.py: {error}", file=sys.stderr)
        sys.exit(2)
