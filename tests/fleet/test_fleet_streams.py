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
from typing import Any

import fsspec
import nagle_scan
import pyarrow as pa
import pytest
from conftest import CAPTURES, generated
from moto.server import ThreadedMotoServer
from nagle_scan import CaptureError
from nagle_scan.fleet import identity, inputs, remote, streams
from nagle_scan.fleet.work import Capture
from web import USER, Web, served

NAME = "epoll-fd0.pcap"
opened_to_write: list[str] | None = None


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if opened_to_write is not None and event == "open":
        path, _, flags = args
        if (
            isinstance(path, str)
            and isinstance(flags, int)
            and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ):
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


def stored(folder: Path, how: str = "pcap") -> Path:
    """A capture of some 2 MB, packed or not."""
    plain = generated(folder, "stalls", 100, 20_000)
    packed = folder / f"packed.pcap.{how}"
    if how == "gz":
        packed.write_bytes(gzip.compress(plain.read_bytes()))
    elif how == "zst":
        packed.write_bytes(pa.compress(plain.read_bytes(), "zstd", asbytes=True))
    else:
        return plain
    return packed


@pytest.mark.parametrize("how", ["pcap", "gz", "zst"])
@pytest.mark.parametrize("server", ["ranges", "whole", "endless", "closes"])
@pytest.mark.usefixtures("small_blocks")
def test_a_capture_of_a_web_server_is_that_of_the_disk(
    how: str, server: str, web: Web, tmp_path: Path
) -> None:
    path = stored(tmp_path, how)
    here, there = located(str(path)), located(web.url(server, path.name))
    assert here._replace(url=there.url, modified=there.modified) == there
    assert there.first_ns is not None
    assert same(scanned(there), nagle_scan.scan(path))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An object store, as boto and s3fs are told of it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "anna",
        "AWS_SECRET_ACCESS_KEY": "pass-word",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    store.mkdir("captures")
    yield store
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    server.stop()


def test_a_capture_of_an_object_store_is_that_of_the_disk(bucket: Any) -> None:
    content = (CAPTURES / NAME).read_bytes()
    bucket.pipe("captures/web-1/one.pcap", content)
    (found,) = inputs.find(["s3://captures/"])
    assert (found.url, found.size) == ("s3://captures/web-1/one.pcap", len(content))
    assert found.modified
    there = located("s3://captures/web-1/*.pcap")
    assert there.content == located(str(CAPTURES / NAME)).content
    assert (there.size, there.modified) == (found.size, found.modified), "it is known next time"
    assert same(scanned(there), nagle_scan.scan(CAPTURES / NAME))
    bucket.pipe("captures/web-1/one.pcap", content + content[24:])
    (now,) = inputs.find(["s3://captures/"])
    assert now.modified != found.modified
    assert identity.grew(there, now)


@pytest.mark.parametrize(("how", "server"), [("gz", "packed"), ("pcap", "packs")])
def test_a_capture_comes_as_it_is_stored(how: str, server: str, web: Web, tmp_path: Path) -> None:
    """Servers call a .gz file plain text in an encoding, or pack what a client takes packed."""
    path = stored(tmp_path, how)
    there = located(web.url(server, path.name))
    assert there.content == located(str(path)).content
    assert same(scanned(there), nagle_scan.scan(path))


def test_nothing_is_written_to_a_disk_and_nothing_read_twice(web: Web, tmp_path: Path) -> None:
    global opened_to_write
    path = stored(tmp_path)
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
    path = stored(tmp_path)
    located(web.url("ranges", path.name))
    assert web.sent == identity.FIRST_LEN + identity.END_LEN < path.stat().st_size / 4


def test_a_connection_that_broke_is_not_used_again(web: Web, tmp_path: Path) -> None:
    """Otherwise no other attempt of this worker could succeed."""
    capture = located(web.url("drops", stored(tmp_path).name))
    before = remote.remote(capture.url).fs
    assert remote.remote(capture.url).fs is before
    with pytest.raises(streams.TransportError):
        scanned(capture)
    assert remote.remote(capture.url).fs is not before


