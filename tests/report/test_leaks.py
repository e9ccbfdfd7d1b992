"""Secrets that must not leave, by format: payload, and with `--anonymize` any address.

Addresses are IPv4, IPv6 and MAC, as text and as bytes in both orders, wherever a capture or a call
can hold one. What the promise leaves out is chance: a sequence number, a time or a new address may
happen to have the same bytes.
"""

from __future__ import annotations

import ipaddress
import random
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
from conftest import CAPTURES, Run, outputs
from conversation import (
    Conversation,
    Frame,
    connected,
    interleaved,
    option,
    pcapng_of_words,
    records,
    stalled,
    write,
)
from nagle_scan.report.formats import OF_MANY, SUFFIXES
from scapy.layers.inet import IP, TCP, IPOption
from scapy.layers.inet6 import HAO, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrRouting
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

KEY = bytes(range(32))
PAYLOAD = b"hunter2"
PNG = b"\x89PNG\r\n\x1a\n"
WITH_ADDRESSES = {"report", "comparison", "table", *SUFFIXES} - {
    ".parquet",
    ".png",
    "exchanges.csv",
    "waits.csv",
    "exchanges.parquet",
    "waits.parquet",
}
"""Kinds of output that name hosts, and not in pixels or by the number of a connection."""
WITH_PAYLOAD = {".pcapng", ".zip"}
"""Kinds of output that hold payload if they are asked to."""


class Hosts:
    """Random addresses, and every form of each that an output must not hold."""

    def __init__(self) -> None:
        self.random = random.Random(1)
        self.forms: set[bytes] = set()

    def _bytes(self, length: int) -> bytes:
        # No byte that text and headers are full of.
        made = bytes(self.random.randrange(0x80, 0xF0) for _ in range(length))
        self.forms |= {made, made[::-1], made.hex().upper().encode()}
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

    def text(self) -> str:
        return f"host {self.ip(4)} {self.ip(16)} {self.mac()}"


def packed(addr: str) -> bytes:
    return ipaddress.ip_address(addr).packed


def conversations(hosts: Hosts) -> list[Conversation]:
    """One over IPv4 and one over IPv6, with addresses in all kinds of options."""
    four, six = packed(hosts.ip(4)), hosts.ip(16)

    def ip4(source: str, to: str) -> Packet:
        # Record route, timestamps with addresses, unknown.
        options = [
            b"\x07\x07\x08" + four,
            b"\x44\x0c\x0d\x01" + four + bytes(4),
            b"\x9e\x06" + four,
        ]
        return IP(src=source, dst=to, options=[IPOption(option) for option in options])

    def ip6(source: str, to: str) -> Packet:
        packet = IPv6(src=source, dst=to, fl=int.from_bytes(packed(six)[:2], "big"))
        packet /= IPv6ExtHdrDestOpt(options=[HAO(hoa=six)])
        return packet / IPv6ExtHdrRouting(addresses=[six])

    made = []
    for number, (length, network) in enumerate(((4, ip4), (16, ip6))):
        ends = (hosts.ip(length), 40000), (hosts.ip(length), 80)
        made.append(Conversation(*ends, network=network, now_ms=0.37 * number))
        stalled(made[-1])
        for frame in made[-1].frames:
            # MPTCP's ADD_ADDR, and what nobody knows.
            frame.packet[TCP].options += [(30, b"\x30\x01" + four), (77, four)]
    return made


def fill(frames: list[Frame], payload: bytes) -> None:
    """Puts payload into the segments of one length, behind the head of a request."""
    for frame in frames:
        if Raw in frame.packet:
            length = len(frame.packet[Raw].load)
            frame.packet[Raw].load = (payload * length)[:length]


