"""pcapng files of frames with comments: scapy's writer, and the options that it leaves out."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import cast

from scapy.packet import Raw
from scapy.utils import PcapNgWriter

from nagle_scan import _core, files

OPT_END, OPT_COMMENT = 0, 1
SHB_APPLICATION = 4
IF_NAME, IF_TSRESOL = 2, 9
SECTION_HEADER = b"\x0a\x0d\x0d\x0a"
INTERFACE = struct.pack("<I", 1)
NANOSECONDS = 10**9
NO_SNAP_LENGTH = 0
ETHERNET = 1


class _Writer(PcapNgWriter):
    """Adds to scapy 2.6 to 2.8: a comment on the file, and times in ns with their resolution."""

    def __init__(self, path: str, comment: str) -> None:
        super().__init__(path)
        self.comment = comment
        self.tsresol = NANOSECONDS

    def _write_block_shb(self) -> None:
        # Byte-order magic, version 1.0, section of unknown length.
        body = self.endian_magic + struct.pack("<HHq", 1, 0, -1)
        application = f"nagle-scan {_core.VERSION}"
        options = [(OPT_COMMENT, self.comment.encode()), (SHB_APPLICATION, application.encode())]
        self.f.write(self.build_block(SECTION_HEADER, body, _options(options)))

    def _write_block_idb(self, linktype: int, ifname: bytes | None = None) -> None:
        options = [(IF_TSRESOL, b"\x09")]
        if ifname is not None:
            options.insert(0, (IF_NAME, ifname))
        body = struct.pack("<HHI", linktype, 0, NO_SNAP_LENGTH)
        self.f.write(self.build_block(INTERFACE, body, _options(options)))


def _options(options: Iterable[tuple[int, bytes]]) -> bytes:
    parts = [
        struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
        for code, value in [*options, (OPT_END, b"")]
    ]
    return b"".join(parts)


def write(
    path: str,
    comment: str,
    frames: Sequence[_core.FrameRow],
    comments: Mapping[int, Sequence[str]],
) -> None:
    """Writes `frames`, each with the `comments` on its number. Raises `OutputError`.

    The link type of the first frame is the first interface's; each other one gets its own.
    """
    with files.whole(path) as name, _Writer(name, comment) as writer:
        writer.linktype = frames[0].link_type if frames else ETHERNET
        main = writer.linktype
        writer.write_header(None)
        for frame in frames:
            writer.linktype = frame.link_type
            packet = _packet(frame, comments.get(frame.frame, ()))
            if frame.link_type != main:
                packet.sniffed_on = f"link type {frame.link_type}"
            writer.write_packet(packet, sec=_seconds(frame.time_ns), wirelen=frame.wire_len)


def _packet(frame: _core.FrameRow, comments: Sequence[str]) -> Raw:
    packet = Raw(frame.data)
    packet.comments = [comment.encode() for comment in comments]
    return packet


def _seconds(time_ns: int) -> float:
    """A fraction is exact, unlike a float; the writer only multiplies it."""
    return cast(float, Fraction(max(time_ns, 0), NANOSECONDS))
