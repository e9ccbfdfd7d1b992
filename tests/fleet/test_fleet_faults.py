"""What goes wrong in a fleet: nothing is lost, nothing counts twice, and one line tells it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import fleets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from conftest import CAPTURES, COMMAND
from distributed import WorkerPlugin
from nagle_scan import CaptureError, NagleScanError, OutputError, UnknownConnectionError, _core
from nagle_scan.fleet import (
    cluster,
    dataset,
    identity,
    journal,
    large,
    originals,
    page,
    run,
    scanning,
    sets,
    task,
)
from nagle_scan.fleet.cluster import Cluster
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.tally import Tally
from nagle_scan.fleet.work import Capture, Job, Ledger, Settings

KILLS = 50
SETTINGS = Settings(_core.VERSION, None, 10.0)
TABLES = ("stalls", "connections", "waits", "servers", "captures")
PATIENCE_S = 60


@pytest.fixture(scope="module")
def workers() -> Iterator[Cluster]:
    """Two, which are started again when they die."""
    with cluster.connected(None, 2) as workers:
        yield workers


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with captures that differ."""
    folder = tmp_path_factory.mktemp("captures")
    for number, path in enumerate(sorted(CAPTURES.glob("*.pcap"))):
        (folder / f"{number}-{path.name}").symlink_to(path)
    labelled = sorted((CAPTURES / "labelled").rglob("*.pcap.gz"))
    for number, path in enumerate(labelled[:: len(labelled) // 40]):
        (folder / f"labelled-{number}.pcap.gz").symlink_to(path)
    return folder


def asked(named: Path, output: Path, **others: Any) -> run.Asked:
    return run.Asked([str(named)], None, str(output), SETTINGS, **others)


def ran(named: Path, output: Path, workers: Cluster, **others: Any) -> run.Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "connected", lambda *_: nullcontext(workers))
        return run.run(asked(named, output, **others), lambda _: None)


def rows(folder: Path) -> dict[str, pa.Table]:
    """Each table, in an order of its own; without which run and which file a row came from."""
    return {name: _rows(folder / name) for name in TABLES}


def _rows(folder: Path) -> pa.Table:
    table = ds.dataset(folder, format="parquet", partitioning="hive").to_table()
    table = table.drop_columns([name for name in ("run", "part") if name in table.column_names])
    return table.sort_by([(name, "ascending") for name in sorted(table.column_names)])


@pytest.fixture(autouse=True, scope="module")
def _without_pages() -> Iterator[None]:
    """They have tests of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "write", lambda _: "")
        yield


@pytest.fixture(scope="module")
def undisturbed(
    captures: Path, workers: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pa.Table]:
    folder = tmp_path_factory.mktemp("undisturbed") / "fleet"
    outcome = ran(captures, folder, workers)
    assert outcome.failures == []
    assert outcome.tally.done == outcome.tally.of > 40
    return rows(folder)


def at(taken: int, do: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Does something when so many sets are done, while others are being scanned."""
    add, seen = Tally.add, [0]

    def counted(tally: Tally, scanned: task.Scanned) -> None:
        if seen[0] == taken:
            do()
        seen[0] += 1
        add(tally, scanned)

    monkeypatch.setattr(Tally, "add", counted)


def kill_a_worker(workers: Cluster, chosen: random.Random) -> None:
    """Whatever it is doing; it may also be starting."""
    assert workers.processes is not None
    os.kill(chosen.choice(workers.processes.ids), signal.SIGKILL)


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_worker_costs_nothing(
    number: int,
    workers: Cluster,
    captures: Path,
    undisturbed: dict[str, pa.Table],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed = random.randrange(1 << 32)
    chosen = random.Random(seed)
    # One task for each set: so both workers have some whenever one dies.
    monkeypatch.setattr(scanning, "MOST_SETS_IN_TASK", 1)
    at(chosen.randrange(40), lambda: kill_a_worker(workers, chosen), monkeypatch)
    outcome = ran(captures, tmp_path / "fleet", workers)
    assert outcome.failures == [], f"{number}, seed {seed}"
    assert rows(tmp_path / "fleet") == undisturbed, f"{number}, seed {seed}"


class DiesOf(WorkerPlugin):
    """A capture that kills whatever worker scans it."""

    def __init__(self, name: str) -> None:
        self.capture = name

    def setup(self, worker: object) -> None:
        del worker
        scan = task.scan_set

        def scan_set(job: Job, settings: Settings) -> task.Scanned:
            if any(self.capture in one.url for one in job.captures):
                os.kill(os.getpid(), signal.SIGKILL)
            return scan(job, settings)

        task.scan_set = scan_set


def test_only_the_capture_that_kills_its_worker_is_a_failure(
    captures: Path, undisturbed: dict[str, pa.Table], tmp_path: Path
) -> None:
    with cluster.connected(None, 2) as workers:
        workers.client.register_plugin(DiesOf("labelled-3.pcap.gz"))
        outcome = ran(captures, tmp_path / "fleet", workers)
    (failure,) = outcome.failures
    assert failure.path == str(captures / "labelled-3.pcap.gz")
    assert failure.reason == f"the worker died {failure.attempts} times"
    assert failure.attempts > 3
    there = rows(tmp_path / "fleet")
    for name in TABLES:
        assert there[name] == undisturbed[name].filter(pc.field("set") != failure.set)
    with cluster.connected(None, 2) as workers:
        again = ran(captures, tmp_path / "fleet", workers)
    assert (again.tally.of, again.known, again.failures) == (1, len(there["captures"]), [])
    assert rows(tmp_path / "fleet") == undisturbed


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(
    workers: Cluster,
    captures: Path,
    undisturbed: dict[str, pa.Table],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "captures"
    shutil.copytree(captures, folder, symlinks=True)
    (folder / "corrupt.pcap").write_bytes(b"no capture at all")
    (folder / "nowhere.pcap").symlink_to(tmp_path / "nothing")
    other = bytearray((CAPTURES / "epoll-fd0.pcap").read_bytes()[:999])
    other[24] ^= 1  # the time of its first frame
    (folder / "vanishes.pcap").write_bytes(other)
    plan = sets.plan

    def planned(*given: Any) -> sets.Plan:
        (folder / "vanishes.pcap").unlink()
        return plan(*given)

    monkeypatch.setattr(sets, "plan", planned)
    outcome = ran(folder, tmp_path / "fleet", workers)
    told = {Path(failure.path).name: failure.reason for failure in outcome.failures}
    assert told == {
        "corrupt.pcap": "not a capture file: neither pcap nor pcapng, nor text that tcpdump "
        "or tshark printed",
        "nowhere.pcap": "no such file or directory",
        "vanishes.pcap": "no such file or directory",
    }
    assert {failure.attempts for failure in outcome.failures} == {1}
    table = pq.read_table(tmp_path / "fleet/failures.parquet")
    assert sorted(table["path"].to_pylist()) == sorted(str(folder / name) for name in told)
    there = rows(tmp_path / "fleet")
    assert there["stalls"] == undisturbed["stalls"]
    monkeypatch.setattr(sets, "plan", plan)
    again = ran(folder, tmp_path / "fleet", workers)
    assert again.tally.of == 1, "only what failed, and is still there, is tried again"


def test_of_a_rotated_set_only_the_unreadable_file_is_left_out(
    workers: Cluster, tmp_path: Path
) -> None:
    folder = cut(tmp_path / "captures", 10)
    (folder / "x.pcap3").write_bytes(b"no capture at all, but one of the set by its name")
    outcome = ran(folder, tmp_path / "fleet", workers)
    assert [failure.path for failure in outcome.failures] == [str(folder / "x.pcap3")]
    assert len(rows(tmp_path / "fleet")["captures"]) == outcome.tally.files - 1


def cut(folder: Path, frames: int) -> Path:
    """A capture as a rotation that has so many frames in each file."""
    folder.mkdir()
    content = (CAPTURES / "epoll-fd0.pcap").read_bytes()
    head, at = content[:24], 24
    records = []
    while at < len(content):
        length = 16 + struct.unpack_from("<I", content, at + 8)[0]
        records.append(content[at : at + length])
        at += length
    for number, begin in enumerate(range(0, len(records), frames)):
        part = head + b"".join(records[begin : begin + frames])
        (folder / f"x.pcap{number or ''}").write_bytes(part)
    return folder


def test_a_large_set_that_is_shared_among_workers_gives_the_same(
    workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cut(tmp_path / "captures", 100)
    ran(folder, tmp_path / "whole", workers, split_above=1 << 40)
    given = scanning.Scanning._submit
    functions = []

    def submit(self: Any, host: str, function: Any, *rest: Any) -> Any:
        functions.append(function.__name__)
        return given(self, host, function, *rest)

    monkeypatch.setattr(scanning.Scanning, "_submit", submit)
    outcome = ran(folder, tmp_path / "parts", workers, split_above=0)
    assert outcome.failures == []
    assert Counter(functions) == {"records_of": outcome.tally.files, "track": 16, "judge": 1}
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    assert not (tmp_path / "parts" / run.SCRATCH).exists()


def test_a_large_set_that_cannot_be_shared_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    with cluster.connected(None, 1) as own:
        named = asked(cut(tmp_path / "captures", 100), tmp_path / "fleet", split_above=0)
        outcome = run.run(named, told.append, client=own.client)
    assert outcome.failures == []
    assert [note for note in told if "--scratch" in note] == [
        "1 capture larger than --split-above: each is read by one worker, unless --scratch names "
        "a folder that all see"
    ]


def test_a_worker_stays_small(workers: Cluster, undisturbed: dict[str, pa.Table]) -> None:
    del undisturbed
    assert workers.processes is not None
    for pid in workers.processes.ids:
        loaded = Path(f"/proc/{pid}/maps").read_text()
        assert "/pyarrow/" in loaded
        assert not re.search("/(pandas|matplotlib|scapy)/", loaded)
        status = Path(f"/proc/{pid}/status").read_text()
        anonymous = re.findall(r"RssAnon:\s+(\d+) kB", status)
        assert int(anonymous[0]) < 300 << 10


def test_two_runs_into_one_folder(workers: Cluster, captures: Path, tmp_path: Path) -> None:
    ran(captures, tmp_path / "fleet", workers)
    before = rows(tmp_path / "fleet")
    with (tmp_path / "fleet" / run.LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match=r"fleet: another run writes into it$"):
            ran(captures, tmp_path / "fleet", workers)
    assert rows(tmp_path / "fleet") == before


def test_a_full_disk_leaves_what_was_written_before(
    workers: Cluster,
    captures: Path,
    undisturbed: dict[str, pa.Table],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dataset, "MOST_SETS", 10)
    change, changes = journal.Journal.change, [0]

    @contextmanager
    def full(self: journal.Journal) -> Iterator[journal.Change]:
        changes[0] += 1
        with change(self) as made:
            yield made
            if changes[0] == 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal.Journal, "change", full)
    with pytest.raises(OutputError) as failed:
        ran(captures, tmp_path / "fleet", workers)
    of = len(undisturbed["captures"])
    assert str(failed.value) == (
        f"{tmp_path / 'fleet'}: cannot write: no space left on device: 20 of {of} captures are "
        "done and stay; the next run goes on"
    )
    assert len(rows(tmp_path / "fleet")["captures"]) == 20
    assert ran(captures, tmp_path / "fleet", workers).known == 20
    assert rows(tmp_path / "fleet") == undisturbed


@contextmanager
def scheduler(tmp_path: Path, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """A real one with one worker; its address, and its process."""
    port_file = tmp_path / "scheduler.json"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begin = [sys.executable, "-m"]
    words = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    words += ["--no-dashboard", "--scheduler-file", str(port_file)]
    with subprocess.Popen([*begin, *words], cwd=tmp_path, **quiet) as process:
        words = ["distributed.cli.dask_worker", "--scheduler-file", str(port_file)]
        words += ["--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
        until(lambda: port_file.exists() and port_file.read_text().endswith("}"))
        environment = {**os.environ, **env}
        with subprocess.Popen([*begin, *words], cwd=tmp_path, env=environment, **quiet) as worker:
            try:
                yield json.loads(port_file.read_text())["address"], process.pid
            finally:
                process.kill()
                worker.kill()


def until(condition: Callable[[], bool]) -> None:
    """Waits for what another process does."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_a_lost_scheduler(
    workers: Cluster,
    captures: Path,
    undisturbed: dict[str, pa.Table],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with scheduler(tmp_path, {}) as (address, pid):
        # One task for each set, so that some are left.
        monkeypatch.setattr(scanning, "MOST_SETS_IN_TASK", 1)
        at(5, lambda: os.kill(pid, signal.SIGKILL), monkeypatch)
        asked_of = asked(captures, tmp_path / "fleet", scheduler=address)
        with pytest.raises(NagleScanError) as failed:
            run.run(asked_of, lambda _: None)
    of = len(undisturbed["captures"])
    told = re.fullmatch(
        f"lost the scheduler at {address}: (\\d+) of {of} captures are done and stay; "
        "the next run goes on",
        str(failed.value),
    )
    assert told is not None, failed.value
    assert len(rows(tmp_path / "fleet")["captures"]) == int(told[1]) < of
    again = ran(captures, tmp_path / "fleet", workers)
    assert (again.known, again.failures) == (int(told[1]), [])
    assert rows(tmp_path / "fleet") == undisturbed


def test_a_worker_of_another_version(tmp_path: Path) -> None:
    other = tmp_path / "other" / "nagle_scan"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"')
    with scheduler(tmp_path, {"PYTHONPATH": str(other.parent)}) as (address, _):
        done = fleet(CAPTURES, "-o", tmp_path / "fleet", "--scheduler", address)
    assert done.returncode == 2
    assert re.fullmatch(
        f"nagle-scan: {address}: tcp://[0-9.:]+ has nagle-scan 0.0.1, this is {_core.VERSION}\n",
        done.stderr,
    )
    assert not (tmp_path / "fleet").exists()


def fleet(*words: str | Path, **others: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "fleet", *words], capture_output=True, text=True, check=False, **others
    )


def test_the_report_of_another_hosts_capture_is_made_there(
    workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = CAPTURES / "java-split.pcap"
    ran(capture, tmp_path / "here", workers)
    ran(capture, tmp_path / "there", workers, on_hosts=True)
    here, there = Fleet(tmp_path / "here"), Fleet(tmp_path / "there")
    (name,) = here.captures["set"]
    here.report(name, 0, tmp_path / "here.html")
    monkeypatch.setattr(originals, "is_here", lambda _: False)
    there.report(name, 0, tmp_path / "there.html", client=workers.client)
    assert (tmp_path / "there.html").read_bytes() == (tmp_path / "here.html").read_bytes()
    host = cluster.own_name()
    with pytest.raises(CaptureError) as told:
        there.report(name, 0, tmp_path / "none.html")
    assert str(told.value) == (
        f"{host}:{capture}: only {host} has it: name a cluster with a worker there (--scheduler)"
    )
    with pytest.raises(UnknownConnectionError):
        there.report(name, 99, tmp_path / "none.html", client=workers.client)
    monkeypatch.setattr(workers, "name_hosts", dict)
    monkeypatch.setattr(workers, "hosts", {"another": "127.0.0.1"})
    monkeypatch.setattr(cluster, "connected", lambda *_, **__: nullcontext(workers))
    with pytest.raises(CaptureError, match=f"no worker on {host}$"):
        there.report(name, 0, tmp_path / "none.html", client=workers.client)
    assert not (tmp_path / "none.html").exists()


def test_a_set_that_lost_a_file_meanwhile_keeps_its_old_result(
    workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that file, what is scanned again would have less than the old result."""
    ring = cut(tmp_path / "ring", 300)
    last = max(ring.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    content = last.read_bytes()
    last.write_bytes(content[: len(content) // 2])
    for split_above in (1 << 40, 0):
        folder = tmp_path / f"fleet-{split_above}"
        shutil.rmtree(tmp_path / "now", ignore_errors=True)
        shutil.copytree(ring, tmp_path / "now")
        ran(tmp_path / "now", folder, workers, split_above=split_above)
        before = rows(folder)
        (tmp_path / "now" / last.name).write_bytes(content)
        plan = sets.plan

        def lost(*given: Any, plan: Any = plan) -> sets.Plan:
            made: sets.Plan = plan(*given)
            (tmp_path / "now" / "x.pcap").unlink()
            return made

        with monkeypatch.context() as patch:
            patch.setattr(sets, "plan", lost)
            outcome = ran(tmp_path / "now", folder, workers, split_above=split_above)
        (failure,) = outcome.failures
        assert failure.path == str(tmp_path / "now" / "x.pcap")
        assert (outcome.tally.done, outcome.tally.of) == (1, 1)
        assert rows(folder) == before


def test_with_a_key_the_next_run_knows_what_is_there(workers: Cluster, tmp_path: Path) -> None:
    capture, grown = CAPTURES / "epoll-fd0.pcap", tmp_path / "ring.pcap"
    content = capture.read_bytes()
    grown.write_bytes(content[: len(content) // 2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SETTINGS", fleets.HIDDEN)
        ran(grown, tmp_path / "fleet", workers)
        half = rows(tmp_path / "fleet")["stalls"].num_rows
        assert ran(grown, tmp_path / "fleet", workers).tally.of == 0
        grown.write_bytes(content)
        assert ran(grown, tmp_path / "fleet", workers).tally.of == 1
        assert ran(grown, tmp_path / "fleet", workers).known == 1
    there = rows(tmp_path / "fleet")
    assert (there["captures"].num_rows, there["stalls"].num_rows) == (1, 100)
    assert half < 100
    (name,) = there["captures"]["set"].to_pylist()
    known = identity.of(identity.Located(str(grown)))
    assert isinstance(known, Capture)
    (plain,) = sets.plan([known], Ledger({}, {}, {})).jobs
    assert name != plain.id


def test_ctrl_c_keeps_what_is_done_and_leaves_nothing_behind(tmp_path: Path) -> None:
    # So many that it is not done before it is interrupted.
    many = tmp_path / "many"
    many.mkdir()
    content = (CAPTURES / "java-split.pcap").read_bytes()
    for number in range(1500):
        (many / f"{number}x.pcap").write_bytes(content[:24] + number.to_bytes(4) + content[28:])
    # A large one has a folder for its segments, which tells that it has begun.
    cut(many / "ring", 300)
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    with subprocess.Popen(
        [COMMAND, "fleet", many, many / "ring", "-o", tmp_path / "fleet", "--split-above", "0MB"],
        cwd=here,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        until((tmp_path / "fleet" / run.SCRATCH).exists)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (130, "")
    told = re.fullmatch(
        r"nagle-scan: interrupted: ([\d,]+) of 1,501 captures \(1,502 files\) are done and stay; "
        r"the next run goes on\n",
        errors,
    )
    assert told is not None, errors
    assert list(here.iterdir()) == list(temporary.iterdir()) == []
    assert [pid for pid in Path("/proc").glob("[0-9]*") if str(temporary) in _words(pid)] == []
    captured = tmp_path / "fleet" / "captures"
    there = set(_rows(captured)["set"].to_pylist()) if captured.exists() else set()
    assert len(there) == int(told[1].replace(",", "")) < 1501


def _words(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


def test_the_key_is_in_no_environment_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGLE_SCAN_KEY", "ab" * 32)
    with cluster.connected(None, 1) as workers:
        assert workers.processes is not None
        for pid in workers.processes.ids:
            assert b"NAGLE_SCAN_KEY" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_without_room_for_segments_a_large_set_is_not_torn(tmp_path: Path) -> None:
    """What is left of it would never become one capture again."""
    paths = sorted(cut(tmp_path / "captures", 100).iterdir())
    job = fleets.job(*paths)
    there, full = tmp_path / "there", tmp_path / "full"
    there.mkdir()
    whole = large.Large(job, SETTINGS, str(there))
    ends: list[Any] = []
    for number, one in enumerate(job.captures):
        place = whole.place(number) if number else str(full / "x")
        ends += whole.add(large.records_of(one, job.id, SETTINGS, place))
    (scanned,) = ends
    assert scanned.answer is None
    assert [failure.path for failure in scanned.failures] == list(map(str, paths))
    assert all("cannot write" in failure.reason for failure in scanned.failures)
    assert list(there.iterdir()) == []