def written(hosts: Hosts, path: Path, payload: bytes) -> None:
    """A pcapng in which everything that can hold an address does."""
    frames = interleaved(*conversations(hosts))
    fill(frames, payload)
    source, to = hosts.mac(), hosts.mac()

    def link(packet: Packet) -> bytes:
        # The padding of Ethernet may hold what was in the buffer before.
        return bytes(Ether(src=source, dst=to) / Dot1Q(vlan=7) / packet) + PAYLOAD + packed(four)

    def texts(*codes: int) -> bytes:
        return b"".join(option(code, hosts.text().encode()) for code in codes)

    four = hosts.ip(4)
    more = option(4, packed(four) * 2) + option(5, packed(hosts.ip(16)))
    resolved = packed(four) + b"db\0"
    path.write_bytes(pcapng_of_words(texts, records(frames, link), resolved, more))


def contents(path: Path) -> Iterator[bytes]:
    """The contents of a file, or of each in a bundle: packed bytes may hold any four in a row."""
    yield path.name.encode()
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


Outputs = dict[str, list[bytes]]


class Case(NamedTuple):
    """A secret that is searched for, and its place."""

    hosts: Hosts
    capture: Path
    plain: Outputs
    hidden: Outputs
    """With addresses replaced."""
    whole: Outputs
    """With payload."""


