"""A capture whose truth is known frame by frame: what remains of it when frames are gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import disturb
import nagle_scan
import truths
from disturb import Capture, Frames
from scoring import holds_of, is_other_wait, is_true_stall
from truths import SIDES, Place, Row

FORMATS = (".pcap", ".pcap.gz")  # that can be disturbed
Ports = frozenset[int]
Known = tuple[int, Place]  # which of the captures mixed, and where in it
Needs = tuple[int, int, int]  # frames of the data before, the ACK and the held segment


class Traced(NamedTuple):
    """Where the frames of a capture belong."""

    places: dict[int, Place]  # of frames with data
    needs: dict[Place, Needs]
    pure_acks: set[int]


@dataclass(frozen=True)
class Labelled:
    """A capture whose truth is known."""

    truth: Row
    capture: Capture
    traced: Traced
    holds: dict[Place, Row]
    options: dict[Ports, dict[int, set[str]]]  # of the sockets, by port


@cache
def truths_of(folder: Path) -> list[Row]:
    """Of the captures in a folder that can be disturbed."""
    return [truth for truth in truths.read(folder) if truth["capture"].endswith(FORMATS)]


@cache
def labelled(folder: Path, number: int) -> Labelled:
    """One of them and its truth."""
    truth = truths_of(folder)[number]
    path = truths.capture(folder, truth)
    traced = trace(nagle_scan.scan(path, threads=1), truth)
    capture = disturb.read(path)
    frames = [replace(f, is_pure_ack=f.number in traced.pure_acks) for f in capture.frames]
    kept = capture._replace(frames=frames)
    return Labelled(truth, kept, traced, holds_of(truth), options(truth))


def trace(scan: nagle_scan.Scan, truth: Row) -> Traced:
    """Where each frame of these connections belongs, and what each segment needs."""
    traced = Traced({}, {}, set())
    for connection in truth["connections"]:
        table = scan.segments(connection["connection"])
        data, ack = dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, 0)
        names = ("frame", "sender", "rel_seq", "len", "flags_text")
        for frame, sender, at, length, flags in zip(*(table[n] for n in names), strict=True):
            if length:
                where = traced.places[frame] = (connection["connection"], sender, at)
                other = SIDES[sender == "client"]
                traced.needs.setdefault(where, (data[sender], ack[other], frame))
                data[sender] = frame
            elif flags == "ACK":
                traced.pure_acks.add(frame)
            if "ACK" in flags:
                ack[sender] = frame
    return traced


def options(truth: Row) -> dict[Ports, dict[int, set[str]]]:
    """What may rightly be said of TCP_NODELAY, by the ports of a connection and the socket's."""
    found: dict[Ports, dict[int, set[str]]] = {}
    for connection in truth["connections"]:
        ends = [connection[side] for side in SIDES]
        of_ports = found.setdefault(frozenset(end["port"] for end in ends), {})
        for end in ends:
            is_open = end["nagle"] == "switched" or end.get("waits_for_acks")
            right = {end["nagle"], "on", "off"} if is_open else {end["nagle"]}
            of_ports.setdefault(end["port"], set()).update(right)
    return found


def is_false(known: Known, parts: list[Labelled]) -> bool:
    """Nothing was held there, and the wire can tell."""
    source, where = known
    part = parts[source]
    return where not in part.holds and not any(
        is_other_wait(part.truth, where, flag) for flag in ("nagle_too", "undecidable")
    )


def left(frames: Frames, parts: list[Labelled]) -> set[Known]:
    """The true stalls that the frames still show."""
    at: dict[tuple[int, int], int] = {}
    for index, frame in enumerate(frames):
        at.setdefault((frame.source, frame.number), index)
    found: set[Known] = set()
    for source, part in enumerate(parts):
        for where, hold in part.holds.items():
            needs = part.traced.needs.get(where, (0, 0, 0))
            places = [at.get((source, number), -1) for number in needs]
            if is_true_stall(hold) and places[0] >= 0 and places == sorted(set(places)):
                found.add((source, where))
    return found
