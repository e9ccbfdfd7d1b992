"""Workers of this machine and of a cluster: nobody else reaches them, and none that dies stops a
run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from conftest import CAPTURES
from distributed import LocalCluster
from nagle_scan import CaptureError, NagleScanError, _core, scan_fleet
from nagle_scan.fleet import cluster
from nagle_scan.fleet.cluster import connected
from nagle_scan.fleet.workers import DIED, ClusterError, Done, Task, Workers


def work(items: Sequence[str]) -> list[str]:
    """Each item says what becomes of its worker."""
    for item in items:
        if item == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "hangs":
            time.sleep(1000)
        if item == "fails":
            raise CaptureError("no capture")
        if item == "breaks":
            raise ZeroDivisionError
    return [f"{item} {os.getpid()}" for item in items]


def told(done: Iterable[Done]) -> tuple[list[str], list[str], list[str]]:
    """Items that were done, those that were not, and why."""
    every = list(done)
    results = sorted(item.split()[0] for one in every for item in one.result or ())
    failed = [one for one in every if one.error]
    return (
        results,
        [item for one in failed for item in one.task.items],
        [one.error for one in failed],
    )


@pytest.fixture
def two() -> Iterator[Workers]:
    made = Workers(2)
    yield made
    made.close()


def test_nothing_listens_and_nothing_stays(two: Workers) -> None:
    own = psutil.Process()
    before = set(own.children(recursive=True))
    list(two.run([Task(work, ["a"])] * 8))
    every = {*own.children(recursive=True)} - before
    assert len(every) >= 2
    sockets = [one for process in every for one in process.net_connections("all")]
    assert [one for one in sockets if one.status == psutil.CONN_LISTEN or one.laddr] == []
    two.close()
    left = psutil.wait_procs(every, 6)[1]
    assert [one for one in left if "tracker" not in str(one.cmdline())] == []


def test_who_dies_costs_its_own_item_only(two: Workers) -> None:
    tasks = [Task(work, [*"ab"]), Task(work, ["c", "dies", "d"]), *[Task(work, ["e"])] * 20]
    done = list(two.run(tasks))
    assert told(done) == ([*"abcd", *"e" * 20], ["dies"], [DIED])


def test_what_a_function_raises_is_the_error_of_its_items(two: Workers) -> None:
    assert told(two.run([Task(work, ["fails"])])) == ([], ["fails"], ["no capture"])
    with pytest.raises(ZeroDivisionError):
        list(two.run([Task(work, ["breaks"])]))


SCRIPT = """
import sys
from test_fleet_workers import work
from nagle_scan.fleet.workers import Task, Workers
if __name__ == "__main__":
    for done in Workers(1).run([Task(work, ["a"]), Task(work, ["hangs"])]):
        print(done.result[0].split()[1], flush=True)
"""


def test_a_run_that_is_killed_leaves_no_worker(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    words = [sys.executable, str(tmp_path / "script.py")]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        worker = psutil.Process(int(process.stdout.readline()))
        process.kill()
    assert psutil.wait_procs([worker], 60)[1] == []


# A cluster.


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Of two workers in processes of their own."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
    ) as made:
        yield made.scheduler_address


def test_a_cluster_finds_what_this_machine_finds(scheduler: str, tmp_path: Path) -> None:
    paths = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::40]
    far = scan_fleet(paths, tmp_path / "far", scheduler=scheduler)
    here = scan_fleet(paths, tmp_path / "here", workers=1)
    assert sorted(far.stalls["time"]) == sorted(here.stalls["time"])
    assert len(far.captures) == len(here.captures)


def test_a_worker_of_the_cluster_that_dies_costs_what_killed_it(scheduler: str) -> None:
    with connected(scheduler) as pool:
        done = list(pool.run([*[Task(work, ["a"])] * 6, Task(work, ["b", "dies"])]))
    assert told(done) == ([*"a" * 6, "b"], ["dies"], [DIED])


def test_a_lost_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ASK_S", 3.0)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
        ) as made,
        connected(made.scheduler_address) as pool,
    ):
        running = pool.run([Task(work, ["a"]), Task(work, ["hangs"])])
        assert next(running).result
        made.close()
        with pytest.raises(ClusterError, match=r"^lost the scheduler at tcp://127.0.0.1:"):
            list(running)


def test_no_scheduler_and_another_version_are_one_line(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    with (
        pytest.raises(ClusterError, match=r"^no scheduler at tcp://127.0.0.1:1$"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass
    monkeypatch.setattr(_core, "VERSION", "0.0.1")
    with pytest.raises(NagleScanError, match=r"has nagle-scan [0-9.]+, this is 0.0.1"):
        scan_fleet(CAPTURES / "epoll-fixed.pcap", tmp_path / "fleet", scheduler=scheduler)
