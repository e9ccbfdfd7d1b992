"""Each exchange: kept where they are asked for, else read again from the captures."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, Run, program
from nagle_scan import _core
from nagle_scan.api import scan as api

CAPTURE = CAPTURES / "java-split.pcap"


def test_exchanges_that_were_not_kept_are_read_again() -> None:
    kept = nagle_scan.scan(CAPTURE, "tcp", exchanges=True).exchanges
    read_again = nagle_scan.scan(CAPTURE, "tcp", exchanges=False).exchanges
    assert len(kept) > 0
    pd.testing.assert_frame_equal(kept, read_again)


def test_exchanges_of_a_small_capture_need_no_second_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = Path(shutil.copy(CAPTURE, tmp_path))
    kept, large = nagle_scan.scan(capture), capture.stat().st_size - 1
    monkeypatch.setattr(api, "SMALL_BYTES", large)
    counted = nagle_scan.scan(capture)
    capture.unlink()
    assert len(kept.exchanges) > 0
    with pytest.raises(nagle_scan.CaptureError):
        counted.exchanges  # noqa: B018


def test_exchanges_of_a_pipe_are_there_if_they_were_asked_for() -> None:
    kept = nagle_scan.scan(CAPTURE).exchanges
    for keep, said in (("True", f"{len(kept)}"), ("False", "scan with exchanges=True")):
        script = f"import nagle_scan; print(len(nagle_scan.scan('-', exchanges={keep}).exchanges))"
        with CAPTURE.open("rb") as capture:
            done = program(sys.executable, "-c", script, stdin=capture)
        assert (done.stdout or done.stderr).endswith(f"{said}\n")


def test_parts_of_an_exchange_add_up_to_its_latency_on_every_capture() -> None:
    seen = 0
    for path in sorted(CAPTURES.rglob("*.pcap*")):
        columns = nagle_scan.scan(path, exchanges=True)._result.core.columns("exchanges")
        parts = [columns[f"{name}_ms"] for name in _core.PARTS]
        assert all((part >= 0).all() for part in parts), path
        # Within a microsecond.
        assert (abs(sum(parts) - columns["latency_ms"]) < 1e-3).all(), path
        seen += len(columns["latency_ms"])
    assert seen > 20_000


def test_each_connection_has_one_exchange_that_it_connected_for() -> None:
    table = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").exchanges
    firsts = table.drop_duplicates("connection")
    assert firsts["connecting_ms"].between(0, 1).all()
    assert table["connecting_ms"].notna().sum() == len(firsts)


def test_held_time_is_that_of_sure_stalls() -> None:
    scan = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap")
    sure = scan.stalls.query("confidence != 'possible'")
    assert scan.exchanges["held_ms"].sum() == pytest.approx(sure["hold_ms"].sum())


def test_the_file_has_all_exchanges_of_a_pipe_too(run: Run, tmp_path: Path) -> None:
    content = CAPTURE.read_bytes()
    done = run("-", "-o", tmp_path / "all-exchanges.csv", "--exit-zero", stdin=content)
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(tmp_path / "all-exchanges.csv")
    table = nagle_scan.scan(CAPTURE).exchanges.drop(columns="begin")
    pd.testing.assert_frame_equal(written, table)
