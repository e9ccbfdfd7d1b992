"""The Parquet files of a fleet: nothing is lost or counted twice, whenever the writer dies."""

from __future__ import annotations

import errno
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pytest
from conftest import CAPTURES, ROOT
from fleet_victim import DONE, Plan
from fleets import (
    ALL,
    HIDDEN,
    KEY,
    SETTINGS,
    answered,
    captured,
    everything,
    job,
    made,
    scanned,
    shipped,
)
from nagle_scan import CaptureError, OutputError
from nagle_scan.fleet import about, identity, journal, parquet, tables, task
from nagle_scan.fleet import dataset as datasets
from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.work import Answer, Failure, Job, Settings

Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture(autouse=True, scope="module")
def _power_stays() -> Iterator[None]:
    """Nothing here is about power failures, and a real disk takes its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def rows(path: str | Path) -> Rows:
    """All tables as any reader sees them, in an order of their own."""
    found: Rows = {}
    for name in tables.NAMES:
        if not Path(path, name).is_dir():
            found[name] = []
            continue
        table = ds.dataset(f"{path}/{name}", partitioning="hive").to_table()
        wanted = [column for column in table.column_names if column not in ("run", "part")]
        columns = (table[column].to_pylist() for column in wanted)
        found[name] = sorted(zip(*columns, strict=True), key=repr)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return rows(made(tmp_path_factory.mktemp("fleet") / "all"))


def test_what_is_added_is_there(undisturbed: Rows) -> None:
    assert len(undisturbed["captures"]) == len(ALL)
    stalls = sum(len(tables.from_bytes(shipped(name)[1].tables["stalls"])) for name in ALL)
    assert len(undisturbed["stalls"]) == stalls > 100


def test_runs_add_to_each_other(tmp_path: Path, undisturbed: Rows) -> None:
    path = made(tmp_path / "fleet", [ALL[:2], (), ALL[2:]])
    assert rows(path) == undisturbed
    runs = pd.read_parquet(f"{path}/runs.parquet")
    assert runs["run"].tolist() == [1, 2, 3]
    assert runs["sets"].tolist() == [2, 0, 3]
    assert runs["packets"].sum() == sum(shipped(name)[1].packets for name in ALL)
    assert (runs["begun"] <= runs["ended"]).all()
    assert pd.read_parquet(f"{path}/captures").groupby("run").size().to_dict() == {1: 2, 3: 3}


def test_a_set_counts_once(tmp_path: Path, undisturbed: Rows) -> None:
    """The scheduler may run a task twice, and a run may be done again."""
    path = made(tmp_path / "fleet", [(*ALL, ALL[0]), ALL[:3]])
    assert rows(path) == undisturbed


def test_small_sets_share_a_part_and_it_is_written_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "MOST_SETS", 2)
    path = made(tmp_path / "sets")
    assert [len(files) for files in parquet.files_of(path, "captures").values()] == [1, 1, 1]
    monkeypatch.undo()
    monkeypatch.setattr(datasets, "MOST_BYTES", 1)
    path = made(tmp_path / "bytes")
    assert len(parquet.files_of(path, "captures")) == len(ALL)
    monkeypatch.undo()
    dataset = Dataset(str(tmp_path / "due"), SETTINGS)
    dataset.add(*shipped(ALL[0]))
    dataset.flush_if_due()
    assert not parquet.files_of(dataset.path, "captures")
    monkeypatch.setattr(datasets, "MOST_WAIT_S", 0.0)
    dataset.flush_if_due()
    assert len(parquet.files_of(dataset.path, "captures")) == 1


def test_a_part_is_sorted_by_set_and_says_which_it_has(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = made(tmp_path / "fleet")
    (names,) = parquet.files_of(path, "stalls").values()
    for name in names:
        file = pq.ParquetFile(f"{path}/{name}")
        sets = file.read(["set"])["set"].to_pylist()
        assert sets == sorted(sets)
        statistics = file.metadata.row_group(0).column(0).statistics
        assert (statistics.min, statistics.max) == (sets[0], sets[-1])


def test_the_ledger_knows_what_is_there(tmp_path: Path) -> None:
    path = made(tmp_path / "fleet", [ALL[:2]])
    both = job(*(CAPTURES / name for name in ALL[2:4]))
    made(path, [[(both, answered(both))]])
    ledger = Dataset(path, SETTINGS).ledger()
    first = captured(CAPTURES / ALL[0])
    assert ledger.set_of[first.content] == job(CAPTURES / ALL[0]).id
    assert ledger.at[first.shown].capture == first
    assert set(ledger.members[both.id]) == set(both.captures)
    assert len(ledger.set_of) == 4


def test_with_a_key_the_ledger_knows_the_names_that_it_is_told(tmp_path: Path) -> None:
    path = made(tmp_path / "fleet", [ALL], HIDDEN)
    first = captured(CAPTURES / ALL[0])
    dataset = Dataset(path, HIDDEN)
    assert first.shown not in dataset.ledger().at
    ledger = dataset.ledger([first])
    first = identity.keyed(first, KEY)
    assert ledger.at[first.shown].capture == first
    assert ledger.members[job(CAPTURES / ALL[0]).id] == (first,)


# A file that grew.


def grown(tmp_path: Path) -> tuple[Path, bytes]:
    whole = (CAPTURES / ALL[0]).read_bytes()
    path = tmp_path / "ring.pcap"
    path.write_bytes(whole[: len(whole) // 2])
    return path, whole


def test_a_file_that_grew_takes_its_own_place(tmp_path: Path, undisturbed: Rows) -> None:
    ring, whole = grown(tmp_path)
    half = job(ring)
    path = made(tmp_path / "fleet", [[*ALL[1:], (half, answered(half))]])
    before = len(rows(path)["stalls"])
    ring.write_bytes(whole)
    full = job(ring, replaces=half.id)
    made(path, [[(full, answered(full))]])
    now = rows(path)
    assert len(now["stalls"]) == len(undisturbed["stalls"]) > before
    assert len(now["captures"]) == len(ALL)
    assert len(parquet.files_of(path, "captures")) == 1
    ledger = Dataset(path, SETTINGS).ledger()
    assert half.id not in ledger.members
    assert ledger.at[str(ring)].set == full.id


def test_days_without_rows_any_more_vanish(tmp_path: Path) -> None:
    old, new = shipped(ALL[0]), shipped("labelled/hard-lte-think/client.pcap.gz")
    path = made(tmp_path / "fleet", [[old]])
    days = {name.split("/")[1] for name in everything(path) if "0000" in name}
    made(path, [[(new[0]._replace(replaces=old[0].id), new[1])]])
    assert rows(path) == rows(made(tmp_path / "other", [[new]]))
    left = {name.split("/")[1] for name in everything(path) if "0000" in name}
    assert days.isdisjoint(left)
    assert not any(day in os.listdir(f"{path}/stalls") for day in days)


# Failures.


def test_failures_add_up_until_the_capture_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "fleet")
    first = str(CAPTURES / ALL[0])
    for attempt in (1, 2):
        dataset = Dataset(path, SETTINGS)
        dataset.fail(Failure(first, "", "cannot read", 3))
        dataset.fail(Failure("gone.pcap", "", "no such file", 1))
        dataset.close()
        (row,) = (
            pd.read_parquet(f"{path}/failures.parquet").query("path == @first").to_dict("records")
        )
        assert (row["attempts"], row["reason"]) == (3 * attempt, "cannot read")
    made(path, [ALL[:1]])
    assert [failure.path for failure in Dataset(path, SETTINGS).failures] == ["gone.pcap"]
    dataset = Dataset(path, SETTINGS)
    dataset.forgive(["gone.pcap"])
    dataset.close()
    assert Dataset(path, SETTINGS).failures == []
    assert pd.read_parquet(f"{path}/runs.parquet")["failures"].tolist() == [2, 2, 1, 0]


def test_the_same_path_on_another_host_still_fails(tmp_path: Path) -> None:
    wanted, answer = shipped(ALL[0])
    here = wanted.captures[0]._replace(host="host-a")
    dataset = Dataset(str(tmp_path / "fleet"), SETTINGS)
    for host in ("host-a", "host-b"):
        dataset.fail(Failure(f"{host}:{here.url}", "", "cannot read", 1))
    dataset.add(wanted._replace(captures=(here,)), answer)
    dataset.close()
    assert [failure.path for failure in dataset.failures] == [f"host-b:{here.url}"]


def test_a_name_of_any_bytes_can_fail(tmp_path: Path) -> None:
    dataset = Dataset(str(tmp_path / "fleet"), SETTINGS)
    dataset.fail(Failure("a\udce4b\x1b.pcap", "", "not \udcff", 1))
    dataset.close()
    (failure,) = Dataset(dataset.path, SETTINGS).failures
    assert "\x1b" not in failure.path


# A writer that dies.


def part_of(whole: Rows, sets: set[object]) -> Rows:
    return {name: [row for row in found if row[0] in sets] for name, found in whole.items()}


def deaths(
    tmp_path: Path,
    base: str,
    flushes: Sequence[Sequence[tuple[Job, Answer]]],
    random_deaths: int,
) -> list[Path]:
    """The folders of writers that were killed."""
    folder = tmp_path / "deaths"
    folder.mkdir()
    plan = tmp_path / "plan"
    plan.write_bytes(pickle.dumps(Plan(base, str(folder), SETTINGS, flushes, random_deaths)))
    victim = [sys.executable, str(ROOT / "tests" / "fleet_victim.py"), str(plan)]
    done = subprocess.run(victim, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(folder.iterdir())


@pytest.mark.parametrize("random_deaths", [0, 60])
def test_a_killed_writer_loses_nothing_and_counts_nothing_twice(
    random_deaths: int, tmp_path: Path, undisturbed: Rows
) -> None:
    """Before each call that changes the file system, and at random moments."""
    base = made(tmp_path / "base", [ALL[:1]])
    names = (ALL[:1], ALL[1:3], ALL[3:])
    sets = [{shipped(each)[0].id for each in some} for some in names]
    flushes = [[shipped(each) for each in some] for some in names[1:]]
    seen = []
    for place in deaths(tmp_path, base, flushes, random_deaths):
        told = (place / DONE).read_text().splitlines() if (place / DONE).exists() else []
        dataset = Dataset(str(place / "fleet"), SETTINGS)
        found = rows(dataset.path)
        there = {row[0] for row in found["captures"]}
        # Each flush is there whole, those that had returned for certain.
        count = next(n for n in range(1, 4) if there == set.union(*sets[:n]))
        assert count >= 1 + len(told)
        seen.append(count)
        assert found == part_of(undisturbed, there)
        assert not (place / "fleet" / journal.ASIDE).exists()
        for name in ALL:
            dataset.add(*shipped(name))
        dataset.close()
        assert rows(dataset.path) == undisturbed
    assert set(seen) == {1, 2, 3} or random_deaths
    assert len(seen) > 50


def test_a_writer_killed_while_it_replaces_leaves_old_or_new(
    tmp_path: Path,
) -> None:
    ring, whole = grown(tmp_path)
    half = job(ring)
    base = made(tmp_path / "base", [[*ALL[1:], (half, answered(half))]])
    old = rows(base)
    ring.write_bytes(whole)
    full = job(ring, replaces=half.id)
    new = rows(made(shutil.copytree(base, tmp_path / "after"), [[(full, answered(full))]]))
    assert old != new
    seen = set()
    for place in deaths(tmp_path, base, [[(full, answered(full))]], 0):
        found = rows(Dataset(str(place / "fleet"), SETTINGS).path)
        assert found in (old, new)
        seen.add(found == new)
    assert seen == {False, True}


# What cannot be written.


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, undisturbed: Rows) -> None:
    """Wherever the room ends: a limit on the size of files stands for it."""
    base = made(tmp_path / "base", [ALL[:2]])
    before = rows(base), everything(base)
    program = (
        "import pickle, resource, signal, sys\n"
        "from nagle_scan import OutputError\n"
        "from nagle_scan.fleet.dataset import Dataset\n"
        "path, room, added, settings = pickle.load(open(sys.argv[1], 'rb'))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "dataset = Dataset(path, settings)\n"
        "for each in added: dataset.add(*each)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))\n"
        "try: dataset.flush()\n"
        "except OutputError as error: print(error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "if len(sys.argv) > 2: dataset.close()\n"
    )
    for room in (0, 100, 5000, 9000):
        path = str(shutil.copytree(base, tmp_path / str(room)))
        plan = tmp_path / "plan"
        plan.write_bytes(pickle.dumps((path, room, [shipped(n) for n in ALL[2:]], SETTINGS)))
        done = subprocess.run([sys.executable, "-c", program, plan], capture_output=True, text=True)
        assert done.stderr == ""
        assert done.stdout == f"{path}: cannot write: file too large\n"
        assert (rows(path), everything(path)) == before
        # With room again, what waited is written.
        done = subprocess.run(
            [sys.executable, "-c", program, plan, "again"], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert rows(path) == undisturbed


def test_a_change_that_cannot_be_named_happens_when_it_can(
    tmp_path: Path, undisturbed: Rows
) -> None:
    """The commit is the moment, not the last name: what waited must not be added twice."""
    path = made(tmp_path / "fleet", [ALL[:2]])
    dataset = Dataset(path, SETTINGS)
    for name in ALL[2:]:
        dataset.add(*shipped(name))
    failing = Failing(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", failing.replace)
        with pytest.raises(OutputError, match=r"fleet: cannot write: no space left on device$"):
            dataset.flush()
    dataset.close()
    assert rows(path) == undisturbed
    assert pd.read_parquet(f"{path}/runs.parquet")["sets"].tolist() == [2, 3]


class Failing:
    """`os.replace` on a disk that is full from one call on."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.real = os.replace

    def replace(self, source: str, target: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.real(source, target)


# Which folder it may be.


def refused(path: Path, settings: Settings = SETTINGS) -> str:
    """What is said, and that nothing was touched."""
    before = {name: Path(path, name).read_bytes() for name in everything(path)}
    with pytest.raises(OutputError) as caught:
        about.check(str(path), settings)
    with pytest.raises(OutputError, match=re.escape(str(caught.value))):
        Dataset(str(path), settings)
    assert {name: Path(path, name).read_bytes() for name in everything(path)} == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_of_other_version_or_settings_is_not_touched(tmp_path: Path) -> None:
    path = Path(made(tmp_path / "fleet", [ALL[:1]]))
    other = SETTINGS._replace(version="0.0.9")
    assert refused(path, other).endswith(
        f"another version of nagle-scan ({SETTINGS.version} there, 0.0.9 now): name a new folder"
    )
    assert "filter (none there, tcp port 80 now)" in refused(
        path, SETTINGS._replace(filter="tcp port 80")
    )
    assert "--min-wait (10.0 there, 5.0 now)" in refused(path, SETTINGS._replace(min_wait_ms=5.0))
    assert "another key: name" in refused(path, HIDDEN)
    told = json.loads((path / "fleet.json").read_text())
    (path / "fleet.json").write_text(json.dumps(told | {"format": 99}))
    assert "written by another version of nagle-scan" in refused(path)
    (path / "fleet.json").write_text("{")
    assert "written by another version of nagle-scan" in refused(path)


def test_with_a_key_nobody_else_can_tell_what_a_capture_held(tmp_path: Path) -> None:
    """A plain hash of its first bytes, which hold addresses, would fit the right ones only."""
    wanted = job(CAPTURES / ALL[0])
    (plain,) = wanted.captures
    told = []
    for key in (KEY, KEY[::-1]):
        settings = HIDDEN._replace(key=key)
        path = made(tmp_path / key.hex()[:4], [[(wanted, answered(wanted, settings))]], settings)
        (row,) = parquet.captures(path, ("content", "head")).to_pylist()
        assert len(row["head"]) == len(plain.head)
        told += [row["content"], row["head"], row["content"][:8], row["head"][:8]]
    assert len({*told, plain.content, plain.head, plain.content[:8], plain.head[:8]}) == 12


def test_with_a_key_neither_it_nor_the_filter_is_kept_or_told(tmp_path: Path) -> None:
    filtered = HIDDEN._replace(filter="host 10.0.0.5")
    path = Path(made(tmp_path / "fleet", [()], filtered))
    about = (path / "fleet.json").read_text()
    assert "10.0.0.5" not in about
    assert KEY.hex() not in about
    Dataset(str(path), filtered).close()
    assert "10.0.0" not in refused(path, HIDDEN._replace(filter="host 10.0.0.6"))
    assert "another key" in refused(path, HIDDEN._replace(key=KEY[::-1]))


def test_a_folder_with_other_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    assert "a folder with other files" in refused(tmp_path)
    file = tmp_path / "precious.txt"
    with pytest.raises(OutputError, match="cannot write: not a directory"):
        about.check(str(file), SETTINGS)


def test_an_empty_folder_becomes_one(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    assert rows(made(tmp_path, [ALL[:1]]))["stalls"]


# What a key hides.


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("cannot read: no such file or directory", True),
        ("HTTP 404: not found", True),
        ("cannot read: ends 1,024 of 4,096 bytes too early", True),
        ("the worker died 3 times", True),
        ("link type 147 is not supported (supported: Ethernet)", True),
        ("no worker on web-1", "no worker"),
        ("not a capture file: neither pcap nor web-1", "not a capture file"),
        ("OSError: [Errno 113] Connect call failed ('10.77.66.55', 443)", "cannot read"),
        ("Cannot connect to host web-1:443 ssl:default", "cannot read"),
        ("/scratch/web-1/5.parquet: cannot write: no space left on device", "cannot read"),
    ],
)
def test_with_a_key_a_reason_tells_no_host(reason: str, kept: bool | str, tmp_path: Path) -> None:
    path = str(tmp_path / "fleet")
    dataset = Dataset(path, HIDDEN)
    dataset.fail(Failure("web-1:/x.pcap", "", reason, 1))
    dataset.close()
    (failure,) = Dataset(path, HIDDEN).failures
    assert failure.reason == (reason if kept is True else kept)


