"""The tables outlive deaths at any moment, upgrades, retention and a second run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import fleet_rows
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from fleet_rows import PLAIN
from fleets import ALL, STALLED, made, shipped
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import fields, lake, tables, writer
from nagle_scan.fleet.lake import Lake, Scope

STORED = Path(__file__).parent / "fleet-0.1.0.zip"
"""What `nagle-scan fleet captures/java-split.pcap --all` wrote in November 2026, with this
release's first tables: it must be read, and added to, for ever."""
WRITER = """
import sys, fleets
from nagle_scan.fleet import tables, writer
from nagle_scan.fleet.lake import Scope
with writer.writing(sys.argv[1], Scope.of(fleets.SETTINGS)) as adding:
    answers = [(name, fleets.shipped(name)[1]) for name in sys.argv[2:]]
    print("begin", flush=True)
    known = set(adding.query("SELECT set FROM captures")["set"].to_pylist())
    for name, answer in answers:
        if answer.set not in known:
            rows = {table: tables.from_bytes(one) for table, one in answer.tables.items()}
            adding.commit(rows)
    adding.end(None)
"""


def rows_of(path: str | Path) -> dict[str, list[str]]:
    """All rows of each table that count, in an order of their own; batches have other names."""
    opened = Lake.open(str(path))
    return {
        name: sorted(
            json.dumps(row, default=str)
            for row in opened.query(f"SELECT * FROM {name}").drop(["batch"]).to_pylist()
        )
        for name in fields.DETAILS
    }


def raw_rows(path: str | Path, name: str) -> int:
    return int(DeltaTable(f"{path}/{name}").to_pyarrow_table().num_rows)


def test_details_without_their_captures_do_not_count_and_go(tmp_path: Path) -> None:
    fleet = made(tmp_path / "fleet", [ALL[:1]])
    before = rows_of(fleet)
    _, answer = shipped(ALL[1])
    dead = writer.Writer(fleet)
    rows = {name: tables.from_bytes(one) for name, one in answer.tables.items()}
    dead._append("stalls", rows["stalls"].set_column(0, "batch", pa.array(["x"] * 100)))
    dead._state(lake.RUNNING)
    assert rows_of(fleet) == before
    assert raw_rows(fleet, "stalls") > len(before["stalls"])
    made(fleet, [[]])
    assert raw_rows(fleet, "stalls") == len(before["stalls"])


def test_a_run_that_is_killed_at_any_moment_is_gone_on_with(tmp_path: Path) -> None:
    whole = rows_of(made(tmp_path / "whole"))
    chance = random.Random(0)
    deaths = 0
    for number in range(5):
        folder = tmp_path / f"fleet{number}"
        for _ in range(3):
            deaths += killed(folder, chance.uniform(0, 0.25))
            if (folder / "captures" / "_delta_log").exists():
                assert set(rows_of(folder)["stalls"]) <= set(whole["stalls"])
        assert rows_of(made_on(folder)) == whole
    assert deaths > 5


def killed(folder: Path, after_s: float) -> bool:
    """Did the writer die before it was done?"""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, folder, *ALL],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(after_s)
    writer.kill()
    return writer.wait() == -signal.SIGKILL


