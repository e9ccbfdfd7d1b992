"""Instructions per packet, as multiples of libpcap's bare loop: a regression check without a clock.

Both programs run under valgrind; less what they take for a hundred packets, that is what the
packets cost. The yardstick in the same run takes out compilers and machines. Exit status: 0 as
expected, 1 not, 2 it could not be measured. Run from the top folder:

    python -m bench.instructions
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from bench.measuring import BUILD, BenchError, Capture, build, generate
from bench.run import NAGLE_SCAN

Plan = tuple[str, int, int | None]
"""Mode, connections and packets, as the generator takes them."""

START: Plan = ("clean", 10, 100)
"""As good as no packets: what this capture costs is the start."""

WORKS: dict[str, Plan] = {
    "rpc": ("rpc", 1000, 40_000),
    "short": ("short", 3000, None),
    "stalls": ("stalls", 100, 20_000),
}

EXPECTED = {"rpc": 5.88, "short": 3.05, "stalls": 11.69}
"""Instructions per packet, in those of the yardstick. Faster? Write the new figure here."""

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
    return [sys.executable, str(NAGLE_SCAN), str(capture.path), "-o", output, "--exit-zero"]


def loop_words(capture: Capture) -> list[str]:
    """The yardstick."""
    return [str(BUILD / "pcap_loop"), str(capture.path)]


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
        right = expected / TOLERANCE <= scan / loop <= expected * TOLERANCE
        as_expected &= right
        print(
            f"{name}: {scan:.0f} instructions per packet, {scan / loop:.2f} x libpcap's "
            f"{loop:.0f}, expected {expected:.2f}: {'fine' if right else 'NOT AS EXPECTED'}",
            flush=True,
        )
    if not as_expected:
        print("Slower: find out why. Faster: write the new figure into bench/instructions.py.")
    return 0 if as_expected else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"instructions.py: {error}", file=sys.stderr)
        sys.exit(2)