def test_nothing_that_a_key_replaces_is_in_any_file(tmp_path: Path) -> None:
    secret = tmp_path / "alice-10.77.66.55" / "bob.pcap"
    secret.parent.mkdir()
    shutil.copy(CAPTURES / ALL[0], secret)
    wanted = job(secret)
    path = str(tmp_path / "fleet")
    dataset = Dataset(path, HIDDEN)
    dataset.add(wanted, answered(wanted, HIDDEN))
    broken = secret.with_name("carol.pcap")
    dataset.fail(Failure(str(broken), "", f"{broken}: cannot read: carol.pcap is a folder", 1))
    dataset.close()
    content = b"".join(Path(path, name).read_bytes() for name in everything(path))
    # Compressed columns would hide them from a search.
    tables_ = [pd.read_parquet(f"{path}/{name}") for name in tables.NAMES]
    tables_ += [pd.read_parquet(f"{path}/{name}") for name in ("failures.parquet", "runs.parquet")]
    content += "".join(table.to_csv() for table in tables_).encode()
    for word in (b"alice", b"10.77", b"bob", b"carol", b"127.0.0.1", str(tmp_path).encode()):
        assert word not in content
    assert len(Dataset(path, HIDDEN).failures) == 1


def test_a_set_that_its_worker_encoded_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Rows
) -> None:
    """Alone, beside others, and where it takes the place of one that shares its part."""
    every = [shipped(name) for name in ALL]
    old = job(CAPTURES / ALL[0], CAPTURES / ALL[1])
    path = made(tmp_path / "fleet", [[(old, answered(old)), *every[2:4]]])
    monkeypatch.setattr(task, "LARGE", 0)
    encoded = []
    for wanted, small in (*every[:2], every[4]):
        answer = task.answer(scanned(wanted), wanted, SETTINGS._replace(run=2))
        assert answer.files
        assert len(tables.from_bytes(answer.tables["connections"])) == 0
        assert answer.packets == small.packets
        encoded.append((wanted, answer))
    (first, answer), *others = encoded
    made(path, [[(first._replace(replaces=old.id), answer), *others]])
    assert rows(path) == undisturbed
    assert len(parquet.files_of(path, "connections")) == 2
    runs = pd.read_parquet(f"{path}/connections").groupby("set")["run"].unique().to_dict()
    assert runs == {each[0].id: [1 if each in every[2:4] else 2] for each in every}
    again = [(old._replace(replaces=first.id), answered(old))]
    assert rows(made(path, [again])) == rows(made(tmp_path / "new", [[*again, *every[1:]]]))


