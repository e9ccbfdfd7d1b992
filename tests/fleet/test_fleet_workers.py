"""Workers of this machine and of a cluster: nobody else reaches them, and none that dies or hangs
stops a run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from conftest import CAPTURES
from daskcluster import PATIENCE_S, Cluster, started
from distributed import Client
from nagle_scan import CaptureError, NagleScanError, _core, scan_fleet
from nagle_scan.fleet import cluster, workers
from nagle_scan.fleet.cluster import connected
from nagle_scan.fleet.workers import DIED, ClusterError, Done, Task, Workers


def work(items: Sequence[str]) -> list[str]:
    """Each item says what becomes of its worker."""
    for item in items:
        if item == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "hangs":
            time.sleep(1000)
        if item == "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        if item == "fails":
            raise CaptureError("no capture")
        if item == "breaks":
            raise ZeroDivisionError
    return [f"{item} {os.getpid()}" for item in items]


def outcomes(done: Iterable[Done]) -> tuple[list[str], list[str], list[str]]:
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
    list(two.run(work, [Task(["a"])] * 8))
    every = {*own.children(recursive=True)} - before
    assert len(every) >= 2
    sockets = [one for process in every for one in process.net_connections("all")]
    assert [one for one in sockets if one.status == psutil.CONN_LISTEN or one.laddr] == []
    two.close()
    left = psutil.wait_procs(every, PATIENCE_S / 10)[1]
    assert [one for one in left if "tracker" not in str(one.cmdline())] == []


def test_who_dies_costs_its_own_item_only(two: Workers) -> None:
    tasks = [Task([*"ab"]), Task(["c", "dies", "d"]), *[Task(["e"])] * 20]
    done = list(two.run(work, tasks))
    assert outcomes(done) == ([*"abcd", *"e" * 20], ["dies"], [DIED])


@pytest.mark.parametrize("how", ["hangs", "stops"])
def test_who_hangs_is_given_up_and_reported(
    how: str, two: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "DEADLINE_S", 15.0)
    done = list(two.run(work, [Task(["a", how]), *[Task(["b"])] * 5]))
    assert outcomes(done) == (["a", *"b" * 5], [how], ["no answer within 15 s: given up"])


def test_what_a_function_raises_is_the_error_of_its_items(two: Workers) -> None:
    assert outcomes(two.run(work, [Task(["fails"])])) == ([], ["fails"], ["no capture"])
    with pytest.raises(ZeroDivisionError):
        list(two.run(work, [Task(["breaks"])]))


SCRIPT = """
import sys
from test_fleet_workers import work
from nagle_scan.fleet.workers import Task, Workers
if __name__ == "__main__":
    for done in Workers(1).run(work, [Task(["a"]), Task(["hangs"])]):
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
    assert psutil.wait_procs([worker], PATIENCE_S)[1] == []


# A cluster.


@pytest.fixture(scope="module")
def started_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with started(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def two_far(started_once: Cluster) -> Cluster:
    """Two workers that answer."""
    for number, process in enumerate(started_once.workers):
        process.send_signal(signal.SIGCONT)
        if process.poll() is not None:
            started_once.start(number)
    with Client(started_once.scheduler, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE_S)
    return started_once


def test_a_cluster_gives_what_this_machine_gives(two_far: Cluster, tmp_path: Path) -> None:
    paths = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::40]
    far = scan_fleet(paths, tmp_path / "far", scheduler=two_far.scheduler)
    here = scan_fleet(paths, tmp_path / "here", workers=1)
    assert sorted(far.stalls["time"]) == sorted(here.stalls["time"])
    assert len(far.captures) == len(here.captures)


def test_a_worker_of_the_cluster_that_dies_costs_what_killed_it(two_far: Cluster) -> None:
    """Also while none is left for a moment: it is started anew, as Dask's nannies do."""
    over = threading.Event()

    def start() -> None:
        while not over.wait(0.1):
            for number, process in enumerate(two_far.workers):
                if process.poll() is not None:
                    two_far.start(number)

    starting = threading.Thread(target=start)
    starting.start()
    tasks = [*[Task(["a"])] * 6, Task(["dies"]), *[Task(["b"])] * 6]
    try:
        with connected(two_far.scheduler) as pool:
            done = list(pool.run(work, tasks))
    finally:
        over.set()
        starting.join()
    assert outcomes(done) == ([*"a" * 6, *"b" * 6], ["dies"], [DIED])


def test_workers_killed_at_random_lose_no_capture(two_far: Cluster, tmp_path: Path) -> None:
    paths = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::12]
    chance, over = random.Random(0), threading.Event()

    def kill() -> None:
        with Client(two_far.scheduler, set_as_default=False) as client:
            while not over.wait(chance.uniform(0.2, 0.6)):
                number = chance.randrange(2)
                two_far.workers[number].kill()
                two_far.workers[number].wait()
                two_far.start(number)
                # On a busy machine a worker takes long to start.
                client.wait_for_workers(2, timeout=PATIENCE_S)

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        for _ in range(3):
            # A set that is tried when its workers die becomes a failure of this run.
            far = scan_fleet(paths, tmp_path / "far", scheduler=two_far.scheduler)
    finally:
        over.set()
        killing.join()
    far = scan_fleet(paths, tmp_path / "far", scheduler=two_far.scheduler)
    here = scan_fleet(paths, tmp_path / "here", workers=1)
    assert sorted(far.stalls["time"]) == sorted(here.stalls["time"])
    assert len(far.captures) == len(here.captures)
    assert len(far.failures) == 0


def test_a_frozen_worker_does_not_stop_the_other(
    two_far: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold the run of every night for ever."""
    monkeypatch.setattr(workers, "DEADLINE_S", 5.0)
    with connected(two_far.scheduler) as pool:
        two_far.workers[1].send_signal(signal.SIGSTOP)
        done = list(pool.run(work, [Task([str(number)]) for number in range(8)]))
    assert len(done) == 8
    assert {one.error for one in done} <= {"", "no answer within 5 s: given up", DIED}
    assert sum(not one.error for one in done) >= 4


def test_no_scheduler_and_another_version_are_one_line(
    two_far: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    with (
        pytest.raises(ClusterError, match=r"^no scheduler at tcp://127.0.0.1:1$"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass
    monkeypatch.setattr(_core, "VERSION", "0.0.1")
    with pytest.raises(NagleScanError, match=r"has nagle-scan [0-9.]+, this is 0.0.1"):
        scan_fleet(CAPTURES / "java-split.pcap", tmp_path / "far", scheduler=two_far.scheduler)