def alone(run: Run, capture: Path, folder: Path, *options: str) -> Outputs:
    """The report of a capture, and a file of each kind."""
    folder.mkdir()
    wanted = outputs(*(f"x{suffix}" for suffix in SUFFIXES))
    done = run(capture, "--exit-zero", *options, *wanted, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {"report": [done.stdout]} | {
        suffix: [*contents(folder / f"x{suffix}")] for suffix in SUFFIXES
    }


def everything(run: Run, capture: Path, folder: Path, *options: str) -> Outputs:
    """All that is said and written of a capture, by the kind of output."""
    found = alone(run, capture, folder, *options)
    compared = run(capture, "--exit-zero", *options, "--baseline", capture, cwd=folder)
    many = outputs(*(f"every{suffix}" for suffix in OF_MANY))
    unusable = capture.with_name(f"bad-{capture.name}")
    unusable.write_text("no capture")
    together = run(capture, unusable, *options, "-o", "many/", *many, cwd=folder)
    assert [compared.returncode, together.returncode] == [0, 1]
    found |= {"comparison": [compared.stdout], "table": [together.stdout]}
    others = [*folder.glob("many/*"), *folder.glob("every*")]
    return found | {"files of many": [part for path in others for part in contents(path)]}


@pytest.fixture(scope="module")
def case(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder, hosts = tmp_path_factory.mktemp("leaks"), Hosts()
    capture = folder / f"web-{hosts.ip(4)}-{hosts.mac().replace(':', '-')}.pcapng"
    written(hosts, capture, b"GET /hunter2 HTTP/1.1\r\nHost: hunter2\r\n\r\n")
    addr = nagle_scan.scan(capture).connections["client_addr"][0]
    options = "-f", f"host {addr} or greater 1", "--names", f"{addr}=web-{hosts.ip(4)}"
    return Case(
        hosts,
        capture,
        everything(run, capture, folder / "plain"),
        everything(run, capture, folder / "hidden", "--anonymize", *options),
        alone(run, capture, folder / "whole", "--payload"),
    )


KINDS = ["report", "comparison", "table", "files of many", *SUFFIXES]


def holds(parts: list[bytes], secrets: set[bytes]) -> bool:
    return any(secret in part for part in parts for secret in secrets)


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_key_no_address_leaves(kind: str, case: Case) -> None:
    assert not holds(case.hidden[kind], case.hosts.forms)
    # Else the search could not fail.
    assert holds(case.plain[kind], case.hosts.forms) or kind not in WITH_ADDRESSES


@pytest.mark.parametrize("kind", KINDS)
def test_no_output_holds_payload(kind: str, case: Case) -> None:
    for found in (case.plain, case.hidden):
        assert not holds(found[kind], {PAYLOAD, b"GET /"})
    assert holds(case.whole.get(kind, []), {PAYLOAD}) == (kind in WITH_PAYLOAD)


def test_outputs_do_not_depend_on_what_the_payload_is(run: Run, tmp_path: Path) -> None:
    """Not even through a checksum: two payloads that nobody recognises give the same bytes."""
    found = []
    for number, payload in enumerate((b"\xa1\xb2\xc3", b"\xd4\xe5\xf6\xa7")):
        path = tmp_path / "x.pcap"
        made = stalled()
        fill(made.frames, payload)
        write(path, made.frames)
        assert payload in path.read_bytes()
        outputs_of_one = alone(run, path, tmp_path / f"out{number}")
        found.append({kind: outputs_of_one[kind] for kind in SUFFIXES})
    assert found[0] == found[1]


def test_what_is_proven_stays_so(case: Case, tmp_path: Path) -> None:
    plain = nagle_scan.scan(case.capture)
    assert len(plain.stalls) == 6
    (tmp_path / "x.pcapng").write_bytes(case.hidden[".pcapng"][1])
    evidence = nagle_scan.scan(tmp_path / "x.pcapng")
    assert evidence.stalls.equals(plain.stalls)
    for address in evidence.connections["client_addr"]:
        for kind in (".json", ".csv", ".md", "report"):
            assert holds(case.hidden[kind], {address.encode()}), "two outputs contradict each other"


TITLES = {
    "report": rb"^nagle-scan [^:]* \(anonymized\): ",
    ".md": rb"^## .* \(anonymized\)\n",
    ".html": rb"<title>[^<]* \(anonymized\) ",
    ".svg": rb"\(anonymized\)",
}


@pytest.mark.parametrize("kind", TITLES)
def test_the_title_says_that_addresses_were_replaced(kind: str, case: Case) -> None:
    """Else somebody looks for hosts that do not exist."""
    assert re.search(TITLES[kind], case.hidden[kind][-1])
    assert not holds(case.plain[kind], {b"nonymized"})


@pytest.mark.parametrize("kind", ["report", ".md", ".pcapng"])
def test_a_random_key_is_called_that(kind: str, case: Case) -> None:
    """Two tickets with different addresses for one host would contradict each other."""
    said = b" ".join(case.hidden[kind][-1].split())
    assert b"ipcrypt-pfx" in said
    assert b"random key: addresses differ between runs" in said


def test_the_same_key_gives_the_same_addresses(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    capture = CAPTURES / "java-split.pcap"
    done = run(capture, "--anonymize", "-o", path, env={"NAGLE_SCAN_KEY": KEY.hex() + "\n"})
    assert b"random key" not in done.stdout
    assert nagle_scan.scan(capture, anonymize=KEY).render("csv") == path.read_text()


def test_no_address_is_spared(tmp_path: Path) -> None:
    """Loopback and link-local addresses tell of a machine, too."""
    ends = [("127.0.0.1", "10.0.0.1"), ("169.254.1.1", "0.0.0.1"), ("fe80::1", "::1")]
    made = []
    for client, server in ends:
        made.append(connected((client, 40000), (server, 80)))
    scan = nagle_scan.scan(write(tmp_path / "a.pcap", interleaved(*made)), anonymize=KEY)
    shown = {*scan.connections["client_addr"], *scan.connections["server_addr"]}
    assert shown.isdisjoint(addr for pair in ends for addr in pair)
    assert len(shown) == 6


def test_the_library_names_no_file_no_key_and_no_host(case: Case) -> None:
    scan = nagle_scan.scan(case.capture, anonymize=KEY)
    assert scan.captures == ["capture-1"]
    assert not holds([repr(scan).encode()], case.hosts.forms | {KEY.hex().encode(), KEY})
    assert not holds([*map(bytes, scan.packets(range(1, 40)))], case.hosts.forms)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("my secret word", b"64 hexadecimal digits"),
        ("00" * 31, b"64 hexadecimal digits"),
        ("ab" * 32, b"whose halves differ"),
    ],
)
def test_a_key_that_cannot_be_used(key: str, reason: bytes, run: Run) -> None:
    done = run(CAPTURES / "java-split.pcap", "--anonymize", env={"NAGLE_SCAN_KEY": key})
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"NAGLE_SCAN_KEY" in done.stderr
    assert reason in done.stderr
    assert key.encode() not in done.stderr
    with pytest.raises(ValueError, match="key"):
        nagle_scan.scan(CAPTURES / "java-split.pcap", anonymize=bytes(len(key) // 2))