def test_failures_of_what_is_gone_are_forgotten(tmp_path: Path) -> None:
    """Else a ring of captures would be said to be unreadable for ever."""
    closed, there = tmp_path / "closed", tmp_path / "there.pcap"
    closed.mkdir()
    there.touch()
    gone, again = tmp_path / "gone.pcap", tmp_path / "again.pcap"
    dataset = Dataset(str(tmp_path / "fleet"), SETTINGS)
    paths = [*map(str, (closed, there, gone, again)), "web-1:/gone.pcap", "s3://tap/gone.pcap"]
    for path in paths:
        dataset.fail(Failure(path, "", "permission denied", 1))
    dataset.forgive_gone([str(again)])
    assert [failure.path for failure in dataset.failures] == [str(there), str(again), *paths[4:]]


def test_nobody_reads_half_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a writer was killed, and while one writes."""
    monkeypatch.setattr(parquet, "PATIENCE_S", 0.3)
    path = made(tmp_path / "fleet", [ALL[:1]])
    aside = tmp_path / "fleet" / journal.ASIDE
    aside.mkdir()
    (aside / journal.COMMIT).write_text('{"moved": [], "removed": []}')
    for read in (lambda: Fleet(path).stalls, lambda: Fleet(path).sentence):
        with pytest.raises(CaptureError, match="a run was cut off while it wrote: the next one"):
            read()
    waiting = threading.Timer(0.15, (aside / journal.COMMIT).unlink)
    waiting.start()
    assert len(Fleet(path).stalls) == 9
    waiting.join()


def test_a_record_of_a_change_that_is_damaged_is_told(tmp_path: Path) -> None:
    path = made(tmp_path / "fleet", [ALL[:1]])
    aside = tmp_path / "fleet" / journal.ASIDE
    aside.mkdir()
    for content in (b"", b"{", b"[]", b"\xff", b'{"moved": 1, "removed": []}'):
        (aside / journal.COMMIT).write_bytes(content)
        with pytest.raises(OutputError, match=r"commit.json: damaged, so nobody can end"):
            Dataset(path, SETTINGS)


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    """A question that works on a fleet with stalls works on one without."""
    found = Fleet(made(tmp_path / "fleet", [["java-split-nodelay.pcap"]]))
    assert not len(found.stalls.merge(found.connections, on=["set", "connection"]))
    assert found.changes.dtypes["server_port"] == "int64"
