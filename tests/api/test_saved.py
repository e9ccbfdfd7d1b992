"""A saved scan is opened again without its capture: nothing is lost, and no secret is kept."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CAPTURES
from nagle_scan import CaptureError, OutputError, Scan, timeline
from nagle_scan.api import saved

STALLS, CLEAN = CAPTURES / "epoll-fd0.pcap", CAPTURES / "epoll-fixed.pcap"
KEY = bytes(range(32))
TABLES = ("connections", "stalls", "waits", "servers", "exchanges")

Again = Callable[[Scan, Path], Scan]


def by_file(scan: Scan, folder: Path) -> Scan:
    scan.save(folder / "scan.parquet")
    return nagle_scan.load(folder / "scan.parquet")


def by_folder(scan: Scan, folder: Path) -> Scan:
    scan.save(f"{folder / 'saved'}/")
    return nagle_scan.load(folder / "saved")


def by_pickle(scan: Scan, _folder: Path) -> Scan:
    again: Scan = pickle.loads(pickle.dumps(scan))
    return again


def by_copy(scan: Scan, _folder: Path) -> Scan:
    return copy.deepcopy(scan)


WAYS: list[Again] = [by_file, by_folder, by_pickle, by_copy]
of_each_way = pytest.mark.parametrize("again", WAYS)


@pytest.mark.parametrize("capture", [STALLS, CLEAN], ids=lambda path: path.stem)
def test_it_tells_the_same(capture: Path, tmp_path: Path) -> None:
    scan = nagle_scan.scan(capture, exchanges=True, names={"127.0.0.1": "here"})
    kinds = ("json", "markdown", "html", "csv", "junit", "sarif")
    texts = {kind: getattr(scan, f"to_{kind}")() for kind in kinds}
    for again in WAYS:
        opened = again(scan, tmp_path)
        for name in TABLES:
            pd.testing.assert_frame_equal(getattr(opened, name), getattr(scan, name))
        assert {kind: getattr(opened, f"to_{kind}")() for kind in kinds} == texts, again
        assert repr(opened) == repr(scan)
        assert str(opened.summary) == str(scan.summary)
        pd.testing.assert_frame_equal(opened.segments(1), scan.segments(1))


@pytest.fixture
def alone(tmp_path: Path) -> tuple[Scan, Scan]:
    """A scan, and the same opened where its capture is gone."""
    capture = tmp_path / "gone.pcap"
    shutil.copy(STALLS, capture)
    scan = nagle_scan.scan(capture)
    scan.save(tmp_path / "scan.parquet")
    capture.unlink()
    return scan, nagle_scan.load(tmp_path / "scan.parquet")


def test_without_the_capture_all_but_frames_is_there(alone: tuple[Scan, Scan]) -> None:
    scan, opened = alone
    for name in ("connections", "stalls", "waits", "servers"):
        pd.testing.assert_frame_equal(getattr(opened, name), getattr(scan, name))
    assert opened.summary.sentence == scan.summary.sentence
    assert "4.4 s lost" in opened.to_html()
    assert timeline.ladder(opened).texts
    said = [text.get_text() for text in timeline.sequence(opened).texts]
    assert any("saved scan without its capture" in text for text in said)


def test_without_the_capture_it_says_so_wherever_it_is_shown(alone: tuple[Scan, Scan]) -> None:
    """Programs that only payload tells are missing from its advice."""
    scan, opened = alone
    told = "saved scan without its captures"
    shown = (str(opened.summary), opened._repr_html_(), opened.to_markdown(), opened.to_html())
    assert all(told in text.lower() for text in shown)
    assert repr(opened) == repr(scan)[:-1] + "; saved, without its captures>"
    shutil.copy(STALLS, scan.paths[0])
    assert told not in str(opened.summary)
    assert repr(opened) == repr(scan)


@pytest.mark.parametrize("ask", ["segments", "packets", "exchanges", "evidence", "bundle"])
def test_what_needs_frames_says_that_the_capture_is_missing(
    ask: str, alone: tuple[Scan, Scan]
) -> None:
    questions: dict[str, Callable[[Scan], object]] = {
        "segments": lambda scan: scan.segments(1),
        "packets": lambda scan: scan.packets([1]),
        "exchanges": lambda scan: scan.exchanges,
        "evidence": lambda scan: scan.to_evidence(),
        "bundle": lambda scan: scan.to_bundle(),
    }
    with pytest.raises(nagle_scan.NagleScanError, match="no longer the capture that was scanned"):
        questions[ask](alone[1])


def test_another_capture_of_the_same_name_is_not_taken_for_it(alone: tuple[Scan, Scan]) -> None:
    """Frame numbers of one capture mean nothing in another."""
    scan, opened = alone
    shutil.copy(CLEAN, scan.paths[0])
    with pytest.raises(CaptureError, match="no longer the capture"):
        opened.segments(1)
    shutil.copy(STALLS, scan.paths[0])
    assert len(opened.segments(1))


def test_nor_is_one_of_the_same_length(alone: tuple[Scan, Scan]) -> None:
    """A rotation begins anew; a capture that still grows is the same."""
    capture, length = Path(alone[0].paths[0]), STALLS.stat().st_size
    capture.write_bytes(CLEAN.read_bytes().ljust(length, b"\0")[:length])
    for scan in alone:
        assert not scan.can_be_read_again
        with pytest.raises(OutputError, match="no longer the capture that was scanned"):
            scan.to_evidence()
        with pytest.raises(CaptureError, match="no longer the capture that was scanned"):
            scan.packets([1])
    capture.write_bytes(STALLS.read_bytes() + b"more")
    assert alone[0].to_evidence()


@pytest.mark.parametrize("again", [by_file, by_folder, by_pickle])
def test_what_was_anonymized_stays_so(again: Again, tmp_path: Path) -> None:
    capture = tmp_path / "host-10-9-8-7.pcap"
    shutil.copy(STALLS, capture)
    scan = nagle_scan.scan(capture, filter="host 127.0.0.1", anonymize=KEY)
    opened = again(scan, tmp_path)
    assert list(opened.stalls) == list(scan.stalls)
    assert (opened.connections["client_addr"] == scan.connections["client_addr"]).all()
    assert opened.to_csv() == scan.to_csv()
    kept = [pickle.dumps(opened), *(path.read_bytes() for path in tmp_path.rglob("*.parquet"))]
    for secret in (KEY, b"10-9-8-7", b"host 127", str(tmp_path).encode()):
        assert not any(secret in content for content in kept)
    with pytest.raises(CaptureError, match="does not know its captures"):
        opened.segments(1)


def test_other_tools_read_the_tables(tmp_path: Path) -> None:
    scan = nagle_scan.scan(STALLS)
    scan.save(f"{tmp_path}/")
    names = {path.stem for path in tmp_path.iterdir()}
    assert names == {"scan", "connections", "stalls", "waits", "servers"}
    stalls = pd.read_parquet(tmp_path / "stalls.parquet")
    pd.testing.assert_frame_equal(stalls, scan.stalls, check_categorical=False)
    connections = pd.read_parquet(tmp_path / "connections.parquet").set_index("connection")
    assert connections["stalls"].tolist() == scan.connections["stalls"].tolist()
    (row,) = pd.read_parquet(tmp_path / "scan.parquet").drop(columns="state").to_dict("records")
    assert (row["verdict"], row["stalls"]) == ("stalls", len(scan.stalls))
    assert row["sentence"] == scan.summary.sentence


def test_a_loaded_scan_can_be_saved_again(tmp_path: Path) -> None:
    once = by_file(nagle_scan.scan(STALLS), tmp_path)
    first = (tmp_path / "scan.parquet").read_bytes()
    by_file(once, tmp_path)
    assert (tmp_path / "scan.parquet").read_bytes() == first


def changed(path: Path, **columns: object) -> None:
    """Writes a saved scan again with other columns."""
    row = pq.read_table(path).to_pylist()[0] | columns
    table = pa.table({name: pa.array([value]) for name, value in row.items()})
    pq.write_table(table, path, compression="none", use_dictionary=False)


def about(path: Path, **members: object) -> str:
    text: str = pq.read_table(path)["about"][0].as_py()
    return json.dumps(json.loads(text) | members)


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no Parquet": (lambda path: path.write_bytes(b"PAR1 but not really PAR1"), "not a saved scan"),
    "empty": (lambda path: path.write_bytes(b""), "not a saved scan"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-300]), "not a saved scan"),
    "another table": (lambda path: pd.DataFrame({"a": [1]}).to_parquet(path), "not a saved scan"),
    "gone": (lambda path: path.unlink(), "no such file"),
    "no state": (lambda path: changed(path, state=None), "not a saved scan"),
    "state of text": (lambda path: changed(path, state="a"), "not a saved scan"),
    "other bytes": (lambda path: changed(path, state=b"\x00" * 99), "not a saved scan"),
    "damaged": (
        lambda path: changed(path, state=bytes(nagle_scan.scan(CLEAN).core.state()[:-9])),
        "the saved scan is damaged",
    ),
    "another version": (
        lambda path: changed(path, state=b"nagle-scan 0.0.1 (format 1)\n" + b"\x00" * 99),
        r"saved by nagle-scan 0\.0\.1 .*scan the capture again",
    ),
    "about nothing": (lambda path: changed(path, about="{}"), "not a saved scan"),
    "about a depth": (lambda path: changed(path, about="[" * 99_999), "not a saved scan"),
    "fewer paths": (lambda path: changed(path, about=about(path, paths=[])), "not a saved scan"),
    "other captures": (
        lambda path: changed(path, about=about(path, paths=["a", "b"], sizes=[1, 2])),
        "the saved scan is damaged",
    ),
    "no path": (lambda path: changed(path, about=about(path, paths=[5])), "not a saved scan"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_what_is_no_saved_scan_is_refused_in_one_line(how: str, tmp_path: Path) -> None:
    path = tmp_path / "scan.parquet"
    nagle_scan.scan(CLEAN).save(path)
    damage, said = DAMAGE[how]
    damage(path)
    with pytest.raises(CaptureError, match=said) as error:
        nagle_scan.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_a_scan_is_saved_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = nagle_scan.scan(STALLS)
    scan.save(f"{tmp_path}/")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write, written = pq.write_table, []

    def fails(table: Any, path: str, **options: Any) -> None:
        written.append(path)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        write(table, path, **options)

    monkeypatch.setattr(pq, "write_table", fails)
    with pytest.raises(OutputError, match="no space left on device"):
        nagle_scan.scan(CLEAN).save(tmp_path)
    assert len(written) == 3
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_name_that_is_neither_parquet_nor_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"saved as \.parquet or into a folder"):
        nagle_scan.scan(CLEAN).save(tmp_path / "scan.pickle")
    assert not list(tmp_path.iterdir())


def test_without_pyarrow_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = nagle_scan.scan(CLEAN)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for ask in (scan.save, nagle_scan.load):
        with pytest.raises(ImportError, match=r"pip install 'nagle-scan\[parquet\]'"):
            ask(tmp_path / "scan.parquet")
    assert repr(by_pickle(scan, tmp_path)) == repr(scan)


def test_the_key_is_in_no_field_that_is_saved() -> None:
    told = saved.about(nagle_scan.scan(CLEAN, anonymize=KEY))
    assert "key" not in told._fields
    assert told.paths == ["capture-1"]
    assert told.sizes == [-1]
