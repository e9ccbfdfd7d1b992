"""Captures made from captures: compressed, cut off, coarse in time, incomplete, of two taps.

Each function takes the source capture and the path to write, and maybe a number:
'thinned:0.01'. Sources are the classic pcap files that tcpdump writes here
(microseconds, little endian).
"""

from __future__ import annotations

import gzip
import random
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

FILE_HEADER, RECORD_HEADER = 24, 16


def make(what: str, source: Path, target: Path) -> None:
    """Call the function with this name, and the number behind the colon if there is one."""
    name, _, number = what.partition(":")
    globals()[name](source, target, *([float(number)] if number else []))


def records(capture: Path) -> Iterator[tuple[int, bytes]]:
    """Time in microseconds, and the rest of each record: lengths and frame."""
    data, at = capture.read_bytes(), FILE_HEADER
    while at < len(data):
        seconds, micros, length = struct.unpack_from("<III", data, at)
        yield seconds * 1_000_000 + micros, data[at + 8 : at + RECORD_HEADER + length]
        at += RECORD_HEADER + length


def kept(source: Path, target: Path, chosen: Iterable[tuple[int, bytes]]) -> None:
    """The file's header, and these times in microseconds and rests of records."""
    parts = [source.read_bytes()[:FILE_HEADER]]
    parts += (struct.pack("<II", *divmod(us, 1_000_000)) + rest for us, rest in chosen)
    target.write_bytes(b"".join(parts))


def only(tcpdump_filter: str, source: Path, target: Path) -> None:
    """What tcpdump's filter lets through."""
    command = ["tcpdump", "-Z", "root", "-r", str(source), "-w", str(target), tcpdump_filter]
    subprocess.run(command, check=True, capture_output=True)


def gzipped(source: Path, target: Path) -> None:
    """Compressed with gzip."""
    with source.open("rb") as plain, gzip.open(target, "wb") as packed:
        shutil.copyfileobj(plain, packed)


def zstandard(source: Path, target: Path) -> None:
    """Compressed with zstd."""
    subprocess.run(["zstd", "-q", "-f", source, "-o", target], check=True)


def cut(source: Path, target: Path) -> None:
    """The last third missing, in the middle of a record."""
    data = source.read_bytes()
    wanted, at = len(data) * 2 // 3, FILE_HEADER
    for _, rest in records(source):
        if at + len(rest) + 8 > wanted:
            break
        at += len(rest) + 8
    target.write_bytes(data[: at + RECORD_HEADER + 20])


def joined(source: Path, target: Path, share: float) -> None:
    """This share of the frames missing at the beginning: the connections were open by then."""
    frames = list(records(source))
    kept(source, target, frames[round(len(frames) * share) :])


def coarse(source: Path, target: Path, step_ms: float) -> None:
    """A clock that ticks every so many milliseconds."""
    step_us = round(step_ms * 1000)
    retimed(source, target, lambda us: us // step_us * step_us)


def uneven(source: Path, target: Path, mean_ms: float) -> None:
    """A clock of whole milliseconds that is set at uneven moments, as a loaded machine does it."""
    dice, ticks = random.Random(1), [0]

    def last_tick(us: int) -> int:
        if ticks[0] == 0:
            ticks[0] = us
        while (next_tick := ticks[0] + round(dice.uniform(0.2, 1.8) * mean_ms * 1000)) <= us:
            ticks[0] = next_tick
        return ticks[0] // 1000 * 1000

    retimed(source, target, last_tick)


def shifted(source: Path, target: Path, late_ms: float) -> None:
    """A clock that is late by so much, or early."""
    retimed(source, target, lambda us: us + round(late_ms * 1000))


def retimed(source: Path, target: Path, clock: Callable[[int], int]) -> None:
    """With the times that another clock would have written, in microseconds."""
    kept(source, target, ((clock(us), rest) for us, rest in records(source)))


def thinned(source: Path, target: Path, share: float = 0.05) -> None:
    """This share of the frames missing, as when the capture could not keep up."""
    chance = random.Random(1)
    kept(source, target, (record for record in records(source) if chance.random() > share))


def big_endian(source: Path, target: Path) -> None:
    """As a machine of the other byte order writes it."""
    parts = [struct.pack(">IHHiIII", *struct.unpack("<IHHiIII", source.read_bytes()[:FILE_HEADER]))]
    for us, rest in records(source):
        lengths = struct.unpack_from("<II", rest)
        parts.append(struct.pack(">IIII", *divmod(us, 1_000_000), *lengths) + rest[8:])
    target.write_bytes(b"".join(parts))


def two_taps(source: Path, target: Path) -> None:
    """Both ends in one file, in the order of time: every frame twice, one way apart."""
    subprocess.run(
        ["mergecap", "-F", "pcap", "-w", target, source, source.with_name("server.pcap")],
        check=True,
    )


def two_clocks(source: Path, target: Path, late_ms: float) -> None:
    """Both ends in one file, the server's by a clock that is late by so much, or early."""
    with tempfile.TemporaryDirectory() as folder:
        server = Path(folder) / "server.pcap"
        shifted(source.with_name("server.pcap"), server, late_ms)
        subprocess.run(["mergecap", "-F", "pcap", "-w", target, source, server], check=True)


def mirrored(source: Path, target: Path) -> None:
    """Every frame twice, 2 us apart, as from a mirror port that copies both ways."""
    kept(source, target, ((us + late, rest) for us, rest in records(source) for late in (0, 2)))
