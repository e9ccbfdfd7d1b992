"""The folder outlives deaths, full disks, damage and other runs; it deletes nothing of others."""

from __future__ import annotations

import builtins
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, COMMAND, Run
from fleets import ALL, EPOLL, OTHER, SPLIT, STALL, capture, made, opened, rows_of, scanned, written
from nagle_scan import CaptureError, Fleet, OutputError, scan_fleet
from nagle_scan.fleet import fields, folder, mend, page, parquet, table, tidy
from nagle_scan.fleet.folder import Folder
from nagle_scan.fleet.table import Scope

KILLS = "import sys, test_fleet_folder as test; test.killed(*sys.argv[1:])"
STEPS = ("open", "fsync", "rename", "makedirs")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return rows_of(made(tmp_path_factory.mktemp("whole") / "fleet"))


def test_a_run_killed_at_any_moment_is_gone_on_with(
    whole: dict[str, list[str]], tmp_path: Path
) -> None:
    """At each call that changes files; random moments come in the next test."""
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    words = [sys.executable, "-c", KILLS, str(tmp_path)]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    deaths = Counter(done.stdout.split())
    assert all(deaths[step] > 4 for step in STEPS[1:3])


def killed(top: str) -> None:
    """In a process of its own; its children begin without a thread: prints what each died of."""
    whole = json.loads(Path(top, "whole.json").read_text())
    for step in STEPS:
        for number in (*range(1, 9), 20, 40):
            fleet = Path(top, f"{step}{number}")
            if forked(lambda: dying(fleet, step, number)) == -signal.SIGKILL:  # noqa: B023
                print(step)
            assert forked(lambda: gone_on_with(fleet, whole)) == 0, fleet  # noqa: B023


def forked(work: Callable[[], object]) -> int:
    """The status of a child that does it."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dying(fleet: Path, step: str, number: int) -> None:
    """The process dies when it has done this to a file of the fleet so often."""
    place: Any = builtins if step == "open" else os
    before, left = getattr(place, step), iter(range(number - 1))

    def call(*given: Any, **more: Any) -> Any:
        done = before(*given, **more)
        is_own = step == "fsync" or str(given[0]).startswith(str(fleet))
        if is_own and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(place, step, call)
    made(fleet)


def gone_on_with(fleet: Path, whole: dict[str, list[str]]) -> None:
    """Whole captures are there, and the next run adds the others."""
    found = rows_of(fleet)
    assert all(set(found[kind]) <= set(whole[kind]) for kind in found)
    known = {row["path"] for row in opened(fleet).rows("SELECT path FROM captures")}
    sums = opened(fleet).rows('SELECT DISTINCT "set" FROM sums')
    assert len(sums) == len(known)
    made(fleet, [[name for name in ALL if str(CAPTURES / name) not in known]])
    assert rows_of(fleet) == whole


def test_runs_killed_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    """Two at a time, which do not know each other."""
    paths = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::12]
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(map(str, paths)))
    fleet, whole = tmp_path / "fleet", tmp_path / "whole"
    command: list[str | Path] = [COMMAND, "fleet", "--list", listed, "--workers", "1", "-qq", "-o"]
    chance = random.Random(0)
    for _ in range(4):
        runs = [subprocess.Popen([*command, fleet], stderr=subprocess.DEVNULL) for _ in range(2)]
        for process in runs:
            time.sleep(chance.uniform(0.3, 1.5))
            process.kill()
            process.wait()
    for place in (fleet, whole):
        assert subprocess.run([*command, place]).returncode in (0, 1)
    assert rows_of(fleet) == rows_of(whole)


def test_many_hosts_write_into_one_folder_at_once(
    whole: dict[str, list[str]], tmp_path: Path
) -> None:
    """Each its own captures, and one that all have."""
    fleet = tmp_path / "fleet"

    def host(number: int) -> int:
        names = [CAPTURES / ALL[number % 5], CAPTURES / ALL[0]]
        words: list[str | Path] = [COMMAND, "fleet", *names, "-o", fleet, "--workers", "1", "-qq"]
        return subprocess.run(words, env={**os.environ, "NAGLE_SCAN_HOST": "web"}).returncode

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(host, range(8))) <= {0, 1}
    names = [CAPTURES / name for name in ALL]
    alone = [nagle_scan.scan(name)._result.core.summary().stalls for name in names]
    captures = Fleet(fleet).captures.set_index("path")["stalls"]
    assert captures.to_dict() == dict(zip(map(str, names), alone, strict=True))
    assert len(Fleet(fleet).stalls) == len(whole["stalls"])
    assert page.state(Folder(str(fleet))) == opened(fleet).state()


def test_a_batch_that_comes_while_files_are_listed_lacks_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a run would let go of rows that another host has just written."""
    fleet, scandir, seen = made(tmp_path / "fleet", [ALL[:2]]), os.scandir, list[str]()

    def listing(path: str) -> Any:
        kind = os.path.basename(path)
        # Files listed before the batch are old; those listed later have it.
        if os.path.dirname(path) == fleet and kind and len(seen) == 1:
            seen.append("written")
            made(fleet, [[OTHER]])
        seen.extend([kind] * (kind in fields.KINDS and not seen))
        return scandir(path)

    notes = list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", listing)
        mend.mend(Folder(fleet), notes.append)
    assert seen == [fields.COMMIT, "written"]
    assert notes == []
    assert rows_of(fleet) == rows_of(made(tmp_path / "other", [[*ALL[:2], OTHER]]))


AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]


@pytest.mark.skipif(
    bool(AS_ROOT) and shutil.which("sudo") is None, reason="only root can mount a small disk"
)
def test_a_full_disk_is_one_line_and_loses_nothing(
    whole: dict[str, list[str]], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    notes = []
    for size_kb in range(16, 616, 40):
        small = f"mount -t tmpfs -o size={size_kb}k none {disk}".split()
        if subprocess.run([*AS_ROOT, *small]).returncode:
            pytest.skip("nothing can be mounted here")
        try:
            made(disk / "fleet", [[name] for name in ALL])
            notes.append("")
        except OutputError as error:
            notes.append(str(error))
        finally:
            shutil.copytree(disk, tmp_path / str(size_kb))
            subprocess.run([*AS_ROOT, "umount", disk], check=True)
        gone_on_with(tmp_path / str(size_kb) / "fleet", whole)
    assert notes[0], "too small"
    assert not notes[-1], "large enough"
    assert all("\n" not in line for line in notes)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    path.write_bytes(content)


def of_something_else(path: Path) -> None:
    """A file that holds what its name says, but not a row of a fleet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.unlink()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"set": [1], "wait_ms": ["much"]}), sink)
    Folder(str(path.parents[1])).put(path.parent.name, sink.getvalue().to_pybytes())


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "cut": cut,
    "flipped": flipped,
    "of something else": of_something_else,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["captures", "sums", "stalls", "connections"])
def test_damage_is_put_aside_and_its_captures_are_read_again(
    kind: str, damage: str, run: Run, tmp_path: Path
) -> None:
    """By the next runs, with a line and without a traceback; `--check` tells all of it."""
    fleet = tmp_path / "fleet"
    call: list[str | Path] = ["fleet", *(CAPTURES / name for name in ALL), "-o", fleet]
    call += ["--workers", "1"]
    assert run(*call).returncode == 1
    before = rows_of(fleet)
    DAMAGES[damage](max((fleet / kind).glob("*.parquet"), key=lambda one: one.stat().st_size))
    check = run("fleet", "-o", fleet, "--check")
    if (damage, kind) != ("gone", "captures"):
        assert (check.returncode, b"Traceback" in check.stderr) == (2, False)
        assert 1 <= check.stderr.count(b"\n") <= 3
    assert b"Traceback" not in run("fleet", "-o", fleet, "--check").stderr
    again = run(*call)
    assert b"Traceback" not in again.stderr
    assert rows_of(fleet) == before
    assert run("fleet", "-o", fleet, "--check").returncode == 0
    assert b"nothing to do" in run(*call).stdout


def test_what_cannot_be_read_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another user: nobody puts it aside, or makes a page without it."""
    fleet = Path(made(tmp_path / "fleet", [ALL[:2]]))
    there, before = sorted(fleet.rglob("*")), builtins.open

    def closed(path: Any, *given: Any, **more: Any) -> Any:
        if str(path).startswith(str(fleet / "captures")):
            raise PermissionError(13, "Permission denied")
        return before(path, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", closed)
        for ask in (
            lambda: scan_fleet(CAPTURES / OTHER, fleet, workers=1),
            lambda: mend.mend(Folder(str(fleet)), print, reads_all=True),
        ):
            with pytest.raises(CaptureError, match="cannot read: permission denied"):
                ask()
    assert sorted(fleet.rglob("*")) == there


def test_a_bit_that_flips_is_never_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is in the file, also where a reader would not notice."""
    monkeypatch.setattr(tidy, "MOST_BATCHES", 1)
    fleet = Path(made(tmp_path / "whole", [ALL[:2]]))
    for kind in ("captures", "sums", "stalls", "connections"):
        for part in range(5):
            copy = tmp_path / f"{kind}{part}"
            shutil.copytree(fleet, copy)
            path = max((copy / kind).glob("*.parquet"), key=lambda one: one.stat().st_size)
            content = bytearray(path.read_bytes())
            content[len(content) * (2 * part + 1) // 10] ^= 1
            path.write_bytes(content)
            with pytest.raises(CaptureError, match="1 file damaged"):
                tidy.tidy(opened(copy))


def test_a_question_about_damage_is_told_apart_from_a_wrong_one(tmp_path: Path) -> None:
    fleet = Path(made(tmp_path / "fleet", [ALL[:2]]))
    cut(next((fleet / "stalls").glob("*.parquet")))
    with pytest.raises(CaptureError, match=r"1 file damaged, first stalls/.*: --check"):
        len(Fleet(fleet).stalls)
    with pytest.raises(ValueError, match="nothing"):
        Fleet(made(tmp_path / "other", [ALL[:1]])).query("SELECT nothing FROM stalls")


def test_a_capture_that_is_gone_when_its_rows_are_is_reported(run: Run, tmp_path: Path) -> None:
    """Its other rows must neither count, nor stay beside the new ones."""
    path, fleet = tmp_path / "a.pcap", tmp_path / "fleet"
    content = (CAPTURES / SPLIT).read_bytes()
    path.write_bytes(content)
    call = ("fleet", path, "-o", fleet, "--workers", "1")
    run(*call)
    before = rows_of(fleet)
    next((fleet / "stalls").glob("*.parquet")).unlink()
    path.write_text("no capture")
    done = run(*call)
    assert b"1 capture lost rows with a file that is gone: to be read again" in done.stderr
    assert Fleet(fleet).failures["path"].tolist() == [str(path)]
    assert rows_of(fleet)["sums"] == []
    path.write_bytes(content)
    assert run(*call).returncode == 0, "its stalls were told before"
    leave_out = ("scanned", "modified")
    assert rows_of(fleet, leave_out)["stalls"] == before["stalls"]
    assert len(Fleet(fleet).failures) == 0


@pytest.mark.parametrize("place", ["stalls/mine", "index.html", "reports", "sums"])
def test_a_link_is_refused_and_what_it_leads_to_stays(place: str, run: Run, tmp_path: Path) -> None:
    fleet, elsewhere = Path(made(tmp_path / "fleet")), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "notes.txt").write_text("mine")
    if place == "sums":
        shutil.rmtree(fleet / place)
    (fleet / place).symlink_to(elsewhere)
    for more in ((CAPTURES / OTHER,), ("--check",)):
        done = run("fleet", *more, "-o", fleet)
        assert done.returncode == 2
        assert done.stderr.decode().endswith(": a link, which may lead elsewhere: remove it\n")
    assert [path.name for path in elsewhere.iterdir()] == ["notes.txt"]


def test_only_what_no_longer_counts_is_deleted_and_that_after_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidy, "MOST_BATCHES", 1)
    fleet = Path(made(tmp_path / "fleet", [ALL[:2]]))
    kept = rows_of(fleet)
    mine = fleet / "stalls" / "mine.parquet"
    spoiled = fleet / "stalls" / f"{'0' * 32}.parquet"
    game = fleet / "turns" / "1.json"
    for path in (mine, spoiled, game):
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    there = set(fleet.rglob("*"))
    tidy.tidy(opened(fleet))
    assert there <= set(fleet.rglob("*"))
    for path in there:
        os.utime(path, (0, 0))
    tidy.tidy(opened(fleet))
    assert mine.exists()
    assert game.exists()
    assert spoiled.exists(), "its name does not say what it holds"
    assert rows_of(fleet) == kept
    assert len(there - set(fleet.rglob("*"))) > 4


def test_of_two_that_merge_at_once_and_a_run_none_doubles_or_hides_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = made(tmp_path / "fleet", [ALL[:2]])
    monkeypatch.setattr(tidy, "MOST_BATCHES", 1)
    first, second = opened(fleet), opened(fleet)
    later = opened(made(tmp_path / "later", [[scanned(OTHER, replaces=scanned(SPLIT).sets[0].id)]]))
    for name in later.files:
        Folder(fleet).put(name.partition("/")[0], later.folder.content(name))
    for one in (first, second):
        tidy.tidy(one)
    assert rows_of(fleet) == rows_of(made(tmp_path / "other", [[EPOLL, OTHER]]))


def test_a_column_more_is_read_and_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade runs go on in the same folder; after a downgrade, too."""
    fleet = made(tmp_path / "fleet", [ALL[:1]])
    before = rows_of(fleet)
    added = fields.Field("added", fields.TEXT, "")
    later = {kind: (*columns, added) for kind, columns in fields.tables().items()}
    caches = (fields.written, parquet.schema)
    with monkeypatch.context() as patch:
        for module in (fields, table):
            patch.setattr(module, "tables", lambda: later)
        for one in caches:
            one.cache_clear()
        query = "SELECT DISTINCT added FROM stalls ORDER BY added NULLS FIRST"
        assert opened(fleet).rows(query) == [{"added": None}]
        written(fleet, {"stalls": [{"set": "later", "added": "new", **STALL}]})
        assert opened(fleet).rows(query) == [{"added": None}, {"added": "new"}]
    for one in caches:
        one.cache_clear()
    made(fleet, [ALL[1:2]])
    assert set(before["stalls"]) < set(rows_of(fleet)["stalls"])


def test_many_runs_leave_few_files_that_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidy, "MOST_BATCHES", 8)
    for number in range(30):
        written(tmp_path / "fleet", {"stalls": [{"set": str(number), **STALL}]})
        tidy.tidy(opened(tmp_path / "fleet"))
    assert len(rows_of(tmp_path / "fleet")["stalls"]) == 30
    assert len({name for name, _ in opened(tmp_path / "fleet").in_use}) <= 8


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"filter": "port 80"}, "scanned with no filter"),
        ({"min_wait_ms": 20.0}, "scanned with --min-wait 10"),
        ({"anonymize": bytes(range(32))}, "scanned with no key"),
    ],
)
def test_results_that_do_not_add_up_are_kept_apart(
    tmp_path: Path, options: dict[str, Any], difference: str
) -> None:
    fleet = made(tmp_path / "fleet", [ALL[:1]])
    with pytest.raises(OutputError, match=f"{difference}: name a new folder"):
        scan_fleet(CAPTURES / OTHER, fleet, workers=1, **options)
    written(fleet, {"captures": [capture("b" * 32)]}, Scope(None, 99.0, None))
    with pytest.raises(CaptureError, match="runs with different settings have written into it"):
        Fleet(fleet)


