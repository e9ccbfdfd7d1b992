#!/usr/bin/env python3
"""Writes down what is true of each capture, from its construction and its frames.

    expect.py write NAME PROGRAMS   NAME.json anew from NAME.pcap, made here just now by PROGRAMS
    expect.py check                 derives every NAME.json again and compares

This is a truth for known programs on loopback, not a detector: that Nagle is on or off, and that
nothing but an acknowledgment can release the second write, is known from the programs' sources.
"""

import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from operator import itemgetter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "lab"))

from packets import ACK, FIN, SYN, Direction, Packet, later, read_packets  # noqa: E402
from truths import SIDES  # noqa: E402

ACK_IS_LATE_NS = 10_000_000  # a quick ACK takes 0.03 ms on loopback, a delayed one 40 ms
RELEASE_IS_PROMPT_NS = 2_000_000  # it takes 0.003 to 0.14 ms

# Who writes an exchange in two pieces, the first piece's bytes, and both pieces'. Whatever was held
# must be a second piece.
SECOND_WRITES = {
    "java-split": ("client", 6, 13),
    "jdk-httpserver": ("server", 77, 177),
    "epoll-fd0": ("server", 143, 149),
}


def released(direction: Direction) -> Iterator[tuple[Packet, Packet, Packet]]:
    """A segment, its late pure ACK, and the data that follows at once, for each such three."""
    data: Packet | None = None
    ack: Packet | None = None
    for frame in direction.all:
        if frame in direction.sent_set and frame.length:
            if data and ack and frame.time_ns - ack.time_ns < RELEASE_IS_PROMPT_NS:
                yield data, ack, frame
            data, ack = frame, None
        elif data and not ack and frame not in direction.sent_set:
            is_late = frame.time_ns - data.time_ns >= ACK_IS_LATE_NS and not frame.length
            if not later(data.end, frame.ack):
                data, ack = (data, frame) if is_late else (None, None)


def stalls(stream: list[Packet], ports: tuple[int, int], name: str) -> Iterator[dict[str, Any]]:
    """The stalls of a connection between a client and a server port, as the file names them."""
    for role, (own, peer) in zip(SIDES, permutations(ports), strict=True):
        direction = Direction(stream, own, peer)
        for data, ack, held in released(direction):
            sender, first, both = SECOND_WRITES[name]
            at = direction.offset(held.seq)
            assert (role, at % both) == (sender, first), held
            yield {
                "connection": held.stream,
                "sender": role,
                "rel_seq": at,
                "len": held.length,
                "frame_unacked": data.frame,
                "frame_ack": ack.frame,
                "frame_held": held.frame,
                "cause": "nagle_delack",
                "wait_ms": round((held.time_ns - data.time_ns) / 1e6, 1),
            }


def expectation(name: str, before: dict[str, Any]) -> dict[str, Any]:
    """The expected findings of a capture; before them, the story and the sockets' options."""
    packets = {p.frame: p for p in read_packets(HERE / f"{name}.pcap")}
    options = next(one for one in before["nagle"].values() if one["client"])
    held: list[dict[str, Any]] = []
    nagle = {}
    for syn in (p for p in packets.values() if p.flags & (SYN | ACK) == SYN):
        stream = [p for p in packets.values() if p.stream == syn.stream]
        held += stalls(stream, (syn.source_port, syn.target_port), name)
        # wrk's first connection only tests the address: nothing is sent, so nothing is claimed.
        is_used = any(p.length for p in stream)
        nagle[str(syn.stream)] = options if is_used else dict.fromkeys(SIDES)
    held.sort(key=itemgetter("frame_held"))
    by_fin = [stall for stall in held if packets[stall["frame_ack"]].flags & FIN]
    timed_out = [stall for stall in held if stall not in by_fin]
    found = {
        "connections": len(nagle),
        "verdict": "stalls" if timed_out else "clean",
        "stalls": timed_out,
        "nagle": nagle,
    }
    before.pop("freed_by_fin", None)
    return before | found | ({"freed_by_fin": by_fin} if by_fin else {})


def to_text(expected: dict[str, Any]) -> str:
    """JSON with one line per stall."""

    def value(item: object) -> str:
        if isinstance(item, list) and item:
            return "[\n    " + ",\n    ".join(map(json.dumps, item)) + "\n  ]"
        return json.dumps(item)

    return "{\n  " + ",\n  ".join(f'"{k}": {value(v)}' for k, v in expected.items()) + "\n}\n"


def system() -> str:
    """Kernel and tcpdump, as they are here."""
    kernel = re.split(r"[^\d.]", platform.release())[0].rstrip(".")
    version = subprocess.run(["tcpdump", "--version"], capture_output=True, text=True)
    tcpdump = re.findall(r"tcpdump version ([\d.]+)", version.stdout + version.stderr)[0]
    return f"Linux {kernel} {platform.machine()}, loopback; tcpdump {tcpdump}"


def known(name: str) -> dict[str, Any]:
    """The expectation file, as it is."""
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return found


def write(name: str, programs: str) -> None:
    """Writes the expectation file of a capture that was made here just now anew."""
    expected = expectation(name, known(name) | {"made_on": f"{system()}; {programs}"})
    (HERE / f"{name}.json").write_text(to_text(expected))
    print(f"{name}: {len(expected['stalls'])} stalls")


def check() -> str | int:
    """Exit status: 0, or the names of the files that are not true any more."""
    names = [path.stem for path in sorted(HERE.glob("*.json"))]
    stale = [
        name
        for name in names
        if to_text(expectation(name, known(name))) != (HERE / f"{name}.json").read_text()
    ]
    return f"stale: {' '.join(stale)}" if stale else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", name, programs]:
            write(name, programs)
        case ["check"]:
            sys.exit(check())
        case _:
            sys.exit(__doc__)
