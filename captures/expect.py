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
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "lab"))

from packets import ACK, FIN, MODULUS, SYN, Packet, later, read_packets  # noqa: E402

ACK_IS_LATE_NS = 10_000_000  # a quick ACK takes 0.03 ms on loopback, a delayed one 40 ms
RELEASE_IS_PROMPT_NS = 2_000_000  # it takes 0.003 to 0.14 ms

# Who writes an exchange in two pieces, the first piece's bytes, and both pieces'. Whatever was held
# must be a second piece.
SECOND_WRITES = {
    "java-split": ("client", 6, 13),
    "jdk-httpserver": ("server", 77, 177),
    "epoll-fd0": ("server", 143, 149),
}


class End:
    """All segments that one end has sent."""

    def __init__(self) -> None:
        self.base, self.has_data = 0, False  # sequence number of its first byte
        # Its last segment, until it is acknowledged; and with its late pure ACK, until more data.
        self.unacked: Packet | None = None
        self.late: tuple[Packet, Packet] | None = None


Ends = dict[str, End]
Held = tuple[str, Packet, Packet, Packet]


def held_segments(pcap: Path) -> tuple[dict[int, Ends], list[Held]]:
    """Connections, and (role of the sender, A, K, B) for every A - late pure ACK K - prompt B."""
    clients: dict[int, int] = {}
    connections: dict[int, Ends] = {}
    held: list[Held] = []
    for frame in read_packets(pcap):
        if frame.flags & (SYN | ACK) == SYN:
            clients[frame.stream] = frame.source_port
            connections[frame.stream] = {"client": End(), "server": End()}
        is_client = frame.source_port == clients[frame.stream]
        role, peer = ("client", "server") if is_client else ("server", "client")
        sender, receiver = connections[frame.stream][role], connections[frame.stream][peer]
        if frame.flags & SYN:
            sender.base = frame.seq + 1

        data = receiver.unacked
        if data and not later(data.end, frame.ack):
            receiver.unacked = None
            if frame.length == 0 and frame.time_ns - data.time_ns >= ACK_IS_LATE_NS:
                receiver.late = (data, frame)
        if frame.length:
            if sender.late and frame.time_ns - sender.late[1].time_ns < RELEASE_IS_PROMPT_NS:
                held.append((role, *sender.late, frame))
            sender.has_data, sender.unacked, sender.late = True, frame, None
    return connections, held


def offset(connections: dict[int, Ends], role: str, segment: Packet) -> int:
    """The place of a segment's first byte in the stream of its end."""
    return (segment.seq - connections[segment.stream][role].base) % MODULUS


def describe(
    connections: dict[int, Ends], role: str, data: Packet, ack: Packet, segment: Packet
) -> dict[str, Any]:
    """A stall as the expectation file names it."""
    return {
        "connection": segment.stream,
        "sender": role,
        "rel_seq": offset(connections, role, segment),
        "len": segment.length,
        "frame_unacked": data.frame,
        "frame_ack": ack.frame,
        "frame_held": segment.frame,
        "cause": "nagle_delack",
        "wait_ms": round((segment.time_ns - data.time_ns) / 1e6, 1),
    }


def expectation(name: str, before: dict[str, Any]) -> dict[str, Any]:
    """The expected findings of a capture; before them, the story and the sockets' options."""
    connections, held = held_segments(HERE / f"{name}.pcap")
    for role, _, _, segment in held:
        sender, first, both = SECOND_WRITES[name]
        assert (role, offset(connections, role, segment) % both) == (sender, first), segment
    timed_out = [h for h in held if not h[2].flags & FIN]
    freed_by_fin = [h for h in held if h[2].flags & FIN]
    options = next(one for one in before["nagle"].values() if one["client"])
    expected = {
        **before,
        "connections": len(connections),
        "verdict": "stalls" if timed_out else "clean",
        "stalls": [describe(connections, *h) for h in timed_out],
        "nagle": {str(n): nagle_of(ends, options) for n, ends in connections.items()},
    }
    expected.pop("freed_by_fin", None)
    if freed_by_fin:
        expected["freed_by_fin"] = [describe(connections, *h) for h in freed_by_fin]
    return expected


def nagle_of(ends: Ends, options: dict[str, str | None]) -> dict[str, str | None]:
    """wrk's first connection only tests the address: nothing is sent, so nothing is claimed."""
    if any(direction.has_data for direction in ends.values()):
        return options
    return {"client": None, "server": None}


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
