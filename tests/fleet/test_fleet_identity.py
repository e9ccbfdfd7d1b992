"""A content is the same under each name, and another as soon as a frame comes or changes."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.fleet import identity
from nagle_scan.fleet.identity import END_LEN
from nagle_scan.fleet.work import Capture, Failure, Located

PATH = CAPTURES / "epoll-fd0.pcap"
KEY = bytes(range(32))


def of(path: Path) -> Capture:
    capture = identity.of(Located(str(path)))
    assert isinstance(capture, Capture)
    return capture


@pytest.mark.parametrize("size", [1, 1000, END_LEN - 1, END_LEN, END_LEN + 1, 3 * END_LEN])
def test_each_byte_of_its_ends_and_its_size_count(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = os.urandom(size)
    path.write_bytes(content)
    before = of(path)
    for place in {0, size - 1, max(0, size - END_LEN), min(size, END_LEN) - 1}:
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert of(path).content != before.content, place
    path.write_bytes(content + b"\0")
    assert of(path).content != before.content
    (tmp_path / "copy").write_bytes(content)
    assert of(tmp_path / "copy").content == before.content


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("length", [24, 1000, None])
def test_a_file_that_grew_begins_as_before(
    length: int | None, key: bytes | None, tmp_path: Path
) -> None:
    """Otherwise its old frames would be counted twice, or the new ones never."""
    path = tmp_path / "a.pcap"
    content = PATH.read_bytes()
    path.write_bytes(content[:length])
    before = identity.keyed(of(path), key)
    assert not identity.grew(before, Located(str(path)), key), "it is as long as before"
    path.write_bytes(content + content[24:])
    assert identity.grew(before, Located(str(path)), key)
    path.write_bytes(content[:20] + b"\2" + content[21:] + content[24:])
    assert not identity.grew(before, Located(str(path)), key), "it begins otherwise"
    path.unlink()
    assert not identity.grew(before, Located(str(path)), key)


def test_with_a_key_nobody_finds_the_addresses_of_the_first_packet() -> None:
    plain, hidden = of(PATH), identity.keyed(of(PATH), KEY)
    assert len({plain.content, plain.head, hidden.content, hidden.head}) == 4
    assert hidden == identity.keyed(of(PATH), KEY)


def test_one_that_cannot_be_read_among_many(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    paths = [tmp_path / "gone", PATH, tmp_path / "pipe", tmp_path]
    gone, read, *others = identity.of_all([Located(str(path)) for path in paths])
    assert gone == Failure(str(tmp_path / "gone"), "no such file or directory")
    assert isinstance(read, Capture)
    assert (read.size, read.first_ns) == (PATH.stat().st_size, _core.first_time_ns(str(PATH)))
    assert {one.reason for one in others if isinstance(one, Failure)} == {
        "a folder, pipe or device, which a fleet does not read"
    }


def test_the_first_frame_of_a_remote_file_is_in_its_first_bytes(tmp_path: Path) -> None:
    """zstd makes blocks of up to 128 KiB, of which none can be read before its end."""
    content = bytearray(PATH.read_bytes()[:24])
    frame = PATH.read_bytes()[24:40]
    for _ in range(12):
        content += frame[:8] + (40_000).to_bytes(4, "little") * 2
        # Not to be packed well, but packed: a stored block is read as it comes.
        content += bytes(byte & 0x7F for byte in os.urandom(40_000))
    path = tmp_path / "random.pcap.zst"
    path.write_bytes(pa.compress(bytes(content), "zstd", asbytes=True))
    begin = path.read_bytes()[: identity.FIRST_LEN]
    assert len(begin) == identity.FIRST_LEN
    assert _core.first_time_of_bytes(begin) == of(path).first_ns is not None
