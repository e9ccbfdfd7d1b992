"""The table outlives deaths, lost answers, full disks, damage and a second run; it deletes nothing
of others."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conftest import CAPTURES, COMMAND, Run
from deltalake import DeltaTable
from fleets import (
    ALL,
    EPOLL,
    OTHER,
    SETTINGS,
    SPLIT,
    STALL,
    begun,
    made,
    rows,
    rows_of,
    scanned,
    written,
)
from nagle_scan import CaptureError, Fleet, OutputError
from nagle_scan.fleet import actions, fields, parquet, sets, storage, table, writer
from nagle_scan.fleet.batch import Batch
from nagle_scan.fleet.table import Scope, Table
from nagle_scan.fleet.writer import Writer

KILLS = "import sys, test_fleet_table as test; test.killed(*sys.argv[1:])"
STEPS = ("put", "sync", "_act", "_sync", "end", "_opened", "added")
MOMENTS = 50


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return rows_of(made(tmp_path_factory.mktemp("whole") / "fleet"))


def test_a_run_killed_at_any_moment_is_gone_on_with(
    whole: dict[str, list[str]], tmp_path: Path
) -> None:
    """At each step of a commit, and at 50 random moments."""
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    words = [sys.executable, "-c", KILLS, str(tmp_path)]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    deaths = done.stdout.split()
    assert set(STEPS) <= set(deaths)
    assert deaths.count("moment") == MOMENTS


def killed(top: str) -> None:
    """In a process of its own, whose children begin without a thread: prints what each died of."""
    chance, whole = random.Random(0), json.loads(Path(top, "whole.json").read_text())
    begun_s = time.monotonic()
    assert forked(lambda: made(f"{top}/first")) == 0
    seconds = time.monotonic() - begun_s
    for step in STEPS:
        for number in (1, 3, 7):
            fleet = Path(top, f"{step}{number}")
            if forked(lambda: dying(fleet, step, number)) == -signal.SIGKILL:  # noqa: B023
                print(step)
            assert forked(lambda: gone_on_with(fleet, whole)) == 0, fleet  # noqa: B023
    left = MOMENTS
    for number in range(10 * MOMENTS):
        fleet = Path(top, str(number))
        # Some end before.
        if left and forked(lambda: made(fleet), chance.uniform(0, seconds)) < 0:  # noqa: B023
            print("moment")
            left -= 1
            assert forked(lambda: gone_on_with(fleet, whole)) == 0, fleet  # noqa: B023


def forked(work: Callable[[], object], after_s: float | None = None) -> int:
    """The status of a child that does it, or is killed after so long."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dying(folder: Path, step: str, number: int) -> None:
    """The process dies when it comes to this step so often."""
    place: Any = next(one for one in (storage, actions, Writer) if hasattr(one, step))
    before, left = getattr(place, step), iter(range(number - 1))

    def call(*given: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return before(*given)

    setattr(place, step, call)
    made(folder)


def gone_on_with(folder: Path, whole: dict[str, list[str]]) -> None:
    """Whole captures are there, and the next run adds the others."""
    if Writer(str(folder)).is_there:
        found = rows_of(folder)
        assert all(set(found[kind]) <= set(whole[kind]) for kind in found)
        known = Table(str(folder)).rows("SELECT path FROM captures")
        sums = Table(str(folder)).rows('SELECT DISTINCT "set" FROM sums')
        assert len(sums) == len(known)
        made(folder, [[name for name in ALL if {"path": str(CAPTURES / name)} not in known]])
    else:
        made(folder)
    assert rows_of(folder) == whole


def test_runs_killed_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    paths = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::12]
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(map(str, paths)))
    fleet, whole = tmp_path / "fleet", tmp_path / "whole"
    command: list[str | Path] = [COMMAND, "fleet", "--list", listed, "--workers", "2", "-qq", "-o"]
    chance = random.Random(0)
    for _ in range(6):
        process = subprocess.Popen([*command, fleet], stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.3, 2.5))
        process.kill()
        process.wait()
    for folder in (fleet, whole):
        assert subprocess.run([*command, folder]).returncode in (0, 1)
    assert rows_of(fleet) == rows_of(whole)


