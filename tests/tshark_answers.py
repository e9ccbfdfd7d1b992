"""Asks tshark about all shipped captures, and keeps what it says: tests/tshark/answers.json.xz.

Some ten minutes. `test_tshark_answers.py` compares nagle-scan with it, also on machines without
tshark. To be run when captures were added:

    python tests/tshark_answers.py
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT / "captures"
ANSWERS = ROOT / "tests" / "tshark" / "answers.json.xz"

FIELDS = (
    "frame.number",
    "tcp.stream",
    "tcp.len",
    "tcp.seq",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.initial_rtt",
    "icmp.type",
    "icmpv6.type",
)
"""Fast and spurious retransmissions are retransmissions, too."""


class Answer(TypedDict):
    """tshark's answers on a capture; of each TCP segment in columns of the same length."""

    frame: list[int]
    """From the frame number of the segment before."""
    stream: list[int]
    len: list[int]
    seq: list[int]
    """Relative: of the SYN 0."""
    mark: str
    """`R` retransmission, `O` out of order, else `-`."""
    quotes: list[int]
    """Streams of the segments that ICMP errors quote: tshark numbers them, too."""
    initial_rtt_ns: dict[str, int]
    """The round trip of a stream, where it has one."""


TRACED = CAPTURES / "calls"
"""Recorded where there was no tshark to ask."""


def captures() -> list[Path]:
    """All that are shipped and that tshark was asked about, in a fixed order."""
    every = (path for path in CAPTURES.rglob("*.pcap*") if path.is_file())
    return sorted(path for path in every if path.parent != TRACED)


def name(path: Path) -> str:
    """How the answers call a capture."""
    return path.relative_to(CAPTURES).as_posix()


def ask(path: Path) -> Answer:
    """Runs tshark on one capture. Raises `OSError` without tshark, `CalledProcessError`.

    Where a capture is cut off, tshark tells what it has read, and exits with 2.
    """
    command = ["tshark", "-r", str(path), "-n", "-Y", "tcp", "-T", "fields", "-E", "occurrence=f"]
    command += [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        done.check_returncode()
    return answer(line.split("\t") for line in done.stdout.splitlines())


def answer(rows: Iterator[list[str]]) -> Answer:
    """The answer that these rows of `FIELDS` give."""
    said = Answer(frame=[], stream=[], len=[], seq=[], mark="", quotes=[], initial_rtt_ns={})
    last = 0
    for frame, stream, length, seq, again, late, rtt, *icmp in rows:
        if any(icmp):
            said["quotes"].append(int(stream))
            continue
        said["frame"].append(int(frame) - last)
        last = int(frame)
        said["stream"].append(int(stream))
        said["len"].append(int(length))
        said["seq"].append(int(seq))
        said["mark"] += "R" if again else "O" if late else "-"
        if rtt:
            said["initial_rtt_ns"].setdefault(stream, round(float(rtt) * 1e9))
    return said


def kept() -> dict[str, Answer]:
    """The kept answers, by the name of the capture."""
    found: dict[str, Answer] = json.loads(lzma.decompress(ANSWERS.read_bytes()))
    return found


def main() -> int:
    """Asks about all of them."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip(map(name, captures()), pool.map(ask, captures()), strict=True))
    text = json.dumps(said, separators=(",", ":")).encode()
    ANSWERS.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(said)} captures, {ANSWERS.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
