"""`-o ticket.zip`: everything that a ticket needs, in one attachment."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import nagle_scan
import pytest
from conftest import CAPTURES, Run, write_evidence

STALLED = CAPTURES / "jdk-httpserver.pcap"
SINGLE = {"ticket.md", "report.html", "timeline.png"}
MEMBERS = SINGLE | {"evidence.pcapng"}


def members(path: Path) -> dict[str, bytes]:
    with ZipFile(path) as bundle:
        assert bundle.testzip() is None
        return {name: bundle.read(name) for name in bundle.namelist()}


def test_it_holds_what_the_single_outputs_hold(run: Run, tmp_path: Path) -> None:
    wanted = [word for name in ("x.zip", *SINGLE) for word in ("-o", tmp_path / name)]
    done = run(STALLED, "--exit-zero", *wanted)
    assert (done.returncode, done.stderr) == (0, b"")
    packed = members(tmp_path / "x.zip")
    write_evidence(nagle_scan.scan(STALLED), tmp_path / "evidence.pcapng")
    assert packed == {name: (tmp_path / name).read_bytes() for name in MEMBERS}


def test_it_takes_the_options_of_its_parts(tmp_path: Path) -> None:
    before = nagle_scan.scan(STALLED)
    after = nagle_scan.scan(CAPTURES / "jdk-httpserver-nodelay.pcap")
    before.compare(after).write(tmp_path / "x.zip")
    assert members(tmp_path / "x.zip")["ticket.md"].startswith(b"# FIXED: ")


def test_the_same_scan_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        nagle_scan.scan(STALLED).write(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_capture_without_stalls_has_one_too(tmp_path: Path) -> None:
    nagle_scan.scan(CAPTURES / "epoll-fixed.pcap").write(tmp_path / "x.zip")
    assert members(tmp_path / "x.zip").keys() == MEMBERS


def test_standard_input_is_refused_before_it_is_read(run: Run, tmp_path: Path) -> None:
    done = run("-", "-o", tmp_path / "x.zip", stdin=STALLED.read_bytes())
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"x.zip: the frames are read a second time" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("existing", [None, b"old"])
def test_it_is_written_whole_or_not_at_all(existing: bytes | None, tmp_path: Path) -> None:
    capture = tmp_path / "gone.pcap"
    capture.write_bytes(STALLED.read_bytes())
    scan = nagle_scan.scan(capture)
    capture.unlink()
    path = tmp_path / "x.zip"
    if existing is not None:
        path.write_bytes(existing)
    with pytest.raises(nagle_scan.NagleScanError):
        scan.write(path)
    assert (path.read_bytes() if path.exists() else None) == existing
