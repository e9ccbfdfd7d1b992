"""Inputs of `nagle_scan.scan`: paths, bytes, open files, and several of them."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES
from nagle_scan import Scan


@pytest.fixture(scope="module")
def scan() -> Scan:
    return nagle_scan.scan(CAPTURES / "epoll-fd0.pcap", exchanges=True)


@pytest.mark.parametrize("given", ["bytes", "bytearray", "memoryview", "file", "several", "home"])
def test_what_is_no_path_is_scanned_as_its_file_is(
    given: str, scan: Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = CAPTURES / "epoll-fd0.pcap"
    monkeypatch.setenv("HOME", str(CAPTURES))
    with path.open("rb") as file:
        inputs: dict[str, Any] = {
            "bytes": path.read_bytes(),
            "bytearray": bytearray(path.read_bytes()),
            "memoryview": memoryview(b"".join(b"%c_" % byte for byte in path.read_bytes()))[::2],
            "file": file,
            "several": [path.read_bytes()],
            "home": "~/epoll-fd0.pcap",
        }
        found = nagle_scan.scan(inputs[given])
    assert found.stalls.equals(scan.stalls)
    assert found.segments(1).equals(scan.segments(1))
    assert found.render("pcapng")
    name = Path(found.captures[0]).name
    assert found.render("md") == scan.render("md").replace("epoll-fd0.pcap", name)
    called = {"file": str(path), "home": str(path)}.get(given, "<bytes>")
    assert found.captures == [called]


def test_a_file_object_may_be_called_as_it_likes() -> None:
    file = io.BytesIO((CAPTURES / "java-split.pcap").read_bytes())
    file.name = "\udcff\x1b[31m.pcap"
    found = nagle_scan.scan(file)
    assert found.captures == [r"\xff\x1b[31m.pcap"]
    assert found.render("html")


def test_an_open_file_is_read_on_after_its_name_and_its_owner_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    with path.open("rb") as file:
        found = nagle_scan.scan(file)
    path.unlink()
    assert len(found.segments(0)) == 57
    if sys.platform == "linux":
        read, given = found._result.paths[0], found._result.spooled[0]
        assert os.path.samefile(read, given.fileno()), "it was copied"  # type: ignore[attr-defined]


def test_a_file_object_is_read_from_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"head" + (CAPTURES / "java-split.pcap").read_bytes())
    with path.open("rb") as file:
        file.seek(4)
        assert nagle_scan.scan(file).summary.packets == 57


def test_a_temporary_file_lives_as_long_as_its_scan() -> None:
    found = nagle_scan.scan((CAPTURES / "java-split.pcap").read_bytes())
    path = found._result.paths[0]
    assert len(found.segments(0)) == 57
    del found
    assert not Path(path).exists()


def test_each_capture_is_scanned_as_alone(tmp_path: Path) -> None:
    paths = sorted(CAPTURES.glob("*.pcap"))[:2]
    key = bytes(range(32))
    for path, one in zip(paths, nagle_scan.scan_each(paths, anonymize=key), strict=True):
        here = nagle_scan.scan(path, anonymize=key)
        assert one.render("json") == here.render("json")
        assert one.render("zip") == here.render("zip")
    for number, path in enumerate(paths):
        (tmp_path / f"ring.pcap{number}").write_bytes(path.read_bytes())
    (tmp_path / "notes.txt").write_text("none")
    (ring,) = nagle_scan.scan_each(tmp_path)
    (same,) = nagle_scan.scan_each(tmp_path / "*.pcap*")
    assert len(same.stalls) == len(ring.stalls)
    assert len(ring._result.paths) == 2
    with pytest.raises(nagle_scan.CaptureError, match=r": a folder: scan_each yields a scan of"):
        nagle_scan.scan(tmp_path)
    broken = nagle_scan.scan_each([paths[0], "nowhere.pcap"], at_once=1)
    assert next(broken).verdict == nagle_scan.scan(paths[0]).verdict
    with pytest.raises(nagle_scan.CaptureError, match=r"^nowhere\.pcap: no such file"):
        next(broken)


def test_one_unreadable_capture_does_not_lose_the_others() -> None:
    first, second = sorted(CAPTURES.glob("*.pcap"))[:2]
    some = nagle_scan.scan_each([first, "nowhere.pcap", second], at_once=2, errors="skip")
    with pytest.warns(UserWarning, match=r"^nowhere\.pcap: no such file") as told:
        read = [scan._result.paths for scan in some]
    assert (read, len(told)) == ([[str(first)], [str(second)]], 1)
    assert told[0].filename == __file__
    with pytest.raises(ValueError, match="errors must be"):
        nagle_scan.scan_each([], errors="ignore")  # type: ignore[arg-type]
