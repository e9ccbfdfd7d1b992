"""Accidents of captures: its frames cut, lost, doubled, swapped, retimed, snapped.

Each function takes the frames of a capture and a Random and gives the frames of the disturbed one.
Every frame keeps the number that it had, so that what is found can be traced back to its truth.
Classic pcap files only, plain or gzipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from scapy.utils import RawPcapReader, RawPcapWriter

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)  # says that a file ends within a frame
US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000  # in ns
HOUR = 3600 * SECOND
SWAP_NS = 20 * US
BURST_CHANCE, BURST = 0.005, (3, 20)


@dataclass(frozen=True)
class Frame:
    """A frame, and which one of its capture it was."""

    time_ns: int
    data: bytes
    length: int
    number: int
    is_pure_ack: bool = False
    is_syn: bool = False
    sender: str = ""


Frames = list[Frame]
Disturbance = Callable[[Sequence[Frame], Random], Frames]


class Capture(NamedTuple):
    """The frames of a file."""

    link: int
    is_ns: bool
    frames: Frames


def read(path: Path) -> Capture:
    """A pcap file of either byte order; one that ends within a frame ends before it."""
    with RawPcapReader(str(path)) as packets:
        unit = 1 if packets.nano else US
        frames = [
            Frame(about.sec * SECOND + about.usec * unit, data, about.wirelen, number)
            for number, (data, about) in enumerate(packets, 1)
            if len(data) == about.caplen
        ]
        return Capture(packets.linktype, packets.nano, frames)


def write(path: Path, capture: Capture, frames: Sequence[Frame], endianness: str = "<") -> None:
    """These frames with the link type and the unit of time of a capture."""
    unit = 1 if capture.is_ns else US
    head: dict[str, Any] = {"linktype": capture.link, "nano": capture.is_ns}
    with RawPcapWriter(str(path), endianness=endianness, **head) as file:
        file.write_header(None)
        for frame in frames:
            seconds, ns = divmod(frame.time_ns, SECOND)
            file.write_packet(frame.data, sec=seconds, usec=ns // unit, wirelen=frame.length)


def unchanged(frames: Sequence[Frame], _: Random) -> Frames:
    """The frames, undisturbed."""
    return list(frames)


def without(frames: Sequence[Frame], _: Random, first: float, last: float) -> Frames:
    """All frames but those from the share `first` of the capture to the share `last`."""
    count = len(frames)
    return [*frames[: round(first * count)], *frames[round(last * count) :]]


def thinned(frames: Sequence[Frame], dice: Random, share: float, pure_acks: bool = False) -> Frames:
    """All frames but for a random share of them, or of the pure ACKs among them."""
    return [f for f in frames if (pure_acks and not f.is_pure_ack) or dice.random() >= share]


def in_bursts(frames: Sequence[Frame], dice: Random) -> Frames:
    """All frames but for random runs of consecutive ones."""
    kept, missing = [], 0
    for frame in frames:
        if not missing and dice.random() < BURST_CHANCE:
            missing = dice.randint(*BURST)
        if missing:
            missing -= 1
        else:
            kept.append(frame)
    return kept


def tick(frames: Sequence[Frame]) -> int:
    """The step in which all times lie, in ns: how coarse the clock of the capture is."""
    return gcd(*(frame.time_ns - frames[0].time_ns for frame in frames)) or 1


def doubled(frames: Sequence[Frame], dice: Random, share: float) -> Frames:
    """This share of the frames twice, 2 us apart unless the capture's clock is coarser."""
    tick_ns = tick(frames)
    later_ns = 2 * US // tick_ns * tick_ns
    return in_order(
        copy
        for frame in frames
        for copy in (frame, replace(frame, time_ns=frame.time_ns + later_ns))[
            : 1 + (dice.random() < share)
        ]
    )


