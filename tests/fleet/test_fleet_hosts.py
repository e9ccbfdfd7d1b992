"""On a cluster each host reads its own files, and none is left out without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_tasks
from conftest import CAPTURES
from distributed import Client
from hosts import HERE, HOSTS, PATIENCE_S, Hosts, started
from nagle_scan import CaptureError, _core
from nagle_scan.fleet import cluster, identity, inputs, scanning, workers
from nagle_scan.fleet import pool as pools
from nagle_scan.fleet.scanning import Coverage, Looked
from nagle_scan.fleet.work import Capture, Failure
from nagle_scan.fleet.workers import ClusterError, Pool, Task

CAPTURE = (CAPTURES / "java-split.pcap").read_bytes()
OTHER = (CAPTURES / "epoll-fd0.pcap").read_bytes()


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
        folder = cluster_of_two.folder(host)
        subprocess.run(["find", folder, "-mindepth", "1", "-delete"], check=True)
    with Client(cluster_of_two.scheduler, set_as_default=False) as client:
        client.wait_for_workers(len(HOSTS), timeout=PATIENCE_S)
    return cluster_of_two


@pytest.fixture
def pool(hosts: Hosts) -> Iterator[Pool]:
    with workers.connected(hosts.scheduler) as far:
        yield far


def look(pool: Pool, *named: str, list_file: Path | None = None) -> Looked:
    names = [f"{HERE}/{name}" for name in named]
    return scanning.look(names, None if list_file is None else str(list_file), pool)


def urls(looked: Looked) -> dict[str, list[str]]:
    every = looked.located.items()
    return {host: [one.url.removeprefix(f"{HERE}/") for one in found] for host, found in every}


def test_each_host_finds_and_reads_its_own(hosts: Hosts, pool: Pool) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    hosts.put("web-2", "a.pcap", OTHER)
    hosts.put("web-1", "ring/b.pcap", OTHER)
    looked = look(pool, "a.pcap", "ring", "*.pcap")
    assert urls(looked) == {"web-1": ["a.pcap", "ring/b.pcap"], "web-2": ["a.pcap"]}
    every = [(host, (one,)) for host, ones in looked.located.items() for one in ones]
    told = scanning.on_hosts(identity.of, every, pool)
    found = [one._replace(host=host) for host, _, one in told]
    assert {(one.host, one.size) for one in found if isinstance(one, Capture)} == {
        ("web-1", len(CAPTURE)),
        ("web-1", len(OTHER)),
        ("web-2", len(OTHER)),
    }
    path = hosts.put("web-1", "a.pcap", CAPTURE + CAPTURE[24:])
    before = [one for one in found if isinstance(one, Capture) and "a.pcap" in one.url]
    pairs = [(one.host, (one, looked.located[one.host][0])) for one in before]
    (grown,) = (asked for _, asked, grew in scanning.on_hosts(identity.grew, pairs, pool) if grew)
    assert (grown[0].host, path.stat().st_size) == ("web-1", 2 * len(CAPTURE) - 24)


def test_what_only_one_host_cannot_read_is_its_failure(hosts: Hosts, pool: Pool) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    # Not even root can read it.
    (hosts.folder("web-2") / "a.pcap").symlink_to("a.pcap")
    looked = look(pool, "a.pcap")
    assert urls(looked) == {"web-1": ["a.pcap"], "web-2": []}
    (failure,) = looked.failures
    why = "cannot read: too many levels of symbolic links"
    assert (failure.shown, failure.reason) == (f"web-2:{HERE}/a.pcap", why)


def test_a_name_that_no_host_has_is_one_line(pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=rf"^{HERE}/none\*: no host has such a capture$"):
        look(pool, "none*")
    names = tmp_path / "list"
    names.write_text(f"{HERE}/gone.pcap\n")
    assert look(pool, list_file=names).failures == [
        Failure(f"{HERE}/gone.pcap", "no host has such a capture")
    ]


def test_a_worker_that_dies_costs_the_task_that_killed_it(hosts: Hosts, pool: Pool) -> None:
    tasks = [Task(pow, (2, 2), "web-1")] * 6 + [Task(worker_tasks.die, (), "web-2")]
    done = []
    for one in pool.run([*tasks, Task(pow, (3, 2), "web-2")]):
        done.append(one)
        if hosts.processes["web-2"].poll() is not None:
            hosts.start("web-2")
    assert [one.result for one in done].count(4) == 6
    assert [one.error for one in done if one.task.function is worker_tasks.die] == [
        "the worker died twice"
    ]


def test_a_frozen_host_does_not_stop_the_others(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold the run of every night for ever."""
    monkeypatch.setattr(pools, "DEADLINE_S", 2.0)
    monkeypatch.setattr(pools, "NO_WORKER_S", 2.0)
    with workers.connected(hosts.scheduler) as pool:
        assert sorted(pool.hosts) == sorted(HOSTS)
        os.kill(hosts.processes["web-2"].pid, signal.SIGSTOP)
        begun_s = time.monotonic()
        done = list(pool.run(Task(pow, (2, 2), host) for host in [*HOSTS, *HOSTS]))
        assert time.monotonic() - begun_s < PATIENCE_S
        assert [one.result for one in done if one.task.host == "web-1"] == [4, 4]
        assert {one.error for one in done if one.task.host == "web-2"} == {
            "no worker on web-2 answers"
        }
        assert pool.notes == ["web-2 does not answer: given up, its tasks went elsewhere"]
        told = scanning.coverage(pool)
    assert told == Coverage(tuple(told.expected), ("web-1",), ("web-2",), ())


def test_a_host_that_is_frozen_from_the_beginning_is_silent(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster, "ASK_S", 2.0)
    names = tmp_path / "hosts"
    names.write_text("# racks 1 and 2\nweb-1\nweb-2\nweb-3\n")
    os.kill(hosts.processes["web-2"].pid, signal.SIGSTOP)
    with workers.connected(hosts.scheduler) as pool:
        assert pool.hosts == ("web-1",)
        assert pool.silent == ["127.0.0.2"]
        assert [one.result for one in pool.run([Task(pow, (2, 2))] * 3)] == [4] * 3
        told = scanning.coverage(pool, inputs.listed(str(names))).sentence
    assert told == "1 of 3 hosts seen; silent: web-2, web-3"


def test_who_is_no_scheduler_and_who_has_another_version_is_one_line(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    with (
        pytest.raises(ClusterError, match=r"^no scheduler at tcp://127.0.0.1:1$"),
        workers.connected("tcp://127.0.0.1:1"),
    ):
        pass
    monkeypatch.setattr(_core, "VERSION", "0.0.1")
    with (
        pytest.raises(ClusterError, match=r"has nagle-scan [0-9.]+, this is 0.0.1$"),
        workers.connected(hosts.scheduler),
    ):
        pass