@contextmanager
def answers(when: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The next commit fails, before or after it took effect."""
    commit, calls = DeltaTable.create_write_transaction, []

    def failing(self: DeltaTable, *given: Any, **more: Any) -> None:
        calls.append(when)
        if when == "after" or len(calls) > 1:
            commit(self, *given, **more)
        if len(calls) == 1:
            raise OSError("the connection dropped")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", failing)
        patch.setattr("nagle_scan.fleet.writer.time.sleep", lambda _: None)
        yield
    assert calls


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_was_lost_is_there_once(
    when: str, whole: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "fleet", [ALL[:2]])
    with answers(when, monkeypatch):
        made(tmp_path / "fleet", [ALL[2:]])
    assert rows_of(tmp_path / "fleet") == whole


def test_a_batch_is_written_once_though_ctrl_c_comes_with_its_commit(
    whole: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops a run has what is done written: what was just committed, too."""
    fleet = begun(tmp_path / "fleet")
    batch = Batch(fleet, SETTINGS, sets.Known(fleet.query(sets.KNOWN)))
    for name in ALL:
        batch.add(scanned(name))
    sync = Writer._sync

    def interrupted(self: Writer, version: int) -> None:
        sync(self, version)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_sync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            batch.write()
    batch.write()
    assert rows_of(tmp_path / "fleet") == whole


def test_a_second_run_is_refused(tmp_path: Path) -> None:
    first, second = (begun(tmp_path / "fleet") for _ in range(2))
    batch = rows("stalls", {"set": "a", **STALL})
    first.commit(batch)
    with pytest.raises(OutputError, match=r"fleet: another run writes into it$"):
        second.commit(batch)
    first.commit(batch)
    assert len(rows_of(tmp_path / "fleet")["stalls"]) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_one_line_and_loses_nothing(
    whole: dict[str, list[str]], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    told = []
    for size_kb in range(16, 316, 15):
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "none", disk]
        ).returncode:
            pytest.skip("nothing can be mounted here")
        try:
            # With checkpoints, which a full disk must not spoil either.
            made(disk / "fleet", [[name] for name in ALL])
            told.append("")
        except OutputError as error:
            told.append(str(error))
        finally:
            shutil.copytree(disk, tmp_path / str(size_kb))
            subprocess.run(["umount", disk], check=True)
        gone_on_with(tmp_path / str(size_kb) / "fleet", whole)
    assert told[0], "too small"
    assert not told[-1], "large enough"
    assert all("\n" not in line for line in told)


def emptied_entry(fleet: Path) -> None:
    last = max((fleet / "_delta_log").glob("*.json"))
    last.write_bytes(b"")


def gone_file(fleet: Path) -> None:
    next(fleet.glob("kind=stalls/*/*.parquet")).unlink()


def gone_captures(fleet: Path) -> None:
    next(fleet.glob("kind=captures/*/*.parquet")).unlink()


def gone_folder(fleet: Path) -> None:
    shutil.rmtree(fleet / "kind=sums")


