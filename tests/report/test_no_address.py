"""`--anonymize`: no address of a host, IPv4, IPv6 or MAC, is in any byte of any output.

As text and as bytes in both orders, whatever the capture carries addresses in. What the promise
leaves out is chance: a sequence number, a time or a new address may happen to have the same bytes.
"""

from __future__ import annotations

import ipaddress
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, Run
from conversation import Conversation, Frame, block, interleaved, records, stalled
from nagle_scan.report import formats
from nagle_scan.report.formats import OF_MANY
from nagle_scan.report.options import Options
from scapy.layers.inet import IP, TCP, IPOption
from scapy.layers.inet6 import (
    HAO,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

KEY = bytes(range(32))
PNG = b"\x89PNG\r\n\x1a\n"
TEXTS = (".json", ".csv", ".md", ".xml", ".pcapng")
"""Pages and pictures take seconds: they are written of fewer captures."""


class Hosts:
    """Random addresses, and every form of each that an output must not hold."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.forms: set[bytes] = set()
        self.is_routed = False
        self.link_type = list(LINKS)[seed % len(LINKS)]

    def _bytes(self, length: int) -> bytes:
        # No byte that text and headers are full of.
        made = bytes(self.random.randrange(0x80, 0xF0) for _ in range(length))
        self.forms |= {made, made[::-1]}
        return made

    def ip(self, length: int) -> str:
        addr = ipaddress.ip_address(self._bytes(length))
        texts = {addr.compressed, addr.exploded, addr.compressed.replace(".", "-")}
        self.forms |= {text.encode() for text in texts}
        return addr.compressed

    def mac(self) -> str:
        made = bytes([0xA2]) + self._bytes(5)
        self.forms |= {made.hex(sign).encode() for sign in ":-"} | {made.hex().encode()}
        return made.hex(":")

    def found(self, content: bytes) -> list[bytes]:
        return [form for form in self.forms if form in content]


def packed(addr: str) -> bytes:
    return ipaddress.ip_address(addr).packed


def ip4(hosts: Hosts) -> Callable[[str, str], Packet]:
    one = packed(hosts.ip(4))
    # Record route, LSRR, SSRR, timestamps with addresses, router alert, unknown.
    options = [
        b"\x07\x07\x08" + one,
        b"\x83\x07\x04" + one,
        b"\x89\x07\x08" + one,
        b"\x44\x0c\x0d\x01" + one + bytes(4),
        b"\x94\x04\x00\x00",
        b"\x9e\x06" + one,
    ]
    chosen = hosts.random.sample(options, hosts.random.randrange(4))
    hosts.is_routed |= any(option[0] in (0x83, 0x89) for option in chosen)
    return lambda source, to: IP(
        src=source, dst=to, tos=8, ttl=61, options=[IPOption(option) for option in chosen]
    )


def ip6(hosts: Hosts) -> Callable[[str, str], Packet]:
    one = hosts.ip(16)
    headers: list[Callable[[], Packet]] = [
        lambda: IPv6ExtHdrHopByHop(options=[PadN(otype=30, optdata=packed(one))]),
        lambda: IPv6ExtHdrDestOpt(options=[HAO(hoa=one)]),
        lambda: IPv6ExtHdrRouting(type=hosts.random.choice([0, 2, 4]), addresses=[one]),
    ]
    chosen = [header for header in headers if hosts.random.random() < 0.5]
    hosts.is_routed |= headers[2] in chosen

    def network(source: str, to: str) -> Packet:
        made = IPv6(src=source, dst=to, tc=8, fl=int.from_bytes(packed(one)[:2], "big"))
        for header in chosen:
            made = made / header()
        return made

    return network


def with_options(frame: Frame, hosts: Hosts, addr: bytes) -> None:
    """TCP options that hold addresses: MPTCP's ADD_ADDR, TOA, and what nobody knows."""
    kinds = [(30, b"\x30\x01" + addr), (254, b"\x1f\x90" + addr), (77, addr), (28, addr[:2])]
    segment = frame.packet[TCP]
    segment.options = [*segment.options, *hosts.random.sample(kinds, 2)]


def in_ethernet(packet: Packet, macs: list[bytes]) -> bytes:
    """With a VLAN tag, and an address where the frame is padded."""
    source, to, padding = macs
    return bytes(Ether(src=source.hex(":"), dst=to.hex(":")) / Dot1Q(vlan=7) / packet) + padding


def cooked(packet: Packet, macs: list[bytes]) -> bytes:
    kind = struct.pack(">H", 0x86DD if IPv6 in packet else 0x0800)
    return struct.pack(">HHH", 0, 1, 6) + macs[0] + b"\x00\x00" + kind + bytes(packet)


def cooked2(packet: Packet, macs: list[bytes]) -> bytes:
    kind = 0x86DD if IPv6 in packet else 0x0800
    head = struct.pack(">HHIHBB", kind, 0, 2, 1, 0, 6)
    return head + macs[0] + b"\x00\x00" + bytes(packet)


def raw(packet: Packet, _: list[bytes]) -> bytes:
    return bytes(packet)


LINKS = {1: in_ethernet, 113: cooked, 276: cooked2, 101: raw}


def generated(hosts: Hosts, folder: Path) -> Path:
    """A capture in which everything that can hold an address does; its name too."""
    made = []
    for number, (length, network) in enumerate(((4, ip4), (16, ip6))):
        one = Conversation(
            (hosts.ip(length), 40000),
            (hosts.ip(length), 8000),
            isn={"client": 1000 + number, "server": 5000},
            network=network(hosts),
            now_ms=0.37 * number,
        )
        stalled(one)
        addr = packed(hosts.ip(4))
        for frame in one.frames:
            with_options(frame, hosts, addr)
        made.append(one)
    macs = [bytes.fromhex(hosts.mac().replace(":", "")) for _ in range(3)]
    rows = records(interleaved(*made), lambda packet: LINKS[hosts.link_type](packet, macs))
    path = folder / f"web-{hosts.ip(4)}-{hosts.mac().replace(':', '-')}.pcapng"
    path.write_bytes(pcapng_of(hosts.link_type, rows, hosts))
    return path


def pcapng_of(link_type: int, rows: list[tuple[int, bytes]], hosts: Hosts) -> bytes:
    """With addresses in every block and option that may hold them."""

    def option(code: int, content: bytes) -> bytes:
        return struct.pack("<HH", code, len(content)) + content + bytes(-len(content) % 4)

    def text() -> bytes:
        return f"host {hosts.ip(4)} {hosts.ip(16)} {hosts.mac()}".encode()

    four, mac = packed(hosts.ip(4)), bytes.fromhex(hosts.mac().replace(":", ""))
    section = b"".join(option(code, text()) for code in (1, 2, 3, 4)) + option(0, b"")
    face = b"".join(option(code, text()) for code in (1, 2, 3, 11, 12)) + option(4, four * 2)
    face += option(5, packed(hosts.ip(16)) + b"\x40") + option(6, mac) + option(0, b"")
    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + section),
        block(1, struct.pack("<HHI", link_type, 0, 0) + face),
        block(4, option(1, four + b"db\0") + option(0, b"")),
        block(0xBAD, struct.pack("<I", 32473) + four * 4),
    ]
    for time_ns, frame in rows:
        high, low = divmod(time_ns // 1000, 2**32)
        head = struct.pack("<IIIII", 0, high, low, len(frame), len(frame))
        body = head + frame + bytes(-len(frame) % 4)
        parts.append(block(6, body + option(1, text()) + option(0, b"")))
    return b"".join(parts)


def contents(path: Path) -> Iterator[bytes]:
    """What a file holds, or each file of a bundle: in what is packed, any four bytes may stand."""
    if path.suffix != ".zip":
        yield without_pixels(path.read_bytes())
        return
    with zipfile.ZipFile(path) as bundle:
        yield bundle.comment
        for item in bundle.infolist():
            yield item.filename.encode() + item.comment + item.extra
            yield without_pixels(bundle.read(item))


def without_pixels(content: bytes) -> bytes:
    """Pixels of a PNG are packed, too; its texts are not."""
    if not content.startswith(PNG):
        return content
    kept, at = b"", len(PNG)
    while at < len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        kept += content[at : at + 12 + length] if kind != b"IDAT" else b""
        at += 12 + length
    return kept


def checksums_are_right(path: Path) -> bool:
    """Of the frames as they are in the file; cut payload counts as zeros."""
    rows: list[Any] = nagle_scan.scan(path).packets(range(1, 1000))
    for row in rows:
        whole = row.wirelen - len(bytes(row))
        packet = row / Raw(bytes(whole)) if whole else row
        again = packet.copy()
        del again[TCP].chksum
        if IP in again:
            del again[IP].chksum
        if bytes(again) != bytes(packet):
            return False
    return bool(rows)


@pytest.mark.parametrize("seed", range(12))
def test_no_address_of_a_generated_capture_is_anywhere(seed: int, tmp_path: Path) -> None:
    hosts = Hosts(seed)
    path = generated(hosts, tmp_path)
    assert hosts.found(path.read_bytes())
    plain, scan = nagle_scan.scan(path), nagle_scan.scan(path, anonymize=KEY)
    assert len(plain.stalls) == 6
    outputs = tmp_path / "out"
    outputs.mkdir()
    for suffix in TEXTS:
        written = outputs / f"x{suffix}"
        formats.write(scan, str(written), formats.of(str(written)), Options())
        assert hosts.found(written.read_bytes()) == [], suffix
    evidence = outputs / "x.pcapng"
    assert nagle_scan.scan(evidence).stalls.equals(plain.stalls)
    # The checksum of a routed packet is that of where it goes in the end, so wrong here.
    assert hosts.is_routed or checksums_are_right(evidence)


def test_nor_in_pages_pictures_tables_and_what_is_printed(run: Run, tmp_path: Path) -> None:
    hosts = Hosts(100)
    paths = [generated(hosts, tmp_path) for _ in range(2)]
    addr = nagle_scan.scan(paths[0]).connections.client_addr[0]
    named = f"web-{hosts.ip(4)}"
    chosen = [
        "--anonymize",
        "--exit-zero",
        "-f",
        f"host {addr} or greater 1",
        "--names",
        f"{addr}={named}",
    ]
    suffixes = (*TEXTS, ".html", ".svg", ".zip")
    wanted = [word for suffix in suffixes for word in ("-o", f"x{suffix}")]
    every = [word for suffix in OF_MANY for word in ("-o", f"every{suffix}")]
    (tmp_path / "one").mkdir()
    calls = [
        (paths[:1], wanted),
        (paths, ["-o", "many/", *every]),
        (paths, ["--merge"]),
    ]
    for captures, options in calls:
        done = run(*captures, *chosen, *options, cwd=tmp_path / "one")
        assert done.returncode == 0, done.stderr
        assert hosts.found(done.stdout) == []
    assert b"1 name left out: an address in it" in done.stderr
    written = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(written) == len(suffixes) + len(OF_MANY) + 8
    for path in written:
        assert not any(hosts.found(content) for content in contents(path)), path
        assert hosts.found(path.name.encode()) == []


def addresses(path: Path) -> set[str]:
    table = nagle_scan.scan(path).connections
    return {*table.client_addr, *table.server_addr}


SHIPPED = sorted(CAPTURES.glob("*.pcap")) + sorted(CAPTURES.glob("labelled/*/*.pcap*"))[::60]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_no_address_of_a_shipped_capture_is_anywhere(path: Path, tmp_path: Path) -> None:
    known, scan = addresses(path), nagle_scan.scan(path, anonymize=KEY)
    texts = {text for addr in known for text in (addr, ipaddress.ip_address(addr).exploded)}
    for suffix in TEXTS:
        written = tmp_path / f"x{suffix}"
        formats.write(scan, str(written), formats.of(str(written)), Options())
        content = written.read_bytes()
        assert [text for text in texts if text.encode() in content] == [], suffix
    # Headers hold the bytes of 127.0.0.1 by chance, too: those of fields are looked at.
    assert addresses(tmp_path / "x.pcapng").isdisjoint(known)


def test_the_search_finds_what_was_not_replaced(tmp_path: Path) -> None:
    """Else nothing here could fail."""
    hosts = Hosts(0)
    scan = nagle_scan.scan(generated(hosts, tmp_path))
    for suffix in TEXTS:
        written = tmp_path / f"x{suffix}"
        formats.write(scan, str(written), formats.of(str(written)), Options())
        assert hosts.found(written.read_bytes()), suffix
