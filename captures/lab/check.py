#!/usr/bin/env python3
"""Refuse truth that contradicts its capture: check.py [FOLDER]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import truths
from packets import ACK, FIN, MODULUS, URG, Direction, Packet, later, read_packets
from truths import SIDES, Row, short_name

HERE = Path(__file__).resolve().parent
MEASURED_SLACK_MS = 0.6  # the log's clock readings and the watcher's step


def complaints(folder: Path, truth: Row) -> list[str]:
    """The statements of a truth that its capture contradicts."""
    packets = read_packets(truths.capture(folder, truth))
    found = [] if packets else ["no packets"]
    for connection in truth["connections"]:
        inside = [p for p in packets if p.stream == connection["connection"]]
        for sender in SIDES:
            found += _direction(truth, connection, sender, inside)
    streams = {p.stream for p in packets}
    found += [
        f"connection {s} has no truth"
        for s in sorted(streams - {c["connection"] for c in truth["connections"]})
    ]
    return [f"{truth['name']}: {text}" for text in found]


def _direction(truth: Row, connection: Row, sender: str, packets: list[Packet]) -> list[str]:
    other = "server" if sender == "client" else "client"
    direction = Direction(packets, connection[sender]["port"], connection[other]["port"])
    mine = [
        s
        for s in truth["stalls"] + truth["short_holds"]
        if s["connection"] == connection["connection"] and s["sender"] == sender
    ]
    if direction.base is None:
        return [f"{sender} was not captured, yet has {len(mine)} holds"] if mine else []
    found = (
        [] if direction.streams == [connection["connection"]] else [f"streams {direction.streams}"]
    )
    if connection[sender]["nagle"] == "off" and mine:
        found.append(f"{sender} has TCP_NODELAY but {len(mine)} holds")
    own_end = short_name(truth) in (sender, "loopback")  # the full capture at the sender
    if connection[sender]["nagle"] == "on" and own_end:
        found += _two_small_in_flight(direction, sender, connection[sender]["port"])
    for stall in mine:
        found += _stall(stall, direction.base, direction, own_end)
    return found


def _stall(stall: Row, base: int, direction: Direction, own_end: bool) -> list[str]:
    where = f"{stall['sender']} rel_seq {stall['rel_seq']}"
    seq = (base + stall["rel_seq"]) % MODULUS
    segments = [p for p in direction.sent if p.length and p.seq == seq]
    if not segments:
        return [f"{where}: no segment begins there"]
    held = segments[0]
    found = []
    if own_end and held.length != stall["len"]:
        found.append(f"{where}: {held.length} bytes, not {stall['len']}")
    before = [p for p in direction.sent if p.length and p.frame < held.frame and p.seq != seq]
    if not before:
        return [*found, f"{where}: nothing was sent before it"]
    if later(before[-1].end, seq) and not any(later(p.end, seq) for p in before[:-1]):
        found.append(f"{where}: not new data")
    new = [p for p in direction.new_segments() if p.frame < held.frame and p.seq != seq]
    wait_ms = (held.time_ns - new[-1].time_ns) / 1e6 if new else 0.0
    if own_end and stall["hold_ms"] > wait_ms + MEASURED_SLACK_MS and wait_ms > 0:
        found.append(f"{where}: held {stall['hold_ms']} ms, but data went {wait_ms:.3f} ms before")
    if not any(
        p.frame < held.frame and not later(before[0].end, p.ack) for p in direction.received
    ):
        found.append(f"{where}: nothing was acknowledged before it")
    return found


def _two_small_in_flight(direction: Direction, sender: str, port: int) -> list[str]:
    """Linux with Nagle on never has two small segments in flight, but with FIN or urgent data."""
    mss = max((p.length for p in direction.sent), default=0)
    small_end: int | None = None
    acked: int | None = None
    urgent_end: int | None = None
    found = []
    for p in direction.all:
        if p.source_port != port:
            if not p.flags & ACK:
                continue
            acked = p.ack if acked is None or later(p.ack, acked) else acked
            continue
        if not p.length:
            continue
        in_flight = small_end is not None and (acked is None or later(small_end, acked))
        new = small_end is None or not later(small_end, p.seq)
        urgent_end = p.end if p.flags & URG else urgent_end
        urgent = urgent_end is not None and (acked is None or later(urgent_end, acked))
        if p.length < min(mss, 536) and in_flight and new and not (p.flags & FIN or urgent):
            found.append(
                f"{sender} has Nagle on but frame {p.frame} joins a small segment in flight"
            )
        if p.length < min(mss, 536) and new:
            small_end = p.end
    return found


def main() -> int:
    """Check the truth of every capture in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / "out")
    folder = parser.parse_args().folder
    rows = truths.read(folder)
    found = [text for row in rows for text in complaints(folder, row)]
    print(*found, f"{len(rows)} captures, {len(found)} complaints", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