def cut_file(fleet: Path) -> None:
    path = next(fleet.glob("kind=connections/*/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])


DAMAGES = [emptied_entry, gone_file, gone_captures, gone_folder, cut_file]


def called(fleet: Path) -> list[str | Path]:
    return ["fleet", *(CAPTURES / name for name in ALL), "-o", fleet, "--workers", "1"]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_damage_is_one_line_and_repaired_in_the_same_folder(
    damage: Callable[[Path], None], run: Run, tmp_path: Path
) -> None:
    fleet = tmp_path / "fleet"
    call = called(fleet)
    assert run(*call).returncode == 1
    before = rows_of(fleet)
    damage(fleet)
    for words in (call, ["fleet", "-o", fleet, "--verify"], ["fleet", "-o", fleet, "--tidy"]):
        told = run(*words)
        assert (told.returncode, told.stdout) == (2, b"")
        assert told.stderr.count(b"\n") == 1
        assert b"fleet: damaged: " in told.stderr
    told = run(*call, "--again")
    assert told.returncode == 1, told.stderr
    assert rows_of(fleet) == before
    assert run("fleet", "-o", fleet, "--verify").returncode == 0


@pytest.mark.parametrize("damage", DAMAGES[1:], ids=lambda one: one.__name__)
def test_a_table_let_go_of_its_damage_is_read_again_by_the_next_run(
    damage: Callable[[Path], None], run: Run, tmp_path: Path
) -> None:
    """Also one whose captures have to be fetched first: until then they count as not read."""
    fleet = tmp_path / "fleet"
    call = called(fleet)
    run(*call)
    before = rows_of(fleet)
    damage(fleet)
    told = run("fleet", "-o", fleet, "--again")
    assert told.returncode == 0, told.stderr
    assert b"5 captures may have lost rows: to be read again" in told.stderr
    assert set(Fleet(fleet).failures["error"]) == {actions.LOST}
    assert run(*call).returncode == 1
    assert rows_of(fleet) == before


def test_a_capture_whose_rows_are_gone_counts_once_when_it_can_be_read_again(
    run: Run, tmp_path: Path
) -> None:
    """What is left of its rows must neither go before, nor stay beside the new ones."""
    capture, fleet = tmp_path / "a.pcap", tmp_path / "fleet"
    content = (CAPTURES / SPLIT).read_bytes()
    capture.write_bytes(content)
    call = ("fleet", capture, "-o", fleet, "--workers", "1")
    run(*call)
    before, read = rows_of(fleet), capture.stat()
    gone_file(fleet)
    capture.write_text("no capture")
    for words in ((*call, "--again"), call):
        assert run(*words).returncode == 2
        assert Fleet(fleet).failures["error"].tolist() == [actions.LOST]
        assert rows_of(fleet)["sums"] == before["sums"]
    capture.write_bytes(content)
    os.utime(capture, ns=(read.st_atime_ns, read.st_mtime_ns))
    assert run(*call).returncode == 1
    assert rows_of(fleet) == before


def test_a_changed_byte_is_found_by_verify(run: Run, tmp_path: Path) -> None:
    fleet = Path(made(tmp_path / "fleet"))
    told = run("fleet", "-o", fleet, "--verify")
    assert (told.returncode, told.stdout.count(b"whole")) == (0, 1)
    path = next(fleet.glob("kind=stalls/*/*.parquet"))
    content = path.read_bytes()
    path.write_bytes(content[:200] + bytes([content[200] ^ 255]) * 60 + content[260:])
    told = run("fleet", "-o", fleet, "--verify")
    assert (told.returncode, told.stderr.count(b"\n")) == (2, 1)


@pytest.mark.parametrize("place", ["kind=stalls/mine", "index.html", "reports"])
def test_a_link_is_refused_and_what_it_leads_to_stays(place: str, run: Run, tmp_path: Path) -> None:
    fleet, elsewhere = Path(made(tmp_path / "fleet")), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "notes.txt").write_text("mine")
    os.utime(elsewhere / "notes.txt", (0, 0))
    (fleet / place).symlink_to(elsewhere)
    for more in ((CAPTURES / OTHER,), ("--tidy",)):
        told = run("fleet", *more, "-o", fleet)
        assert told.returncode == 2
        assert told.stderr.decode().endswith(": a link, which may lead elsewhere: remove it\n")
    assert (elsewhere / "notes.txt").read_text() == "mine"


def test_only_what_the_log_has_removed_a_week_ago_is_deleted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Path(made(tmp_path / "fleet", [ALL[:2]]))
    mine = fleet / "kind=stalls" / "mine" / "notes.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    old = scanned(SPLIT)
    made(fleet, [[scanned(OTHER, replaces=old.sets[0].id)]])
    there = set(fleet.rglob("*"))
    for path in there:
        os.utime(path, (0, 0), follow_symlinks=False)
    assert run("fleet", "-o", fleet, "--tidy").stdout == b"0 files deleted\n"
    assert there <= set(fleet.rglob("*"))
    monkeypatch.setattr(writer, "RETENTION", writer.RETENTION * 0)
    assert Writer(str(fleet)).tidy() == 4
    assert mine.exists()
    assert len(there - set(fleet.rglob("*"))) == 4
    assert Writer(str(fleet)).verify()[0] > 0


def test_a_set_that_grew_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    fleet = made(tmp_path / "fleet", [[SPLIT, EPOLL]])
    made(fleet, [[scanned(OTHER, replaces=scanned(SPLIT).sets[0].id)]])
    assert rows_of(fleet) == rows_of(made(tmp_path / "other", [[EPOLL, OTHER]]))


def test_a_column_more_is_read_and_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade runs go on in the same folder; after a downgrade, too."""
    fleet = made(tmp_path / "fleet", [ALL[:1]])
    before = rows_of(fleet)
    added = fields.Field("added", fields.TEXT, "")
    later = {kind: (*columns, added) for kind, columns in fields.tables().items()}
    with monkeypatch.context() as patch:
        for module in (fields, table):
            patch.setattr(module, "tables", lambda: later)
        parquet.schema_of.cache_clear()
        query = "SELECT DISTINCT added FROM stalls ORDER BY added NULLS FIRST"
        assert Table(fleet).rows(query) == [{"added": None}]
        written(fleet, {"stalls": [{"set": "later", "added": "new", **STALL}]})
        assert Table(fleet).rows(query) == [{"added": None}, {"added": "new"}]
    parquet.schema_of.cache_clear()
    made(fleet, [ALL[1:2]])
    assert set(before["stalls"]) < set(rows_of(fleet)["stalls"])


def test_days_go_whole_and_their_sums_stay(tmp_path: Path) -> None:
    fleet = made(tmp_path / "fleet", [ALL[:2]])
    sums = rows_of(fleet)["sums"]
    begun(fleet).drop(date(2000, 1, 1))
    assert rows_of(fleet)["stalls"]
    begun(fleet).drop(date(2100, 1, 1))
    left = rows_of(fleet)
    assert (left["sums"], left["stalls"], left["connections"]) == (sums, [], [])


def test_many_runs_leave_few_files_in_use_and_a_short_log(tmp_path: Path) -> None:
    for number in range(30):
        written(tmp_path / "fleet", {"stalls": [{"set": str(number), **STALL}]})
        begun(tmp_path / "fleet").end()
    assert len(rows_of(tmp_path / "fleet")["stalls"]) == 30
    assert len(DeltaTable(tmp_path / "fleet").file_uris()) <= 2 * writer.MOST_SMALL_FILES
    assert list((tmp_path / "fleet" / "_delta_log").glob("*.checkpoint.parquet"))


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        (Scope("port 80", 10.0, None), "scanned with no filter"),
        (Scope(None, 20.0, None), "scanned with --min-wait 10"),
        (Scope(None, 10.0, "abcd"), "scanned with no key"),
    ],
)
def test_results_that_do_not_add_up_are_kept_apart(tmp_path: Path, scope: Scope, told: str) -> None:
    fleet = made(tmp_path / "fleet", [[]])
    with pytest.raises(OutputError, match=f"{told}: name a new folder"):
        Writer(fleet).check(scope)


def foreign_folder(path: Path) -> str:
    path.mkdir()
    (path / "thesis.txt").write_text("")
    return "holds something else"


def foreign_table(path: Path) -> str:
    import pyarrow as pa
    from deltalake import write_deltalake

    write_deltalake(path, pa.table({"a": [1]}))
    return "no fleet: a table of something else"


def file_in_the_way(path: Path) -> str:
    path.write_text("")
    return "not a directory"


@pytest.mark.parametrize("make", [foreign_folder, foreign_table, file_in_the_way])
def test_nothing_is_written_where_something_else_is(
    make: Callable[[Path], str], run: Run, tmp_path: Path
) -> None:
    told = make(tmp_path / "fleet")
    there = sorted(tmp_path.rglob("*"))
    done = run("fleet", CAPTURES / SPLIT, "-o", tmp_path / "fleet")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert told in done.stderr.decode()
    assert sorted(tmp_path.rglob("*")) == there


def test_a_name_that_delta_cannot_write_is_one_line(tmp_path: Path) -> None:
    for name in ("a#1", "50%25", "[1]", "line\n", "a\\b"):
        with pytest.raises(OutputError, match=r"Delta tables cannot be in a folder with .* in its"):
            Writer(str(tmp_path / name))
    for name in ("100 %", 'o\'clock "x"', "déjà", "day=2026-01-01"):
        assert len(rows_of(made(tmp_path / name, [[SPLIT]]))["stalls"]) == 9
    with pytest.raises(CaptureError, match="no fleet"):
        Fleet(tmp_path / "nowhere")
