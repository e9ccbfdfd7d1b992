"""TCP packets of a capture, as Wireshark decodes them (so tcp.stream is Wireshark's own)."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

OPTIONS = (
    *("-Y", "tcp", "-T", "fields", "-E", "occurrence=l"),
    *("-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE"),
)
FIN, SYN, RST, ACK, URG = 1, 2, 4, 16, 32
MODULUS = 1 << 32


NO_MSS_OPTION = 536
# The fields that tshark decodes, in the order of a Packet's after the time.
FIELDS = (
    *("frame.number", "tcp.stream", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw"),
    *("tcp.len", "tcp.flags", "tcp.window_size_value", "tcp.options.mss_val"),
    *("tcp.options.wscale.shift", "tcp.options.timestamp.tsval"),
)


class Packet(NamedTuple):
    """A TCP segment, with the sequence numbers of the wire; the options are those of a SYN."""

    time_ns: int
    frame: int
    stream: int
    source_port: int
    target_port: int
    seq: int
    ack: int
    length: int
    flags: int
    window: int
    mss: int
    window_shift: int | None
    timestamp: int | None

    @property
    def end(self) -> int:
        """Sequence number after its last payload byte."""
        return (self.seq + self.length) % MODULUS


def later(a: int, b: int) -> bool:
    """Sequence number a lies after b."""
    return a != b and (a - b) % MODULUS < MODULUS // 2


def read_packets(capture: Path) -> list[Packet]:
    """All TCP packets of a capture, also of one that ends in the middle of a packet."""
    return list(_read(capture, capture.stat().st_mtime_ns))


@lru_cache(maxsize=32)  # written and then checked
def _read(capture: Path, _written_ns: int) -> tuple[Packet, ...]:
    return tuple(_packet(line.split("\t")) for line in decoded(capture).splitlines())


def decoded(capture: Path) -> str:
    """tshark's fields of the TCP packets in a capture, a line each."""
    command = ["tshark", "-n", "-r", str(capture), *OPTIONS]
    for field in ("frame.time_epoch", *FIELDS):
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "cut short" not in done.stderr:
        raise RuntimeError(f"tshark: {capture}: {done.stderr.strip()}")
    return done.stdout


def _packet(row: list[str]) -> Packet:
    seconds, fraction = row[0].split(".")
    time_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
    *numbers, mss, window_shift, timestamp = (int(cell, 0) if cell else None for cell in row[1:])
    known = (number or 0 for number in numbers)
    return Packet._make([time_ns, *known, mss or NO_MSS_OPTION, window_shift, timestamp])


class Direction:
    """One direction of one connection in one capture: what S sent, and what R sent back."""

    def __init__(self, packets: list[Packet], sender_port: int, receiver_port: int) -> None:
        self.ports = sender_port, receiver_port
        pair = set(self.ports)
        self.all = [p for p in packets if {p.source_port, p.target_port} == pair]
        self.sent = [p for p in self.all if p.source_port == sender_port]
        self.sent_set = set(self.sent)
        self.received = [p for p in self.all if p.source_port == receiver_port]

    @property
    def base(self) -> int:
        """Sequence number of stream offset 0; of the first one seen without a SYN."""
        first = self.sent[0]
        return (first.seq + 1) % MODULUS if first.flags & SYN else first.seq

    def offset(self, seq: int) -> int:
        """Stream offset of a sequence number."""
        return (seq - self.base) % MODULUS

    def new_segments(self) -> list[Packet]:
        """Data sent for the first time: starts where everything before it ended."""
        new: list[Packet] = []
        end: int | None = None
        for p in self.sent:
            if p.length and (end is None or not later(end, p.seq)):
                new.append(p)
            if p.length and (end is None or later(p.end, end)):
                end = p.end
        return new