@pytest.mark.parametrize("server", ["ranges", "whole", "endless"])
def test_a_capture_that_became_shorter_is_none(server: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    capture = located(web.url(server, path.name))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(streams.TransportError):
        scanned(capture)


@pytest.mark.parametrize("server", ["ranges", "endless"])
def test_what_came_later_is_left_to_the_next_run(server: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    content = path.read_bytes()
    capture = located(web.url(server, path.name))
    path.write_bytes(content + content[24:])
    ours = scanned(capture)
    path.write_bytes(content)
    assert same(ours, nagle_scan.scan(path))


def test_what_is_gone_says_so_and_not_that_it_is_no_capture(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    capture = located(web.url("ranges", path.name))
    path.unlink()
    with pytest.raises(streams.TransportError, match=r"no such file|HTTP 404"):
        scanned(capture)


def test_a_server_that_says_no_more_is_lost(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = located(web.url("stalls", stored(tmp_path).name))
    monkeypatch.setattr(remote, "READ_S", 0.2)
    with pytest.raises(streams.TransportError, match="no answer in time"):
        scanned(capture)


def another(content: bytes) -> bytes:
    """The same ends but for a byte, at which no reader stops."""
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("server", ["ranges", "whole", "endless"])
def test_another_capture_of_the_same_size_is_another(server: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    capture = located(web.url(server, path.name))
    path.write_bytes(another(path.read_bytes()))
    with pytest.raises(CaptureError, match=r"changed while it was read$") as told:
        scanned(capture)
    assert not isinstance(told.value, streams.TransportError), "the old one does not come back"


@pytest.mark.usefixtures("small_blocks")
def test_frames_of_two_captures_are_not_mixed(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    capture = located(web.url("ranges", path.name))

    def overwritten_in_the_middle() -> None:
        with streams.opened(capture) as pipe, open(pipe, "rb") as source:
            assert source.read(24) == path.read_bytes()[:24]
            path.write_bytes(another(path.read_bytes()))
            source.read()

    with pytest.raises(CaptureError, match="changed while it was read"):
        overwritten_in_the_middle()


def test_a_damaged_capture_keeps_no_connection_open(web: Web, tmp_path: Path) -> None:
    """fsspec has 100 of them: the next capture would wait for ever."""
    capture = located(web.url("whole", stored(tmp_path).name))
    with streams.opened(capture) as pipe:
        with open(pipe, "rb") as source:
            source.read(remote.BEGIN_LEN)
        (copy,) = [thread for thread in threading.enumerate() if thread.name == "capture"]
        copy.join(30)
        assert not copy.is_alive()


def test_an_interrupt_is_one(web: Web, tmp_path: Path) -> None:
    capture = located(web.url("ranges", stored(tmp_path).name))
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


MANY = f"""
import resource, struct
import fsspec, nagle_scan
from contextlib import ExitStack
from nagle_scan.fleet import identity, streams
from nagle_scan.fleet.work import Located

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))
content = open({str(CAPTURES / NAME)!r}, "rb").read()
length = struct.unpack_from("<I", content, 32)[0]
captures = []
for number in range(300):
    begin = struct.pack("<I", 1_700_000_000 + number)
    # More than fits a pipe: each copy waits for its reader.
    frames = (begin + content[28 : 40 + length]) * 2000
    fsspec.filesystem("memory").pipe(f"/nagle/{{number:03}}.pcap", content[:24] + frames)
    captures.append(identity.of(Located(f"memory://nagle/{{number:03}}.pcap")))
with ExitStack() as opened:
    paths = [opened.enter_context(streams.opened(one)) for one in captures[::-1]]
    print(nagle_scan.scan(paths, threads=1).summary.packets)
"""


def test_a_set_of_many_files_in_any_order_is_read_to_its_end() -> None:
    """More than a process may open unasked, and none waits for another for ever."""
    told = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout == "600000\n"
