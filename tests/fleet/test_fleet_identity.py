"""A content is the same under each name, and another as soon as a frame comes or changes."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.fleet import identity
from nagle_scan.fleet.identity import END_LEN, HEAD_LENS, Located
from nagle_scan.fleet.work import Capture, Failure

PATH = CAPTURES / "epoll-fd0.pcap"


def of(path: Path) -> Capture:
    capture = identity.of(Located(str(path)))
    assert isinstance(capture, Capture)
    return capture


def why(path: Path) -> str:
    failure = identity.of(Located(str(path)))
    assert isinstance(failure, Failure)
    assert (failure.path, failure.set, failure.attempts) == (str(path), "", 1)
    return failure.reason


def test_copies_and_links_have_one_content(tmp_path: Path) -> None:
    copy, link, hard = (tmp_path / name for name in ("copy", "link", "hard"))
    copy.write_bytes(PATH.read_bytes())
    link.symlink_to(PATH)
    os.link(copy, hard)
    assert len({of(path).content for path in (PATH, copy, link, hard)}) == 1
    assert of(PATH).first_ns == _core.first_time_ns(str(PATH))
    assert of(PATH).size == PATH.stat().st_size


@pytest.mark.parametrize("size", [1, 63, 64, 1000, END_LEN - 1, END_LEN, END_LEN + 1, 3 * END_LEN])
def test_each_byte_of_its_ends_and_its_size_count(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = os.urandom(size)
    path.write_bytes(content)
    before = of(path)
    places = {0, size // 2, size - 1, max(0, size - END_LEN), min(size - 1, END_LEN - 1)}
    for place in places - ({size // 2} if size > 2 * END_LEN else set()):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert of(path).content != before.content, place
    if size > 2 * END_LEN:
        path.write_bytes(content[: size // 2] + b"\0" + content[size // 2 :])
        assert of(path).content != before.content, "both ends are the same"
    path.write_bytes(content + b"\0")
    assert of(path).content != before.content
    path.write_bytes(content)
    assert of(path) == before


@pytest.mark.parametrize("size", [0, 24, 100, 1000, 65_000, END_LEN, 2 * END_LEN])
def test_the_head_of_a_file_that_grew_begins_as_before(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = os.urandom(size)
    path.write_bytes(content)
    before = of(path).head
    path.write_bytes(content + os.urandom(3 * END_LEN))
    assert of(path).head.startswith(before)
    if size >= HEAD_LENS[0]:
        path.write_bytes(os.urandom(size) + os.urandom(3 * END_LEN))
        assert not of(path).head.startswith(before)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ""):
        assert why(tmp_path / name) == "a folder, pipe or device, which a fleet does not read"
    assert why(tmp_path / "gone") == "no such file or directory"


def test_one_that_cannot_be_read_among_many(tmp_path: Path) -> None:
    paths = [tmp_path / "gone", PATH, tmp_path / "gone, too"]
    found = list(identity.of_all([Located(str(path)) for path in paths]))
    assert [isinstance(one, Capture) for one in found] == [False, True, False]


def test_the_first_frame_of_a_remote_file_is_in_its_first_bytes(tmp_path: Path) -> None:
    """zstd makes blocks of up to 128 KiB, of which none can be read before its end."""
    content = bytearray(PATH.read_bytes()[:24])
    frame = PATH.read_bytes()[24:40]
    for _ in range(12):
        content += frame[:8] + (40_000).to_bytes(4, "little") * 2
        # Not to be packed well, but packed: a stored block is read as it comes.
        content += bytes(byte & 0x7F for byte in os.urandom(40_000))
    packed = pa.compress(bytes(content), "zstd", asbytes=True)
    path = tmp_path / "random.pcap.zst"
    path.write_bytes(packed)
    assert len(packed) > 2 * identity.FIRST_LEN
    begin = packed[: identity.FIRST_LEN]
    assert _core.first_time_of_bytes(begin) == of(path).first_ns is not None
