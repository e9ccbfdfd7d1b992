"""Workers of this machine: nobody else reaches them, and none that dies or hangs stops a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
import worker_tasks
from nagle_scan import CaptureError, _core
from nagle_scan.fleet import pool as pools
from nagle_scan.fleet import scanning, task, workers
from nagle_scan.fleet.work import Capture, Job, Settings
from nagle_scan.fleet.workers import ClusterError, Done, Pool, Task

PATIENCE_S = 60


@pytest.fixture
def pool() -> Iterator[Pool]:
    with workers.connected(None, 2) as two:
        yield two


def children() -> list[psutil.Process]:
    return [
        one for one in psutil.Process().children(recursive=True) if "serve" in str(one.cmdline())
    ]


def test_nothing_listens_and_nothing_stays() -> None:
    with workers.connected(None, 2) as two:
        list(two.run([Task(pow, (2, 3))] * 8))
        every = [psutil.Process(), *children()]
        assert len(every) == 3
        sockets = [socket for one in every for socket in one.net_connections("all")]
        assert {socket.status for socket in sockets if socket.family != 1} <= {"NONE"}
        unix = [socket for socket in sockets if socket.family == 1]
        assert [socket.laddr for socket in unix if socket.laddr] == [], "a name can be reached"
    assert children() == []


def test_a_worker_loads_no_more_than_it_needs(pool: Pool) -> None:
    (done,) = pool.run([Task(worker_tasks.loaded)])
    assert done.result == []


def test_who_dies_costs_its_own_task_only(pool: Pool) -> None:
    tasks = [Task(pow, (2, 2)), Task(worker_tasks.die), *[Task(pow, (2, 2))] * 20]
    done = list(pool.run(tasks))
    assert [one.result for one in done].count(4) == 21
    assert [one for one in done if one.error] == [
        Done(Task(worker_tasks.die), None, "the worker died twice", 2)
    ]


def test_a_worker_that_is_killed_costs_nothing(pool: Pool) -> None:
    done = pool.run([Task(worker_tasks.pid, (0.05,))] * 20)
    first = next(done)
    os.kill(first.result, signal.SIGKILL)
    rest = list(done)
    assert len(rest) == 19
    assert not [one.error for one in rest if one.error]


def test_a_frozen_worker_is_given_up_and_its_task_goes_elsewhere(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pools, "DEADLINE_S", 5.0)
    begun_s = time.monotonic()
    (done,) = pool.run([Task(worker_tasks.freeze_once, (str(tmp_path / "mark"),))])
    assert (done.result, done.attempts) == ("done", 2)
    assert time.monotonic() - begun_s < PATIENCE_S
    (note,) = pool.notes
    assert "does not answer: given up, its tasks went elsewhere" in note
    (done,) = pool.run([Task(worker_tasks.freeze)])
    assert done.error == "the worker did not answer twice"


def test_what_a_function_raises_is_the_error_of_its_task(pool: Pool) -> None:
    (done,) = pool.run([Task(_raise, ("a.pcap: no capture",))])
    assert done.error == "a.pcap: no capture"
    with pytest.raises(ZeroDivisionError):
        list(pool.run([Task(divmod, (1, 0))]))


def _raise(why: str) -> None:
    raise CaptureError(why)


def test_a_worker_that_cannot_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SERVE", "raise SystemExit(1)")
    with (
        workers.connected(None, 1) as one,
        pytest.raises(ClusterError, match=r"^a worker does not start on this machine$"),
    ):
        list(one.run([Task(pow, (2, 2))]))


def test_a_worker_that_dies_at_its_start_is_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    once = f"import os; os.mkdir({str(tmp_path / 'mark')!r}); os._exit(1)"
    script = f"try:\n exec({once!r})\nexcept FileExistsError:\n exec({workers.SERVE!r})"
    monkeypatch.setattr(workers, "SERVE", script)
    with workers.connected(None, 1) as one:
        assert [done.attempts for done in one.run([Task(pow, (2, 2))])] == [1]


def test_a_run_that_nobody_waits_for_ends_its_tasks(pool: Pool) -> None:
    done = pool.run([Task(pow, (2, 2)), Task(time.sleep, (1000,))])
    assert next(done).result == 4
    done.close()  # type: ignore[attr-defined]
    assert len(list(pool.run([Task(pow, (2, 2))] * 4))) == 4


SCRIPT = """
import sys
import worker_tasks
from nagle_scan.fleet import workers
from nagle_scan.fleet.workers import Task

with workers.connected(None, 1) as pool:
    for done in pool.run([Task(worker_tasks.pid), Task(worker_tasks.pid, (1000,))]):
        print(done.result, flush=True)
"""


def script(tmp_path: Path) -> subprocess.Popen[str]:
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], env=env, stdout=subprocess.PIPE, text=True
    )


def test_a_script_needs_no_guard_and_leaves_no_worker_when_it_is_killed(tmp_path: Path) -> None:
    """Whoever ends it by SIGKILL would find its workers running for ever."""
    with script(tmp_path) as process:
        assert process.stdout
        worker = psutil.Process(int(process.stdout.readline()))
        assert worker.ppid() == process.pid
        process.kill()
    assert psutil.wait_procs([worker], PATIENCE_S)[1] == []


def captured(url: str) -> Job:
    return Job(url, (Capture(url, "", 1000, "1", url, url, 1),))


def test_a_batch_loses_only_the_set_that_kills_its_worker(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "scan_sets", worker_tasks.scan_sets)
    jobs = [captured(f"/{number}.pcap") for number in range(100)]
    jobs[50] = captured("/kills.pcap")
    settings = Settings(_core.VERSION, None, 10.0)
    every = {one.job.id: one for one in scanning.scan(jobs, settings, pool)}
    assert set(every) == {job.id for job in jobs}
    (failure,) = every.pop("/kills.pcap").failures
    assert failure[:2] == ("/kills.pcap", "the worker died twice")
    assert (failure.attempts, failure.size) == (2, 1000)
    assert [one for one in every.values() if one.failures or not one.answer] == []
