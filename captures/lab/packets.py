"""TCP packets of a capture, as Wireshark decodes them (so tcp.stream is Wireshark's own)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FIELDS = (
    "frame.number",
    "frame.time_epoch",
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
)
OPTIONS = (
    *("-Y", "tcp", "-T", "fields", "-E", "occurrence=l"),
    *("-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE"),
)
FIN, SYN, RST, ACK, URG = 1, 2, 4, 16, 32
MODULUS = 1 << 32


NO_MSS_OPTION = 536


@dataclass(frozen=True)
class Options:
    """TCP options that a SYN announces."""

    mss: int
    window_shift: int | None
    timestamps: bool


@dataclass(frozen=True)
class Packet:
    """A TCP segment, with the sequence numbers of the wire."""

    frame: int
    time_ns: int
    stream: int
    source_port: int
    target_port: int
    seq: int
    ack: int
    length: int
    flags: int
    window: int
    options: Options

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
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "cut short" not in done.stderr:
        raise RuntimeError(f"tshark: {capture}: {done.stderr.strip()}")
    return done.stdout


def _packet(row: list[str]) -> Packet:
    seconds, fraction = row[1].split(".")
    return Packet(
        frame=int(row[0]),
        time_ns=int(seconds) * 10**9 + int(fraction.ljust(9, "0")),
        stream=int(row[2]),
        source_port=int(row[3]),
        target_port=int(row[4]),
        seq=int(row[5]),
        ack=int(row[6] or 0),
        length=int(row[7]),
        flags=int(row[8], 16),
        window=int(row[9]),
        options=Options(
            mss=int(row[10] or NO_MSS_OPTION),
            window_shift=int(row[11]) if row[11] else None,
            timestamps=bool(row[12]),
        ),
    )


class Direction:
    """One direction of one connection in one capture: what S sent, and what R sent back."""

    def __init__(self, packets: list[Packet], sender_port: int, receiver_port: int) -> None:
        pair = {sender_port, receiver_port}
        self.all = [p for p in packets if {p.source_port, p.target_port} == pair]
        self.sent = [p for p in self.all if p.source_port == sender_port]
        self.sent_set = set(self.sent)
        self.received = [p for p in self.all if p.source_port == receiver_port]
        self.streams = sorted({p.stream for p in self.all})
        self.base = self._first_payload_seq()

    def _first_payload_seq(self) -> int | None:
        """Sequence number of stream offset 0; of the first one seen when there is no SYN."""
        for p in self.sent:
            return (p.seq + 1) % MODULUS if p.flags & SYN else p.seq
        return None

    def offset(self, seq: int) -> int:
        """Stream offset of a sequence number."""
        if self.base is None:
            raise ValueError("nothing that this side sent was captured")
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
