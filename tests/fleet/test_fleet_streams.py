"""Captures of other machines are copied while they are read; half of one never passes for one."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import nagle_scan
import pyarrow as pa
import pytest
from conftest import CAPTURES, generated, needs_full
from moto.server import ThreadedMotoServer
from nagle_scan import CaptureError
from nagle_scan.fleet import identity, inputs, remote, streams
from nagle_scan.fleet.work import Capture, Failure
from web import USER, Web, served

NAME = "epoll-fd0.pcap"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with served(tmp_path) as server:
        yield server


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
def test_a_capture_of_a_web_server_is_that_of_the_disk(how: str, web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path, how)
    here, there = located(str(path)), located(web.url("ranges", path.name))
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
    fsspec.get_filesystem_class("s3").clear_instance_cache()
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


def test_a_capture_comes_as_it_is_stored(web: Web, tmp_path: Path) -> None:
    """Some servers pack what a client takes packed."""
    path = stored(tmp_path)
    there = located(web.url("packs", path.name))
    assert there.content == located(str(path)).content
    assert same(scanned(there), nagle_scan.scan(path))


def test_nothing_is_read_twice_and_nothing_stays(web: Web, tmp_path: Path) -> None:
    """A disk that fills up a little with each worker that is killed is full one day."""
    path = stored(tmp_path)
    there = located(web.url("ranges", path.name))
    web.asked.clear()
    before = os.listdir(tempfile.gettempdir())
    with streams.opened(there) as copy:
        assert [name for name in os.listdir(tempfile.gettempdir()) if name not in before] == []
        assert same(nagle_scan.scan(copy), nagle_scan.scan(copy)), "frames may be looked up again"
        assert web.sent == path.stat().st_size


@needs_full
def test_a_disk_without_room_for_the_copy_is_one_line(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = located(web.url("ranges", stored(tmp_path).name))
    monkeypatch.setattr(streams, "TemporaryFile", partial(open, "/dev/full", "wb"))
    with pytest.raises(streams.TransportError, match=r"cannot copy: no space left on device$"):
        scanned(there)


def test_a_server_that_sends_no_parts_is_one_line(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    for serves in ("whole", "endless", "packed"):
        (found,) = inputs.find([web.url(serves, path.name)])
        failure = identity.of(found)
        assert isinstance(failure, Failure)
        assert failure.reason == "the server sends whole files only, or does not tell their size"


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


def test_a_capture_that_became_shorter_is_none(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    capture = located(web.url("ranges", path.name))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(streams.TransportError):
        scanned(capture)


def test_what_came_later_is_left_to_the_next_run(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    content = path.read_bytes()
    capture = located(web.url("ranges", path.name))
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


def test_another_capture_of_the_same_size_is_another(web: Web, tmp_path: Path) -> None:
    path = stored(tmp_path)
    capture = located(web.url("ranges", path.name))
    path.write_bytes(another(path.read_bytes()))
    with pytest.raises(CaptureError, match=r"changed while it was read$") as told:
        scanned(capture)
    assert not isinstance(told.value, streams.TransportError), "the old one does not come back"


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


CHANGED = r"ring\.pcap: changed while it was read$"


def test_a_ring_that_goes_round_is_not_the_old_capture(tmp_path: Path) -> None:
    ring = tmp_path / "ring.pcap"
    shutil.copy(CAPTURES / NAME, ring)
    capture = located(str(ring))

    def scan_the_next_round() -> None:
        with streams.opened(capture) as path:
            shutil.copy(CAPTURES / "java-split.pcap", ring)
            nagle_scan.scan(path, threads=1)

    with pytest.raises(CaptureError, match=CHANGED):
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

    with pytest.raises(CaptureError, match=CHANGED):
        scan_what_came()
    capture = located(str(ring))
    with streams.opened(capture), ring.open("ab") as file:
        file.write(content[24:])