def foreign_folder(path: Path) -> str:
    path.mkdir()
    (path / "thesis.txt").write_text("")
    return "holds something else"


def file_in_the_way(path: Path) -> str:
    path.write_text("")
    return "not a directory"


def page_of_others(path: Path) -> str:
    path.mkdir(exist_ok=True)
    (path / "index.html").write_text("<html>My site")
    return "holds something else"


def page_of_others_over_a_fleet(path: Path) -> str:
    return page_of_others(Path(made(path, [ALL[:1]])))


def captures_of_others(path: Path) -> str:
    (path / "captures").mkdir(parents=True)
    (path / "captures" / "a.pcap").write_text("")
    return "holds something else"


def turns_of_others(path: Path) -> str:
    (path / "turns").mkdir(parents=True)
    (path / "turns" / "1.json").write_text("")
    return "holds something else"


def older_fleet(path: Path) -> str:
    (path / "_delta_log").mkdir(parents=True)
    (path / "_delta_log" / "0.json").write_text("")
    return "a fleet of an earlier version: name a new folder, and scan its captures again"


ELSE = [
    foreign_folder,
    file_in_the_way,
    page_of_others,
    page_of_others_over_a_fleet,
    captures_of_others,
    turns_of_others,
    older_fleet,
]


@pytest.mark.parametrize("make", ELSE)
def test_nothing_is_written_where_something_else_is(
    make: Callable[[Path], str], run: Run, tmp_path: Path
) -> None:
    why = make(tmp_path / "fleet")
    there = sorted(tmp_path.rglob("*"))
    done = run("fleet", CAPTURES / SPLIT, "-o", tmp_path / "fleet")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert why in done.stderr.decode()
    assert sorted(tmp_path.rglob("*")) == there


def test_a_folder_of_any_name_holds_a_fleet(tmp_path: Path) -> None:
    for name in ("100 %", 'o\'clock "x"', "déjà", "day=2026-01-01", "a#1", "[1]", "a*?", "line\n"):
        fleet = scan_fleet(CAPTURES / SPLIT, tmp_path / name, workers=1)
        assert len(fleet.stalls) == 9
        assert len(scan_fleet(CAPTURES / SPLIT, tmp_path / name, workers=1).captures) == 1
    with pytest.raises(CaptureError, match="no fleet"):
        Fleet(tmp_path / "nowhere")


def test_a_file_of_the_same_name_with_other_content_is_not_overwritten(tmp_path: Path) -> None:
    place = Folder(str(tmp_path / "fleet"))
    name = place.put("stalls", b"rows")
    Path(place.place(name)).write_bytes(b"mine")
    assert place.put("stalls", b"rows") == name
    assert place.content(name) == b"rows"
    (aside,) = (tmp_path / "fleet" / "stalls").glob(f"*{folder.ASIDE}")
    assert aside.read_bytes() == b"mine"
