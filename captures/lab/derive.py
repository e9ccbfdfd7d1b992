"""Captures made from captures: compressed, cut off, coarse in time, incomplete, of two taps.

A function by name takes the source capture and the path to write, and maybe a number:
'thinned:0.01'. Sources are the classic pcap files that tcpdump writes here (microseconds, little
endian).
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import disturb
from disturb import MS, Frames


def make(what: str, source: Path, target: Path) -> None:
    """Make a capture by a function's name, and the number behind the colon if there is one."""
    name, _, number = what.partition(":")
    numbers = [float(number)] if number else []
    if name in FILES:
        FILES[name](source, target, *numbers)
    else:
        capture = disturb.read(source)
        disturb.write(target, capture, FRAMES[name](capture.frames, *numbers))


def only(tcpdump_filter: str, source: Path, target: Path) -> None:
    """The frames that tcpdump's filter lets through."""
    command = ["tcpdump", "-Z", "root", "-r", str(source), "-w", str(target), tcpdump_filter]
    subprocess.run(command, check=True, capture_output=True)


# -- frame by frame -------------------------------------------------------------------------------


def uneven(frames: Frames, mean_ms: float) -> Frames:
    """A clock of whole milliseconds that is set at uneven moments, as a loaded machine does it."""
    dice, tick_ns, made = Random(1), frames[0].time_ns if frames else 0, []
    for frame in frames:
        while (next_ns := tick_ns + round(dice.uniform(0.2, 1.8) * mean_ms * 1e3) * 1000) <= (
            frame.time_ns
        ):
            tick_ns = next_ns
        made.append(replace(frame, time_ns=tick_ns // MS * MS))
    return made


FRAMES: dict[str, Callable[..., Frames]] = {
    # the connections were open by then
    "joined": lambda frames, share: disturb.without(frames, Random(), 0.0, share),
    "coarse": lambda frames, tick_ms: disturb.coarse(frames, Random(), round(tick_ms * MS)),
    "uneven": uneven,
    # the capture could not keep up
    "thinned": lambda frames, share=0.05: disturb.thinned(frames, Random(1), share),
    # a mirror port that copies both ways
    "mirrored": lambda frames: disturb.doubled(frames, Random(), 1.0),
}

# -- file by file ---------------------------------------------------------------------------------


def gzipped(source: Path, target: Path) -> None:
    """Compressed with gzip."""
    with source.open("rb") as plain, gzip.open(target, "wb") as packed:
        shutil.copyfileobj(plain, packed)


def zstandard(source: Path, target: Path) -> None:
    """Compressed with zstd."""
    subprocess.run(["zstd", "-q", "-f", source, "-o", target], check=True)


def cut(source: Path, target: Path) -> None:
    """The last third missing, from within a record on."""
    data = source.read_bytes()
    target.write_bytes(data[: len(data) * 2 // 3])


def big_endian(source: Path, target: Path) -> None:
    """The capture as a machine of the other byte order writes it."""
    capture = disturb.read(source)
    disturb.write(target, capture, capture.frames, endianness=">")


def both_ends(source: Path, target: Path, late_ms: float = 0.0) -> None:
    """Both ends in one file, in the order of time; the server's clock may be late, or early."""
    client, server = (disturb.read(path) for path in (source, source.with_name("server.pcap")))
    late_ns = round(late_ms * 1000) * 1000
    shifted = [replace(frame, time_ns=frame.time_ns + late_ns) for frame in server.frames]
    disturb.write(target, client, disturb.in_order([*client.frames, *shifted]))


FILES: dict[str, Callable[..., None]] = {
    "gzipped": gzipped,
    "zstandard": zstandard,
    "cut": cut,
    "big_endian": big_endian,
    "both_ends": both_ends,
}
