"""What workers send: the same numbers as a scan's own tables, without pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nagle_scan
import numpy as np
import pandas as pd
import pytest
from conftest import CAPTURES
from conversation import write
from fleets import ALL, HIDDEN, SETTINGS, UNDATED, job, scanned, shipped, undated
from nagle_scan.fleet import tables

NUMBERED = ("connections",)


def given(name: str) -> dict[str, pd.DataFrame]:
    _, answer = shipped(name)
    return {name: tables.from_bytes(stream).to_pandas() for name, stream in answer.tables.items()}


@pytest.mark.parametrize("table", tables.NAMES[:-1])
@pytest.mark.parametrize("name", ALL)
def test_they_say_what_the_tables_of_a_scan_say(name: str, table: str) -> None:
    own = getattr(nagle_scan.scan(CAPTURES / name), table)
    own = own.reset_index() if table in NUMBERED else own
    found = given(name)[table]
    assert list(found) == ["set", *own, "day"]
    for column in own:
        expected = own[column]
        if isinstance(expected.dtype, pd.CategoricalDtype):
            # Codes on the way, text in the files: their names may differ.
            expected, found[column] = expected.astype("str"), found[column].astype("str")
        assert found[column].dtype == expected.dtype, column
        pd.testing.assert_series_equal(found[column], expected)


def test_every_column_is_there_without_a_row(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    write(empty, [])
    nothing = tables.of(scanned(job(empty)), job(empty), SETTINGS)
    for name, stream in shipped(ALL[0])[1].tables.items():
        full = tables.from_bytes(stream)
        assert nothing[name].schema.equals(full.schema), name
        assert len(nothing[name]) == (name == "captures")
    assert nothing["captures"]["day"].to_pylist() == [tables.NO_DAY]
    assert nothing["captures"]["cannot_tell"].to_pylist() == [
        "No usable TCP segment in the capture."
    ]


def test_unknown_numbers_are_null_so_that_sql_skips_them() -> None:
    connections = tables.from_bytes(shipped(ALL[0])[1].tables["connections"])
    assert connections["client_delayed_ack_ms"].null_count == len(connections)


def test_numbers_of_a_set_are_there_once_and_of_a_file_for_each() -> None:
    both = job(*(CAPTURES / name for name in ALL[:2]))
    core = scanned(both)
    rows = tables.of(core, both, SETTINGS)["captures"].to_pylist()
    summary = core.summary()
    assert [Path(row["path"]).name for row in rows] == list(ALL[:2])
    assert [row["packets"] for row in rows] == [57, 564]
    assert [row["first_frame"] for row in rows] == [1, 58]
    assert [row["stalls"] for row in rows] == [summary.stalls, None]
    assert [row["connections"] for row in rows] == [summary.connections, None]
    assert {row["verdict"] for row in rows} == {"stalls"}
    assert {row["cannot_tell"] for row in rows} == {""}


def test_a_row_is_of_the_day_on_which_it_happened() -> None:
    stalls = given(ALL[1])["stalls"]
    days = stalls["time"].dt.tz_localize(None).astype("datetime64[s]").astype("int64") // 86_400
    assert (stalls["day"] == days).all()
    assert len(stalls)


def test_text_without_a_date_tells_no_day(tmp_path: Path) -> None:
    _, answer = undated(tmp_path / "capture.txt")
    found = {name: tables.from_bytes(stream) for name, stream in answer.tables.items()}
    assert set(found["connections"]["day"].to_pylist()) == {tables.NO_DAY}
    assert found["connections"]["first"].null_count == len(found["connections"]) == 1
    assert found["captures"]["first"].null_count == 1
    assert found["captures"]["packets"].to_pylist() == [UNDATED]


def test_a_key_replaces_paths_too() -> None:
    wanted, answer = shipped(ALL[0], HIDDEN)
    content = b"".join(answer.tables.values())
    assert b"java-split" not in content
    assert b"127.0.0.1" not in content
    row = tables.from_bytes(answer.tables["captures"]).to_pylist()[0]
    assert row["path"] == tables.shown(wanted.captures[0], HIDDEN.key)[0]


def test_a_worker_needs_no_pandas() -> None:
    """It would take 60 MB of each worker."""
    program = (
        "import sys;"
        "import nagle_scan, nagle_scan._core as core;"
        "from nagle_scan.fleet import tables;"
        "from nagle_scan.fleet.work import Capture, Job, Settings;"
        "path = sys.argv[1];"
        "scan = core.scan_captures([path], None, 10.0, False, core.Progress(), 1);"
        "file = Capture(path, '', 1, 'c', 'h', core.first_time_ns(path));"
        "found = tables.of(scan, Job('s', path, (file,)), Settings(core.VERSION, None, 10.0));"
        "streams = tables.to_bytes(found);"
        "assert len(tables.from_bytes(streams['stalls'])) == 9;"
        "heavy = {'pandas', 'matplotlib', 'scapy'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    command = [sys.executable, "-c", program, str(CAPTURES / ALL[0])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_times_before_1970_and_far_ahead_have_their_day() -> None:
    assert tables._day(-1) == -1
    assert np.datetime64(tables._day(1795247351435718000), "D") == np.datetime64("2026-11-21")


def test_a_broken_clock_does_not_make_a_folder_for_each_row() -> None:
    day_ns = tables.DAY_NS
    spread = np.arange(tables.MOST_DAYS + 1, dtype=np.int64) * day_ns
    assert set(tables._days(spread, len(spread), True, 7)) == {7}
    assert tables._days(spread[1:], len(spread) - 1, True, 7)[-1] == tables.MOST_DAYS
    long = np.repeat(spread[:2], tables.MOST_DAYS)
    assert set(tables._days(long, len(long), True, 7)) == {0, 1}
