"""Captures of other machines are read as they come, and half of one never passes for one."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import nagle_scan
import pyarrow as pa
import pytest
from conftest import CAPTURES, generated
from fleets import SETTINGS
from fsspec import AbstractFileSystem
from fsspec.spec import AbstractBufferedFile
from nagle_scan import CaptureError
from nagle_scan.fleet import identity, inputs, remote, streams, task
from nagle_scan.fleet.work import Capture, Job
from web import USER, Web, served

NAME = "epoll-fd0.pcap"
opened_to_write: list[str] | None = None


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if opened_to_write is not None and event == "open":
        path, _, flags = args
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            opened_to_write.append(str(path))


sys.addaudithook(_watch)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with served(tmp_path) as server:
        yield server


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small capture then takes many requests, as a large one does."""
    monkeypatch.setattr(remote, "BLOCK_LEN", 1 << 19)


def located(url: str) -> Capture:
    (found,) = inputs.find([url])
    capture = identity.of(found)
    assert isinstance(capture, Capture), capture
    return capture


def scanned(capture: Capture) -> nagle_scan.Scan:
    with streams.opened(capture) as path:
        return nagle_scan.scan(path, threads=1)


def same(one: nagle_scan.Scan, other: nagle_scan.Scan) -> bool:
    tables = ("connections", "stalls", "waits", "servers")
    return all(getattr(one, name).equals(getattr(other, name)) for name in tables)


def stored(folder: Path, how: str) -> Path:
    """A capture of some 2 MB, packed or not."""
    plain = generated(folder, "stalls", 100, 20_000)
    if how == "gz":
        (folder / "packed.pcap.gz").write_bytes(gzip.compress(plain.read_bytes()))
        return folder / "packed.pcap.gz"
    if how == "zst":
        packed = folder / "packed.pcap.zst"
        packed.write_bytes(pa.compress(plain.read_bytes(), "zstd", asbytes=True))
        return packed
    if how == "pcapng":
        if shutil.which("editcap") is None:
            pytest.skip("editcap is not installed")
        other = folder / "other.pcapng"
        subprocess.run(["editcap", "-F", "pcapng", plain, other], check=True)
        return other
    return plain


@pytest.mark.parametrize("how", ["pcap", "gz", "zst", "pcapng"])
@pytest.mark.parametrize("server", ["ranges", "whole", "endless", "closes"])
@pytest.mark.usefixtures("small_blocks")
def test_a_capture_of_a_web_server_is_that_of_the_disk(
    how: str, server: str, web: Web, tmp_path: Path
) -> None:
    path = stored(tmp_path, how)
    here, there = located(str(path)), located(web.url(server, path.name))
    assert here._replace(url=there.url) == there
    assert there.first_ns is not None
    assert same(scanned(there), nagle_scan.scan(path))


@pytest.mark.parametrize(("how", "server"), [("gz", "packed"), ("pcap", "packs")])
def test_a_capture_comes_as_it_is_stored(how: str, server: str, web: Web, tmp_path: Path) -> None:
    """Servers call a .gz file plain text in an encoding, or pack what a client takes packed."""
    path = stored(tmp_path, how)
    there = located(web.url(server, path.name))
    assert there.content == located(str(path)).content
    assert same(scanned(there), nagle_scan.scan(path))


def test_nothing_is_written_to_a_disk_and_nothing_read_twice(web: Web, tmp_path: Path) -> None:
    global opened_to_write
    path = stored(tmp_path, "pcap")
    there = located(web.url("ranges", path.name))
    web.asked.clear()
    opened_to_write = []
    try:
        scanned(there)
        assert opened_to_write == []
    finally:
        opened_to_write = None
    assert web.sent == path.stat().st_size