def made_on(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-c", WRITER, folder, *ALL],
        check=True,
        stdout=subprocess.DEVNULL,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    return folder


def test_a_set_that_grew_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    fleet = made(tmp_path / "fleet", [ALL[:2]])
    old, _ = shipped(ALL[0])
    new = shipped(ALL[4])
    made(fleet, [[(new[0]._replace(replaces=old.id), new[1])]])
    assert rows_of(fleet) == rows_of(made(tmp_path / "other", [[ALL[1], ALL[4]]]))
    assert raw_rows(fleet, "stalls") == len(rows_of(fleet)["stalls"])


def test_a_second_run_stops_with_one_line(tmp_path: Path) -> None:
    path = str(tmp_path / "fleet")
    with (
        writer.writing(path, PLAIN),
        pytest.raises(OutputError, match=r"fleet: another run writes into it$"),
        writer.writing(path, PLAIN),
    ):
        pass


def test_a_fleet_of_an_older_release_is_read_and_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(STORED) as stored:
        stored.extractall(tmp_path)
    fleet = tmp_path / "fleet"
    before = rows_of(fleet)
    assert len(before["stalls"]) == 9
    later = {
        name: (*columns[:-1], fields.Field("added", fields.TEXT, ""), columns[-1])
        for name, columns in fields.tables().items()
    }
    monkeypatch.setattr(lake, "tables", lambda: later)
    monkeypatch.setattr(fields, "tables", lambda: later)
    fields.schema.cache_clear()
    try:
        query = "SELECT DISTINCT added FROM stalls ORDER BY added NULLS FIRST"
        assert Lake.open(str(fleet)).query(query).to_pylist() == [{"added": None}]
        new = {"set": "later", "service": "a:1", "added": "new", **fleet_rows.STALL}
        fleet_rows.written(fleet, {"stalls": [new]})
        told = Lake.open(str(fleet)).query(query).to_pylist()
        assert told == [{"added": None}, {"added": "new"}]
    finally:
        fields.schema.cache_clear()
    monkeypatch.undo()
    # The older release goes on, too: after a downgrade, or on another machine.
    made(fleet, [ALL[1:2]])
    assert {row for row in rows_of(fleet)["stalls"] if "new" not in row} > set()


def test_days_go_whole_and_their_sums_stay(tmp_path: Path) -> None:
    fleet = made(tmp_path / "fleet", [ALL[:2]])
    sums = rows_of(fleet)["sums"]
    with writer.writing(fleet, PLAIN) as adding:
        adding.end(timedelta(days=999_999))
    assert rows_of(fleet)["stalls"]
    with writer.writing(fleet, PLAIN) as adding:
        adding.end(timedelta(days=1))
    assert rows_of(fleet) == {"sums": sums, "stalls": [], "connections": [], "waits": []}


def test_many_runs_leave_few_files(tmp_path: Path) -> None:
    rows = [{"set": str(number), "service": "a:1", **fleet_rows.STALL} for number in range(30)]
    for row in rows:
        fleet_rows.written(tmp_path / "fleet", {"stalls": [row]})
    stalls = DeltaTable(tmp_path / "fleet/stalls")
    assert stalls.to_pyarrow_table().num_rows == 30
    assert len(stalls.file_uris()) <= writer.MOST_SMALL_FILES


OTHER: list[tuple[Scope, str]] = [
    (Scope("port 80", 10.0, None), "scanned with no filter"),
    (Scope(None, 20.0, None), "scanned with --min-wait 10"),
    (Scope(None, 10.0, "abcd"), "scanned with no key"),
]


@pytest.mark.parametrize(("scope", "told"), OTHER)
def test_results_that_do_not_add_up_are_kept_apart(tmp_path: Path, scope: Scope, told: str) -> None:
    fleet = made(tmp_path / "fleet", [[]])
    with pytest.raises(OutputError, match=f"{told}: name a new folder"):
        writer.check(fleet, scope)


def foreign_folder(path: Path) -> str:
    path.mkdir()
    (path / "thesis.txt").write_text("")
    return "holds something else"


def foreign_table(path: Path) -> str:
    write_deltalake(path / "captures", pa.table({"a": [1]}))
    return "no fleet: a table of something else"


def older_fleet(path: Path) -> str:
    path.mkdir()
    (path / "fleet.json").write_text("{}")
    return "holds a fleet of an older version"


def file_in_the_way(path: Path) -> str:
    path.write_text("")
    return "not a directory"


def test_a_run_deletes_no_file_however_old(tmp_path: Path) -> None:
    """A note of the user's, and whatever a link leads to, are not the fleet's to clear."""
    path, elsewhere = tmp_path / "fleet", tmp_path / "elsewhere"
    made(path, [ALL[:1]])
    note = path / "stalls" / "mine" / "notes.txt"
    other = elsewhere / "other.txt"
    for file in (note, other):
        file.parent.mkdir()
        file.write_text("mine")
    (path / "stalls" / "link").symlink_to(elsewhere)
    there = files(tmp_path)
    for file in there:
        os.utime(file, (0, 0))
    made(path, [ALL[1:2]])
    assert set(there) <= set(files(tmp_path))


@pytest.mark.parametrize("make", [foreign_folder, foreign_table, older_fleet, file_in_the_way])
def test_nothing_is_written_where_something_else_is(tmp_path: Path, make: object) -> None:
    assert callable(make)
    path = tmp_path / "fleet"
    told = make(path)
    there = files(tmp_path)
    with pytest.raises((OutputError, CaptureError), match=told):
        writer.check(str(path), PLAIN)
    assert files(tmp_path) == there


@pytest.mark.parametrize("name", ["a#1", "50%25", "[1]", "line\n", "a\\b"])
def test_a_name_that_delta_cannot_write_is_one_line(name: str, tmp_path: Path) -> None:
    told = "Delta tables cannot be in a folder with .* in its name$"
    with pytest.raises(OutputError, match=told):
        writer.check(str(tmp_path / name), PLAIN)
    with pytest.raises(CaptureError, match=told):
        Lake.open(str(tmp_path / name))
    assert files(tmp_path) == []


@pytest.mark.parametrize("name", ["100 %", 'o\'clock "x"', "déjà", "day=2026-01-01"])
def test_any_other_name_is_one(name: str, tmp_path: Path) -> None:
    made(tmp_path / name, [STALLED[:1]])
    assert len(Lake.open(str(tmp_path / name)).query("SELECT * FROM stalls")) > 0


def files(path: Path) -> Sequence[Path]:
    return sorted(path.rglob("*"))


def test_a_folder_that_is_no_fleet_is_told(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no fleet"):
        Lake.open(str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="No field named nope"):
        Lake.open(made(tmp_path / "fleet", [[]])).query("SELECT nope FROM stalls")
