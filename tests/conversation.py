"""Builds TCP conversations frame by frame, made with scapy, and writes them as captures."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

Side = Literal["client", "server"]
Network = Callable[[str, str], Packet]
"""From source and destination address to the packet that will hold the segment."""

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
ETHERNET = 1


@dataclass(eq=False)
class Frame:
    """An IP packet, when it was captured and who sent it."""

    time_ns: int
    sender: Side
    packet: Packet


@dataclass(frozen=True)
class Hold:
    """A stall as it was built: the unacknowledged segment, its ACK and what that released."""

    unacked: Frame
    ack: Frame
    held: Frame
    rel_seq: int
    length: int
    sender: Side


Found = tuple[int, int, int, int, int, str]
"""A stall as it is reported: three frame numbers, rel_seq, len, sender."""


def numbered(holds: Iterable[Hold], frames: Sequence[Frame]) -> list[Found]:
    """The stalls that were built, with the numbers their frames have in a capture."""
    number = {id(frame): index for index, frame in enumerate(frames, 1)}
    return [
        (
            number[id(hold.unacked)],
            number[id(hold.ack)],
            number[id(hold.held)],
            hold.rel_seq,
            hold.length,
            hold.sender,
        )
        for hold in holds
    ]


def ip(source: str, destination: str) -> Packet:
    """A header of IPv4 or IPv6, as the addresses are."""
    return (IPv6 if ":" in source else IP)(src=source, dst=destination)


CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 8000)


@dataclass
class Conversation:
    """One TCP connection, captured at the client: the round trip lies between it and the server."""

    client: tuple[str, int] = CLIENT
    server: tuple[str, int] = SERVER
    isn: dict[Side, int] = field(default_factory=dict)
    """Other ends have others, as stacks choose them: else one connection is the other's copy."""
    network: Network = ip
    rtt_ms: float = 1.0
    now_ms: float = 0.0
    frames: list[Frame] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends = repr((*self.client, *self.server)).encode()
        other = crc32(ends) ^ crc32(repr((*CLIENT, *SERVER)).encode())
        self.isn = self.isn or {"client": 1000 + other % 2**31, "server": 5000 + other % 2**30}
        self.sent: dict[Side, int] = {"client": 0, "server": 0}
        self.acked: dict[Side, int] = {"client": 0, "server": 0}

    def _segment(self, sender: Side, flags: str, seq: int, payload: bytes = b"") -> Frame:
        (source, sport), (destination, dport) = self.client, self.server
        if sender == "server":
            (source, sport), (destination, dport) = self.server, self.client
        peer: Side = "server" if sender == "client" else "client"
        acknowledged = (self.isn[peer] + 1 + self.acked[peer]) % 2**32 if "A" in flags else 0
        segment = TCP(
            sport=sport,
            dport=dport,
            flags=flags,
            seq=seq % 2**32,
            ack=acknowledged,
            window=64240,
            options=[("MSS", 1460)] if "S" in flags else [],
        )
        packet = self.network(source, destination) / segment
        if IP in packet:
            packet[IP].id = 1000 + len(self.frames)
        if payload:
            packet = packet / Raw(payload)
        frame = Frame(START_NS + round(self.now_ms * MS), sender, packet)
        self.frames.append(frame)
        return frame

    def wait(self, milliseconds: float) -> None:
        self.now_ms += milliseconds

    def open(self) -> None:
        """The three frames of the handshake."""
        self._segment("client", "S", self.isn["client"])
        self.wait(self.rtt_ms)
        self._segment("server", "SA", self.isn["server"])
        self.wait(0.02)
        self.ack("client")

    def data(self, sender: Side, length: int, flags: str = "PA") -> Frame:
        """New data; it acknowledges nothing that `ack` has not acknowledged before."""
        seq = self.isn[sender] + 1 + self.sent[sender]
        frame = self._segment(sender, flags, seq, bytes(length))
        self.sent[sender] += length
        return frame

    def again(self, sender: Side, length: int) -> Frame:
        """The last `length` bytes once more."""
        seq = self.isn[sender] + 1 + self.sent[sender] - length
        return self._segment(sender, "PA", seq, bytes(length))

    def ack(self, receiver: Side) -> Frame:
        """A pure ACK of everything the peer has sent."""
        peer: Side = "server" if receiver == "client" else "client"
        self.acked[peer] = self.sent[peer]
        seq = self.isn[receiver] + 1 + self.sent[receiver]
        return self._segment(receiver, "A", seq)

    def answer(self, length: int = 20) -> Frame:
        """The server's reply, one round trip from now, which acknowledges the request too."""
        self.wait(self.rtt_ms + 0.1)
        self.acked["client"] = self.sent["client"]
        frame = self.data("server", length)
        self.acked["server"] = self.sent["server"]
        return frame

    def stall(self, delay_ms: float = 40.0, first: int = 6, second: int = 7) -> Hold:
        """Write, write, read: the second piece leaves when the delayed ACK comes."""
        unacked = self.data("client", first)
        self.wait(self.rtt_ms + delay_ms)
        ack = self.ack("server")
        self.wait(0.02)
        rel_seq = self.sent["client"]
        held = self.data("client", second)
        self.answer()
        self.wait(5.0)
        hold = Hold(unacked, ack, held, rel_seq, second, "client")
        self.holds.append(hold)
        return hold

    def reply_in_two(
        self, ack_ms: float, release_ms: float, first: int = 90, second: int = 30
    ) -> None:
        """A reply whose first piece the client acknowledges after `ack_ms`, and whose second piece
        comes `release_ms` after that ACK.
        """
        self.acked["client"] = self.sent["client"]
        self.data("server", first)
        self.wait(ack_ms)
        self.ack("client")
        self.wait(release_ms)
        self.data("server", second)
        self.acked["server"] = self.sent["server"]

    def may_hold(self) -> None:
        """The second piece of a reply may as well be a program's late write."""
        self.data("client", 50)
        self.wait(self.rtt_ms)
        self.reply_in_two(40.0, self.rtt_ms + 1.9, first=100)
        self.wait(0.1)
        self.ack("client")