@pytest.mark.usefixtures("small_blocks")
def test_an_identity_takes_the_ends_only(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    located(web.url("ranges", path.name))
    assert web.sent == identity.FIRST_LEN + identity.END_LEN < path.stat().st_size / 4


@pytest.mark.usefixtures("small_blocks")
def test_half_a_capture_is_none(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url("drops", path.name))
    with pytest.raises(streams.TransportError) as told:
        scanned(capture)
    assert str(told.value).startswith(f"{capture.url}: cannot read: ")
    assert "\n" not in str(told.value)


def test_a_connection_that_broke_is_not_used_again(web: Web, tmp_path: Path) -> None:
    """Otherwise no other attempt of this worker could succeed."""
    capture = located(web.url("drops", stored(tmp_path, "pcap").name))
    before = remote.remote(capture.url).fs
    assert remote.remote(capture.url).fs is before
    with pytest.raises(streams.TransportError):
        scanned(capture)
    assert remote.remote(capture.url).fs is not before


@pytest.mark.parametrize("server", ["ranges", "whole", "endless"])
def test_a_capture_that_became_shorter_is_none(server: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url(server, path.name))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(streams.TransportError):
        scanned(capture)


@pytest.mark.parametrize("server", ["ranges", "endless"])
def test_what_came_later_is_left_to_the_next_run(server: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    content = path.read_bytes()
    capture = located(web.url(server, path.name))
    path.write_bytes(content + content[24:])
    ours = scanned(capture)
    path.write_bytes(content)
    assert same(ours, nagle_scan.scan(path))


def test_what_is_gone_says_so_and_not_that_it_is_no_capture(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url("ranges", path.name))
    path.unlink()
    with pytest.raises(streams.TransportError, match=r"no such file|HTTP 404"):
        scanned(capture)


def test_a_server_that_says_no_more_is_lost(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = located(web.url("stalls", stored(tmp_path, "pcap").name))
    monkeypatch.setattr(remote, "READ_S", 0.2)
    with pytest.raises(streams.TransportError, match="no answer in time"):
        scanned(capture)


def another(content: bytes) -> bytes:
    """The same ends but for a byte, at which no reader stops."""
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("server", ["ranges", "whole", "endless"])
def test_another_capture_of_the_same_size_is_another(server: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url(server, path.name))
    path.write_bytes(another(path.read_bytes()))
    with pytest.raises(CaptureError, match=r"changed while it was read$") as told:
        scanned(capture)
    assert not isinstance(told.value, streams.TransportError), "the old one does not come back"


@pytest.mark.usefixtures("small_blocks")
def test_frames_of_two_captures_are_not_mixed(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url("ranges", path.name))

    def overwritten_in_the_middle() -> None:
        with streams.opened(capture) as pipe, open(pipe, "rb") as source:
            assert source.read(24) == path.read_bytes()[:24]
            path.write_bytes(another(path.read_bytes()))
            source.read()

    with pytest.raises(CaptureError, match="changed while it was read"):
        overwritten_in_the_middle()


@pytest.mark.usefixtures("small_blocks")
def test_what_stops_a_reader_is_damage_only_if_it_was_there(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url("ranges", path.name))
    with streams.opened(capture) as pipe:
        stop_early(pipe)
    path.write_bytes(another(path.read_bytes()))
    with pytest.raises(CaptureError, match="changed"), streams.opened(capture) as pipe:
        stop_early(pipe)


def stop_early(pipe: str) -> None:
    with open(pipe, "rb", buffering=0) as source:
        source.read(24)


def test_a_damaged_capture_keeps_no_connection_open(web: Web, tmp_path: Path) -> None:
    """fsspec has 100 of them: the next capture would wait for ever."""
    capture = located(web.url("whole", stored(tmp_path, "pcap").name))
    with streams.opened(capture) as pipe:
        with open(pipe, "rb") as source:
            source.read(B)
        (copy,) = [thread for thread in threading.enumerate() if thread.name == "capture"]
        copy.join(30)
        assert not copy.is_alive()


def test_an_engine_that_stops_early_ends_the_copy(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, "pcap")
    capture = located(web.url("ranges", path.name))
    with pytest.raises(CaptureError) as told, streams.opened(capture):
        raise CaptureError("damaged")
    assert not isinstance(told.value, streams.TransportError)
    assert not [thread for thread in threading.enumerate() if thread.name == "capture"]


def test_an_interrupt_is_one(web: Web, tmp_path: Path) -> None:
    capture = located(web.url("ranges", stored(tmp_path, "pcap").name))
    pipes: list[int] = []

    def interrupted() -> None:
        with streams.opened(capture) as pipe:
            pipes.append(os.stat(pipe).st_ino)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not [thread for thread in threading.enumerate() if thread.name == "capture"]
    still = [name for name in os.listdir("/dev/fd") if os.path.exists(f"/dev/fd/{name}")]
    assert pipes[0] not in {os.stat(f"/dev/fd/{name}").st_ino for name in still}, "it is closed"


def test_a_file_system_in_memory() -> None:
    content = (CAPTURES / NAME).read_bytes()
    fsspec.filesystem("memory").pipe("/nagle/one.pcap", content)
    try:
        there = located("memory://nagle/one.pcap")
        here = located(str(CAPTURES / NAME))
        assert (there.content, there.head, there.first_ns) == (
            here.content,
            here.head,
            here.first_ns,
        )
        assert same(scanned(there), nagle_scan.scan(CAPTURES / NAME))
    finally:
        fsspec.filesystem("memory").rm("/nagle", recursive=True)


class Store(AbstractFileSystem):  # type: ignore[misc]
    """Its files ask for parts, as those of S3, Google and Azure do."""

    protocol = "store"
    files: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[tuple[int, int]]] = []

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        return {"name": name, "size": len(self.files[name]), "type": "file"}

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return StoredFile(self, path, mode, **options)


class StoredFile(AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start: int, end: int) -> bytes:
        Store.asked.append((start, end))
        return Store.files[self.path][start:end]


@pytest.fixture
def store() -> Iterator[dict[str, bytes]]:
    fsspec.register_implementation("store", Store, clobber=True)
    yield Store.files
    Store.files.clear()


B = remote.BEGIN_LEN


@pytest.mark.parametrize("size", [0, 1, B - 1, B, B + 1, 1 << 19, B + (1 << 19), 1 << 20])
@pytest.mark.parametrize("told", [True, False], ids=["size-known", "size-unknown"])
@pytest.mark.usefixtures("small_blocks")
def test_each_byte_of_a_file_of_any_size_comes_once(
    size: int, told: bool, web: Web, tmp_path: Path, store: dict[str, bytes]
) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    store["file"] = content
    fsspec.filesystem("memory").pipe("/nagle/file", content)
    servers = ["ranges", "whole", "endless", *(["closes"] if told else [])]
    urls = [web.url(server, "file") for server in servers]
    for url in (*urls, "memory://nagle/file", "store://file"):
        parts = list(remote.blocks(remote.remote(url), size if told else None))
        assert b"".join(parts) == content, url
    fsspec.filesystem("memory").rm("/nagle", recursive=True)


@pytest.mark.parametrize("size", [1, B - 1, B])
def test_a_small_capture_costs_one_request(
    size: int, web: Web, tmp_path: Path, store: dict[str, bytes]
) -> None:
    for server in ("ranges", "whole"):
        (tmp_path / "file").write_bytes(os.urandom(size))
        capture = located(web.url(server, "file"))
        web.asked.clear()
        read(capture)
        assert [one.begin for one in web.asked] == [0], server
    store["file"] = os.urandom(size)
    capture = located("store://file")
    Store.asked.clear()
    read(capture)
    assert Store.asked == [(0, size)]


def read(capture: Capture) -> bytes:
    with streams.opened(capture) as pipe, open(pipe, "rb") as source:
        return source.read()


def test_a_large_capture_comes_in_large_parts(store: dict[str, bytes]) -> None:
    size = B + 2 * remote.BLOCK_LEN
    store["file"] = bytes(size)
    capture = located("store://file")
    Store.asked.clear()
    read(capture)
    assert Store.asked == [(0, B), (B, B + remote.BLOCK_LEN), (B + remote.BLOCK_LEN, size)]


def test_captures_that_wait_for_their_turn_take_little_memory(web: Web, tmp_path: Path) -> None:
    """Each would take `BLOCK_LEN` and more: 130 files a GiB."""
    first = tmp_path / "00.pcap"
    first.write_bytes((CAPTURES / NAME).read_bytes())
    # Records of zeros are frames without bytes.
    os.truncate(first, B + remote.BLOCK_LEN + (1 << 20))
    names = [f"{number:02}.pcap" for number in range(40)]
    for name in names[1:]:
        os.link(first, tmp_path / name)
    captures = tuple(located(web.url("ranges", name)) for name in names)
    web.asked.clear()
    result = task.scan_set(Job("set", "set", captures), SETTINGS)
    assert not result.failures
    assert {one.sent for one in web.asked if not one.begin} == {B}
    of_their_turn = [one.name for one in web.asked if one.begin]
    assert of_their_turn == sorted(2 * names), "asked for when the one before it was read"


def in_child(script: str) -> str:
    """What it prints; a dead lock must not last for ever."""
    ran = subprocess.run(
        [sys.executable, "-c", SCAN_SET + script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ran.stdout


SCAN_SET = f"""
import random, resource, struct, sys
import fsspec
from nagle_scan import _core
from nagle_scan.fleet import identity, task
from nagle_scan.fleet.work import Job, Settings

files = fsspec.filesystem("memory")
content = open({str(CAPTURES / NAME)!r}, "rb").read()

def begun_at(seconds, size):
    made = bytearray(content[:24])
    at = 24
    while at < size:
        made += struct.pack("<I", seconds) + content[at + 4 : at + 16]
        (length,) = struct.unpack_from("<I", content, at + 8)
        made += content[at + 16 : at + 16 + length]
        at += 16 + length
    return bytes(made)

def scan(names):
    found = [identity.of(identity.Located("memory://" + name)) for name in names]
    assert all(isinstance(one, identity.Capture) for one in found), found
    result = task.scan_set(
        Job("set", "set", tuple(found)), Settings(_core.VERSION, None, 10.0)
    )
    print(result.answer and result.answer.packets, result.failures[:1])
"""


def test_a_set_has_more_files_than_a_process_may_open_unasked() -> None:
    told = in_child("""
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))
names = [f"nagle/{number:03}.pcap" for number in range(600)]
for number, name in enumerate(names):
    files.pipe("/" + name, begun_at(1_700_000_000 + number, 200))
scan(names)
""")
    frames = int(told.split()[0])
    assert told == f"{frames} ()\n"
    assert frames >= 600


def test_no_order_of_files_stops_a_scan_for_ever() -> None:
    told = in_child("""
names = [f"nagle/{number:02}.pcap" for number in range(12)]
for number, name in enumerate(names):
    made = begun_at(1_700_000_000 + number, len(content))
    # More than fits a pipe: each copy waits for its reader.
    files.pipe("/" + name, made + 4 * made[24:])
scan(names)
scan(names[::-1])
random.Random(1).shuffle(names)
scan(names)
""")
    first, *others = told.splitlines()
    assert first.endswith(" ()")
    assert others == [first, first]


def test_a_password_opens_and_is_never_told(web: Web, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes((CAPTURES / NAME).read_bytes())
    capture = located(web.url("user", NAME, USER))
    assert capture.url == web.url("user", NAME)
    assert not set(USER.split(":")) & set(repr(capture).replace("'", ":").split(":"))
    assert same(scanned(capture), nagle_scan.scan(CAPTURES / NAME))
    (tmp_path / NAME).unlink()
    with pytest.raises(streams.TransportError) as told:
        scanned(capture)
    assert "pass-word" not in str(told.value)
    assert "anna" not in str(told.value)


def test_a_signed_url_opens_and_its_signature_is_never_told(web: Web, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes((CAPTURES / NAME).read_bytes())
    capture = located(web.url("signed", f"{NAME}?sig=s3cret&part=1"))
    assert capture.url == web.url("signed", NAME)
    assert "s3cret" not in repr(capture)
    assert same(scanned(capture), nagle_scan.scan(CAPTURES / NAME))


BEGAN_ANEW = r"ring\.pcap: changed its beginning while it was read$"


def test_a_ring_that_goes_round_is_not_the_old_capture(tmp_path: Path) -> None:
    ring = tmp_path / "ring.pcap"
    shutil.copy(CAPTURES / NAME, ring)
    capture = located(str(ring))

    def scan_the_next_round() -> None:
        with streams.opened(capture) as path:
            shutil.copy(CAPTURES / "java-split.pcap", ring)
            nagle_scan.scan(path, threads=1)

    with pytest.raises(CaptureError, match=BEGAN_ANEW):
        scan_the_next_round()
    shutil.copy(CAPTURES / NAME, ring)
    with streams.opened(capture) as path:
        alone = nagle_scan.scan(path, threads=1)
        ring.unlink()
    assert len(alone.stalls), "what is gone after it was read was read"


def test_a_file_that_gets_its_first_frame_now_is_not_empty(tmp_path: Path) -> None:
    ring = tmp_path / "ring.pcap"
    content = (CAPTURES / NAME).read_bytes()
    ring.write_bytes(content[:24])
    capture = located(str(ring))
    assert capture.first_ns is None

    def scan_what_came() -> None:
        with streams.opened(capture):
            ring.write_bytes(content)

    with pytest.raises(CaptureError, match=BEGAN_ANEW):
        scan_what_came()
    capture = located(str(ring))
    with streams.opened(capture), ring.open("ab") as file:
        file.write(content[24:])