def swapped(frames: Sequence[Frame], dice: Random) -> Frames:
    """Times off by up to 20 us, and frames in the order of these, as where two ports are merged.

    A clock of coarser ticks shows nothing of it.
    """
    tick_ns = max(US, tick(frames))
    most = SWAP_NS // tick_ns
    return in_order(
        replace(f, time_ns=f.time_ns + dice.randint(-most, most) * tick_ns) for f in frames
    )


def stepped(frames: Sequence[Frame], _: Random, back_ns: int) -> Frames:
    """A clock that is set back once, in the middle."""
    half = len(frames) // 2
    return [
        replace(f, time_ns=f.time_ns - back_ns) if at >= half else f for at, f in enumerate(frames)
    ]


def slow_handshake(frames: Sequence[Frame], _: Random, by_ns: int) -> Frames:
    """Each SYN earlier by this: its answer looks slow, by ARP, a firewall or a busy peer."""
    return in_order(replace(f, time_ns=f.time_ns - by_ns) if f.is_syn else f for f in frames)


def late_direction(frames: Sequence[Frame], dice: Random, most_ns: int) -> Frames:
    """A tap that reads the server's frames at its own polls, each up to this later."""
    return in_order(
        replace(f, time_ns=f.time_ns + dice.randint(0, most_ns // US) * US)
        if f.sender == "server"
        else f
        for f in frames
    )


def early_stamp(frames: Sequence[Frame], _: Random) -> Frames:
    """One frame in the middle stamped as the one before it, of the other side."""
    found = list(frames)
    for at in range(len(found) // 2, len(found)):
        last, own = found[at - 1], found[at]
        if own.sender and last.sender and own.sender != last.sender:
            found[at] = replace(own, time_ns=last.time_ns)
            break
    return found


def coarse(frames: Sequence[Frame], _: Random, tick_ns: int) -> Frames:
    """Times rounded down to the ticks of a coarse clock."""
    return [replace(f, time_ns=f.time_ns // tick_ns * tick_ns) for f in frames]


def snapped(frames: Sequence[Frame], _: Random, most: int) -> Frames:
    """Frames cut to their first bytes, at most this number."""
    return [replace(f, data=f.data[:most]) for f in frames]


def in_order(frames: Iterable[Frame]) -> Frames:
    """By time; at the same time as they were."""
    return sorted(frames, key=lambda f: f.time_ns)


DISTURBANCES: dict[str, Disturbance] = {
    "as it is": unchanged,
    "first 15 % missing": partial(without, first=0.0, last=0.15),
    "first 40 % missing": partial(without, first=0.0, last=0.40),
    "last 15 % missing": partial(without, first=0.85, last=1.0),
    "last 40 % missing": partial(without, first=0.60, last=1.0),
    "middle 20 % missing": partial(without, first=0.40, last=0.60),
    "30 % of pure ACKs lost": partial(thinned, share=0.30, pure_acks=True),
    "3 % of frames lost": partial(thinned, share=0.03),
    "bursts of frames lost": in_bursts,
    "5 % of frames doubled": partial(doubled, share=0.05),
    "all frames doubled": partial(doubled, share=1.0),
    "swapped within 20 us": swapped,
    "clock back by 1 h": partial(stepped, back_ns=HOUR),
    "clock back by 30 ms": partial(stepped, back_ns=30 * MS),
    "SYN 0.5 ms earlier": partial(slow_handshake, by_ns=MS // 2),
    "SYN 2 ms earlier": partial(slow_handshake, by_ns=2 * MS),
    "one stamp too early": early_stamp,
    "server stamped 0.25 ms late": partial(late_direction, most_ns=MS // 4),
    "clock of 1 ms": partial(coarse, tick_ns=MS),
    "clock of 10 ms": partial(coarse, tick_ns=10 * MS),
    "snap length 54": partial(snapped, most=54),
    "snap length 64": partial(snapped, most=64),
    "snap length 80": partial(snapped, most=80),
}