def connected(
    client: tuple[str, int] = CLIENT, server: tuple[str, int] = SERVER, **how: Any
) -> Conversation:
    """A connection that has been opened."""
    made = Conversation(client, server, **how)
    made.open()
    return made


def stalled(
    made: Conversation | None = None,
    rounds: int = 3,
    delay_ms: float = 40.0,
    first: int = 6,
    second: int = 7,
) -> Conversation:
    """A connection with one stall per round."""
    made = made or Conversation()
    made.open()
    made.wait(1.0)
    for _ in range(rounds):
        made.stall(delay_ms, first, second)
    return made


def over_ipv6(now_ms: float = 0.0) -> Conversation:
    """A connection between IPv6 addresses."""
    return Conversation(("2001:db8::1", 40000), ("2001:db8::2", 8000), now_ms=now_ms)


def interleaved(*conversations: Conversation) -> list[Frame]:
    """The frames of several connections in the order of time."""
    frames = [frame for conversation in conversations for frame in conversation.frames]
    return sorted(frames, key=lambda frame: frame.time_ns)


def ethernet() -> Packet:
    """A header with addresses of its own: scapy would ask the network for them."""
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def in_ethernet(packet: Packet) -> bytes:
    return bytes(ethernet() / packet)


def pcap(
    records: Iterable[tuple[int, bytes]], link_type: int = ETHERNET, snap_length: int = 262_144
) -> bytes:
    """A capture file of (time in ns, frame), with microseconds."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap_length, link_type)]
    for time_ns, frame in records:
        seconds, rest_ns = divmod(time_ns, 1_000_000_000)
        captured = frame[:snap_length]
        header = (seconds, rest_ns // 1000, len(captured), len(frame))
        parts += [struct.pack("<IIII", *header), captured]
    return b"".join(parts)


def records(
    frames: Iterable[Frame], link: Callable[[Packet], bytes] = in_ethernet
) -> list[tuple[int, bytes]]:
    return [(frame.time_ns, link(frame.packet)) for frame in frames]


def write(path: Path, frames: Iterable[Frame], snap_length: int = 262_144) -> Path:
    """An ordinary Ethernet capture."""
    path.write_bytes(pcap(records(frames), snap_length=snap_length))
    return path


def write_timed(path: Path, frames: Iterable[tuple[float, Packet]]) -> Path:
    """A capture of IP packets, each so many seconds after the first, numbered as one host would."""
    packets = []
    for number, (seconds, packet) in enumerate(frames):
        copy = packet.copy()
        copy.id = number + 1
        copy.time = 1_700_000_000 + seconds
        packets.append(copy)
    wrpcap(str(path), packets)
    return path


def block(kind: int, body: bytes) -> bytes:
    """A pcapng block, little-endian."""
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def option(code: int, value: bytes) -> bytes:
    """A block of pcapng, little-endian."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng_of_words(
    words: Callable[..., bytes],
    rows: Iterable[tuple[int, bytes]],
    resolved: bytes,
    more: bytes = b"",
) -> bytes:
    """A capture with words wherever options have room for them, `words(*codes)`; with a name in
    place of an address, and `more` options of its interface.
    """
    end = option(0, b"")
    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + words(1, 2, 3, 4) + end),
        block(1, struct.pack("<HHI", ETHERNET, 0, 0) + words(1, 2, 3, 11, 12, 15) + more + end),
        block(4, option(1, resolved) + end),
    ]
    for time_ns, data in rows:
        high, low = divmod(time_ns // 1000, 2**32)
        head = struct.pack("<IIIII", 0, high, low, len(data), len(data))
        parts.append(block(6, head + data + bytes(-len(data) % 4) + words(1) + end))
    return b"".join(parts)


def pcapng(interfaces: Sequence[int], packets: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Interfaces are link types; packets are (interface, time in ns, frame)."""
    parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts += [block(1, struct.pack("<HHI", link_type, 0, 0)) for link_type in interfaces]
    for interface, time_ns, frame in packets:
        high, low = divmod(time_ns // 1000, 2**32)
        head = struct.pack("<IIIII", interface, high, low, len(frame), len(frame))
        parts.append(block(6, head + frame))
    return b"".join(parts)
