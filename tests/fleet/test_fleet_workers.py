"""Workers of this machine and of a cluster: nobody else reaches them, and none that dies or hangs
stops a run."""

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
from distributed import Client
from fleets import EPOLL, FIXED, OTHER, SPLIT
from hosts import HERE, HOSTS, PATIENCE_S, Hosts, started
from nagle_scan import CaptureError, NagleScanError, _core, scan_fleet
from nagle_scan.fleet import cluster, workers
from nagle_scan.fleet.cluster import connected
from nagle_scan.fleet.hosts import coverage
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
    left = psutil.wait_procs(every, PATIENCE_S / 10)[1]
    assert [one for one in left if "tracker" not in str(one.cmdline())] == []


def test_who_dies_costs_its_own_item_only(two: Workers) -> None:
    tasks = [Task(work, [*"ab"]), Task(work, ["c", "dies", "d"]), *[Task(work, ["e"])] * 20]
    done = list(two.run(tasks))
    assert told(done) == ([*"abcd", *"e" * 20], ["dies"], [DIED])


@pytest.mark.parametrize("how", ["hangs", "stops"])
def test_who_hangs_is_given_up_and_told(
    how: str, two: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "DEADLINE_S", 15.0)
    done = list(two.run([Task(work, ["a", how]), *[Task(work, ["b"])] * 5]))
    assert told(done) == (["a", *"b" * 5], [how], ["no answer within 15 s: given up"])


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
    assert psutil.wait_procs([worker], PATIENCE_S)[1] == []


# A cluster.


@pytest.fixture(scope="module")
def cluster_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with started(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture
def hosts(cluster_of_two: Hosts) -> Hosts:
    """Each with a worker that answers, and an empty folder."""
    for host, process in list(cluster_of_two.processes.items()):
        process.send_signal(signal.SIGCONT)
        if process.poll() is not None:
            cluster_of_two.start(host)
        subprocess.run(
            ["find", cluster_of_two.folder(host), "-mindepth", "1", "-delete"], check=True
        )
    with Client(cluster_of_two.scheduler, set_as_default=False) as client:
        client.wait_for_workers(len(HOSTS), timeout=PATIENCE_S)
    return cluster_of_two


def test_each_host_finds_and_reads_its_own(hosts: Hosts, tmp_path: Path) -> None:
    for host, name, content in (
        ("web-1", "a.pcap", SPLIT),
        ("web-2", "a.pcap", EPOLL),
        ("web-1", "ring/b.pcap", FIXED),
    ):
        hosts.put(host, name, (CAPTURES / content).read_bytes())
    # Not even root can read it.
    (hosts.folder("web-2") / "c.pcap").symlink_to("c.pcap")
    call = {"scheduler": hosts.scheduler, "on_hosts": True}
    fleet = scan_fleet(f"{HERE}/**/*.pcap", tmp_path / "fleet", **call)  # type: ignore[arg-type]
    rows = fleet.captures[["host", "path", "stalls"]]
    assert sorted(rows.itertuples(index=False, name=None)) == [
        ("web-1", f"{HERE}/a.pcap", 9),
        ("web-1", f"{HERE}/ring/b.pcap", 0),
        ("web-2", f"{HERE}/a.pcap", 100),
    ]
    assert fleet.failures["error"].str.contains("symbolic links").tolist() == [True]
    assert "2 of 2 hosts seen" in (tmp_path / "fleet" / "index.html").read_text()
    hosts.put("web-1", "a.pcap", (CAPTURES / OTHER).read_bytes())
    fleet = scan_fleet(f"{HERE}/**/*.pcap", tmp_path / "fleet", **call)  # type: ignore[arg-type]
    assert len(fleet.captures) == 4, "a ring that went round keeps both"
    row = fleet.stalls[fleet.stalls["server_port"] == 8888].iloc[0]
    fleet.report(row["set"], row["connection"], tmp_path / "report.html", scheduler=hosts.scheduler)
    assert "held data back" in (tmp_path / "report.html").read_text()
    with pytest.raises(CaptureError, match=rf"^{HERE}/none\*: no host has such a capture$"):
        scan_fleet(f"{HERE}/none*", tmp_path / "fleet", **call)  # type: ignore[arg-type]


def test_captures_that_all_have_are_read_by_any_worker(hosts: Hosts, tmp_path: Path) -> None:
    paths = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::40]
    far = scan_fleet(paths, tmp_path / "far", scheduler=hosts.scheduler)
    here = scan_fleet(paths, tmp_path / "here", workers=1)
    assert sorted(far.stalls["time"]) == sorted(here.stalls["time"])
    assert len(far.captures) == len(here.captures)


def test_a_worker_of_the_cluster_that_dies_costs_what_killed_it(hosts: Hosts) -> None:

    def start() -> None:
        if hosts.processes["web-2"].poll() is not None:
            hosts.start("web-2")

    tasks = [*[Task(work, ["a"], host="web-1")] * 6, Task(work, ["dies"], host="web-2")]
    with connected(hosts.scheduler) as pool:
        done = list(pool.run(tasks, start))
    assert told(done) == (["a"] * 6, ["dies"], [DIED])


def test_a_frozen_host_does_not_stop_the_others(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold the run of every night for ever."""
    monkeypatch.setattr(workers, "DEADLINE_S", 3.0)
    with connected(hosts.scheduler) as pool:
        assert sorted(pool.hosts) == sorted(HOSTS)
        os.kill(hosts.processes["web-2"].pid, signal.SIGSTOP)
        done = list(pool.run(Task(work, ["a"], host=host) for host in [*HOSTS, *HOSTS]))
        assert [one.error for one in done if one.task.host == "web-1"] == ["", ""]
        errors = {one.error for one in done if one.task.host == "web-2"}
        assert errors == {"no worker on web-2 answers"}
        assert coverage(pool, ["web-1", "web-2", "web-3"]) == (
            "1 of 3 hosts seen; late: web-2; silent: web-3"
        )
        monkeypatch.setattr(cluster, "ASK_S", 3.0)
        with connected(hosts.scheduler) as later:
            assert (later.hosts, later.silent) == (("web-1",), ["127.0.0.2"])


def test_no_scheduler_and_another_version_are_one_line(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    with (
        pytest.raises(ClusterError, match=r"^no scheduler at tcp://127.0.0.1:1$"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass
    monkeypatch.setattr(_core, "VERSION", "0.0.1")
    with (
        pytest.raises(NagleScanError, match=r"has nagle-scan [0-9.]+, this is 0.0.1$"),
        connected(hosts.scheduler),
    ):
        pass
