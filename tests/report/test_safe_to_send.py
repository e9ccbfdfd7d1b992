"""Nothing of the payload and, where asked for, no address leaves in any output."""

from __future__ import annotations

import ipaddress
import random
import re
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
from conftest import CAPTURES, Run, write_evidence
from conversation import (
    Conversation,
    Frame,
    interleaved,
    ipv4,
    ipv6,
    pcap,
    records,
    stalled,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from nagle_scan import _core
from nagle_scan.report import formats
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

KEY = bytes(range(32))
COMPRESSED = {".png", ".zip"}
"""A few bytes occur in them by chance. Pictures show what the SVG shows, and a bundle holds what
stands beside it: these are searched."""
SEARCHED = [suffix for suffix in formats.SUFFIXES if suffix not in COMPRESSED]
DRAWN = "jdk-httpserver"
"""The capture of which pictures and bundles are written too: they take most of the time."""
NAMES = sorted(path.stem for path in CAPTURES.glob("*.pcap"))


def every_output(
    run: Run,
    capture: Path,
    folder: Path,
    *options: str | Path,
    suffixes: Sequence[str] = SEARCHED,
) -> dict[str, bytes]:
    """The report and each kind of file for `capture`."""
    folder.mkdir()
    wanted = [word for suffix in suffixes for word in ("-o", folder / f"x{suffix}")]
    done = run(capture, "--exit-zero", *options, *wanted)
    said = [line for line in done.stderr.splitlines() if b" has no effect on " not in line]
    assert (done.returncode, said) == (0, [])
    files = {suffix: (folder / f"x{suffix}").read_bytes() for suffix in suffixes}
    # Without the names of the files.
    return {"report": done.stdout.partition(b"\n\nwrote ")[0], **files}


# Payload.


def with_other_payload(source: Path, target: Path, seed: int) -> list[bytes]:
    """A copy with random payload of the same lengths and right checksums; returns the payloads."""
    content = source.read_bytes()
    numbers = random.Random(seed)
    parts, payloads, at = [content[:24]], [], 24
    while at < len(content):
        captured = struct.unpack_from("<I", content, at + 8)[0]
        packet = Ether(content[at + 16 : at + 16 + captured])
        payload = bytes(packet[TCP].payload)
        payloads.append(payload)
        packet[TCP].remove_payload()
        packet = packet / Raw(numbers.randbytes(len(payload)))
        del packet[TCP].chksum
        parts += [content[at : at + 16], bytes(packet)]
        at += 16 + captured
    target.write_bytes(b"".join(parts))
    return payloads


def windows(data: bytes, size: int = 8) -> set[bytes]:
    return {data[at : at + size] for at in range(len(data) - size + 1)}


class Shipped(NamedTuple):
    """A shipped capture, and two copies with other payload."""

    payloads: list[bytes]
    outputs: dict[str, bytes]
    copies: list[tuple[bytes, dict[str, bytes]]]
    """Content and outputs of each."""


@pytest.fixture(scope="module", params=NAMES)
def shipped(
    request: pytest.FixtureRequest, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> Shipped:
    folder, source = tmp_path_factory.mktemp("shipped"), CAPTURES / f"{request.param}.pcap"
    capture = folder / "capture.pcap"
    capture.write_bytes(source.read_bytes())
    suffixes = formats.SUFFIXES if request.param == DRAWN else SEARCHED
    outputs, copies = every_output(run, capture, folder / "out", suffixes=suffixes), []
    for seed in (0, 1):
        payloads = with_other_payload(source, capture, seed)
        others = every_output(run, capture, folder / f"out{seed}", suffixes=suffixes)
        copies.append((capture.read_bytes(), others))
    return Shipped(payloads, outputs, copies)


def test_no_output_holds_payload(shipped: Shipped) -> None:
    secret = set().union(*(windows(payload) for payload in shipped.payloads))
    assert secret
    _, theirs = shipped.copies[0]
    for kind, content in shipped.outputs.items():
        # What is there whatever the payload is did not come from it.
        assert not secret & windows(content) - windows(theirs[kind]), kind


def test_the_search_finds_payload_that_was_kept(run: Run, tmp_path: Path) -> None:
    capture = CAPTURES / "jdk-httpserver.pcap"
    payloads = with_other_payload(capture, tmp_path / "other.pcap", 0)
    evidence = tmp_path / "kept.pcapng"
    done = run(capture, "--exit-zero", "--payload", "-o", evidence)
    assert (done.returncode, done.stderr) == (0, b"")
    kept = evidence.read_bytes()
    held = [payload for payload in payloads if payload]
    assert all(payload in kept for payload in held)


def test_outputs_do_not_depend_on_what_the_payload_is(shipped: Shipped) -> None:
    """Not even through a checksum: two payloads that nobody recognises give the same bytes."""
    (first, one), (second, two) = shipped.copies
    assert len(first) == len(second)
    assert first != second
    for kind, content in one.items():
        assert content == two[kind], kind


def test_the_payload_that_ethernet_padding_may_hide_is_cut_too(tmp_path: Path) -> None:
    rows = [(when, data + b"leftover") for when, data in records(stalled().frames)]
    (tmp_path / "a.pcap").write_bytes(pcap(rows))
    write_evidence(nagle_scan.scan(tmp_path / "a.pcap"), tmp_path / "evidence.pcapng")
    assert b"leftover" not in (tmp_path / "evidence.pcapng").read_bytes()


# Addresses.

MACS = [bytes.fromhex("001b21a0b1c2"), bytes.fromhex("3c22fbd3e4f5")]
ADDRESSES = ["192.0.2.17", "192.0.2.130", "2001:db8:a:b::17", "2001:db8:a:c::99"]


def with_macs(packet: Packet) -> bytes:
    to_server = packet[TCP].dport < packet[TCP].sport
    source, destination = MACS if to_server else MACS[::-1]
    text = [":".join(f"{byte:02x}" for byte in mac) for mac in (source, destination)]
    return bytes(Ether(src=text[0], dst=text[1]) / Dot1Q(vlan=42) / packet)


def frames() -> list[Frame]:
    v4 = Conversation((ADDRESSES[0], 40000), (ADDRESSES[1], 8000))
    v6 = Conversation((ADDRESSES[2], 40000), (ADDRESSES[3], 8000), network=ipv6, now_ms=0.4)
    return interleaved(stalled(v4), stalled(v6))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("named") / f"host-{ADDRESSES[0]}.pcap"
    path.write_bytes(pcap(records(frames(), with_macs)))
    return path


@pytest.fixture(scope="module")
def plain(capture: Path, run: Run) -> dict[str, bytes]:
    """Its outputs with the addresses as they are."""
    return every_output(run, capture, capture.parent / "plain")


@pytest.fixture(scope="module")
def hidden(capture: Path, run: Run) -> dict[str, bytes]:
    """Its outputs with addresses replaced by a random key."""
    return every_output(run, capture, capture.parent / "hidden", "--anonymize")


def test_outputs_say_how_addresses_were_replaced(
    plain: dict[str, bytes], hidden: dict[str, bytes]
) -> None:
    for kind in ("report", ".json", ".md", ".pcapng"):
        assert b"ipcrypt-pfx" in hidden[kind], kind
    assert b"ipcrypt" not in plain["report"]


TITLES = {
    "report": rb"^nagle-scan [^:]* \(anonymized\): ",
    ".md": rb"^## .* \(anonymized\)\n",
    ".html": rb"<title>[^<]* \(anonymized\) ",
    ".svg": rb"\(anonymized\)",
    ".pcapng": rb"Evidence of Nagle stalls \(anonymized\)",
}


@pytest.mark.parametrize("kind", TITLES)
def test_the_title_says_that_addresses_were_replaced(
    kind: str, plain: dict[str, bytes], hidden: dict[str, bytes]
) -> None:
    """Else somebody looks for hosts that do not exist."""
    assert re.search(TITLES[kind], hidden[kind])
    assert b"nonymized" not in plain[kind]


def test_a_random_key_is_called_that(
    capture: Path,
    hidden: dict[str, bytes],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two tickets with different addresses for one host would contradict each other."""
    said = b"random key: addresses differ between runs"
    for kind in ("report", ".md", ".pcapng"):
        assert said in b" ".join(hidden[kind].split()), kind
    monkeypatch.setenv("NAGLE_SCAN_KEY", KEY.hex())
    kept = every_output(run, capture, tmp_path / "out", "--anonymize")
    assert said not in b" ".join(kept["report"].split())


def test_all_outputs_agree(hidden: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "x.pcapng").write_bytes(hidden[".pcapng"])
    evidence = nagle_scan.scan(tmp_path / "x.pcapng")
    for address in evidence.connections["client_addr"].tolist():
        for kind in (".json", ".csv", ".md", "report"):
            assert address.encode() in hidden[kind], kind


def test_the_same_key_gives_the_same_addresses(
    capture: Path,
    hidden: dict[str, bytes],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NAGLE_SCAN_KEY", KEY.hex() + "\n")
    one = every_output(run, capture, tmp_path / "one", "--anonymize")
    assert one == every_output(run, capture, tmp_path / "two", "--anonymize")
    assert hidden["report"] != one["report"]
    in_python = nagle_scan.scan(capture, anonymize=KEY)
    in_python.write(tmp_path / "four.csv")
    assert (tmp_path / "four.csv").read_bytes() == one[".csv"]


def common_bits(one: str, other: str) -> int:
    first, second = ipaddress.ip_address(one), ipaddress.ip_address(other)
    return int(first.max_prefixlen) - (int(first) ^ int(second)).bit_length()


def replaced(pairs: Iterable[tuple[str, str]], path: Path) -> dict[str, str]:
    """Each address, and what it is replaced with."""
    made = []
    for number, (client, server) in enumerate(pairs):
        network = ipv6 if ":" in client else ipv4
        made.append(Conversation((client, 40000 + number), (server, 80), network=network))
        made[-1].open()
    every = [frame for one in made for frame in one.frames]
    path.write_bytes(pcap(records(every)))
    before, after = (nagle_scan.scan(path, anonymize=key).connections for key in (None, KEY))
    found: dict[str, str] = {}
    for column in ("client_addr", "server_addr"):
        found |= dict(zip(before[column], after[column], strict=True))
    return found


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_addresses_share_as_many_bits_as_before(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bits = data.draw(st.sampled_from([32, 128]))
    first = data.draw(st.integers(0, 2**bits - 1))
    # Any number of leading bits in common.
    second = first ^ data.draw(st.integers(1, 2**bits - 1)) >> data.draw(st.integers(0, bits - 1))
    build = ipaddress.IPv4Address if bits == 32 else ipaddress.IPv6Address
    one, other = str(build(first)), str(build(second))
    found = replaced([(one, other)], tmp_path_factory.mktemp("pair") / "a.pcap")
    assert common_bits(found[one], found[other]) == common_bits(one, other)
    assert ipaddress.ip_address(found[one]).version == ipaddress.ip_address(one).version


def test_no_address_is_spared(tmp_path: Path) -> None:
    pairs = [("127.0.0.1", "10.0.0.1"), ("169.254.1.1", "0.0.0.1"), ("fe80::1", "::1")]
    found = replaced(pairs, tmp_path / "a.pcap")
    assert len(found) == 6
    assert not any(before == after for before, after in found.items())


def network(row: _core.FrameRow) -> Packet:
    """The IP packet in a frame."""
    assert row.link_type == 101  # no link layer
    packet: Packet = IP(row.data) if row.data[0] >> 4 == 4 else IPv6(row.data)
    return packet


def test_what_the_analysis_and_wireshark_need_stays(tmp_path: Path) -> None:
    rows = records(frames(), with_macs)
    (tmp_path / "a.pcap").write_bytes(pcap(rows))
    for row in _core.read_frames([str(tmp_path / "a.pcap")], list(range(1, 99)), True, KEY):
        before, after = Ether(rows[row.frame - 1][1])[Dot1Q].payload, network(row)
        for packet in (before, after):
            packet.src = packet.dst = before.src
            packet[TCP].chksum = 0
            if IP in packet:
                packet.chksum = 0
        assert bytes(before) == bytes(after)
        assert (row.link_type, row.wire_len) == (101, len(bytes(before)))


def test_the_library_names_no_file_of_an_anonymised_scan(capture: Path) -> None:
    scan = nagle_scan.scan(capture, anonymize=KEY)
    assert ADDRESSES[0] not in repr(scan)
    assert scan.captures == ["capture-1"]
    assert KEY.hex() not in repr(scan)
    assert str(KEY) not in repr(scan)


# Keys.


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("my secret word", b"64 hexadecimal digits"),
        ("00" * 31, b"64 hexadecimal digits"),
        ("ab" * 32, b"whose halves differ"),
    ],
)
def test_a_key_that_cannot_be_used(content: str, reason: bytes, run: Run) -> None:
    done = run(CAPTURES / "java-split.pcap", "--anonymize", env={"NAGLE_SCAN_KEY": content})
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"NAGLE_SCAN_KEY" in done.stderr
    assert reason in done.stderr
    assert content.encode() not in done.stderr


@pytest.mark.parametrize("key", [b"", b"short", bytes(32), bytes(33)])
def test_a_key_that_cannot_be_used_from_python(key: bytes) -> None:
    with pytest.raises(ValueError, match="key"):
        nagle_scan.scan(CAPTURES / "java-split.pcap", anonymize=key)
