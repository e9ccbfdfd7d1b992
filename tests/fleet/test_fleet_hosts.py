"""With `--on-hosts` each host reads its own files, and none is left out without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import nagle_scan
import pytest
from conftest import CAPTURES
from distributed import Client
from nagle_scan import CaptureError, _core
from nagle_scan.fleet import finding, run
from nagle_scan.fleet.cluster import Cluster
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.work import Settings

HOSTS = {"web-1": "127.0.0.1", "web-2": "127.0.0.2"}
HERE = "/proc/self/cwd"
"""One name, which leads each worker into a folder of its own."""
SETTINGS = Settings(_core.VERSION, None, 10.0)
CAPTURE = (CAPTURES / "java-split.pcap").read_bytes()
OTHER = (CAPTURES / "epoll-fd0.pcap").read_bytes()
PACKAGE = Path(nagle_scan.__file__).parents[1]
PATIENCE_S = 60
GROWS = '''
from nagle_scan.fleet import identity

local = identity._local

def grown(path):
    """A frame comes after each look."""
    told = local(path)
    if "live" in path:
        with open(path, "rb+") as file:
            frame = file.read()[24:]
            file.write(frame[: 16 + int.from_bytes(frame[8:12], "little")])
    return told

def dask_setup(worker):
    identity._local = grown
'''


class Hosts(NamedTuple):
    """A cluster of two, and the folder that each sees as `HERE`."""

    client: Client
    folders: dict[str, Path]

    def put(self, host: str, name: str, content: bytes) -> None:
        path = self.folders[host] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def loop(self, host: str, name: str) -> None:
        """It is there, but nobody can read it, not even root."""
        (self.folders[host] / name).symlink_to(name)

    def ran(self, output: Path, *named: str, list_file: Path | None = None) -> run.Outcome:
        names = [f"{HERE}/{name}" for name in named]
        listed = None if list_file is None else str(list_file)
        asked = run.Asked(names, listed, str(output), SETTINGS, on_hosts=True)
        return run.run(asked, lambda _: None, client=self.client)

    def found(self, *named: str) -> finding.Found:
        return finding.on_hosts([f"{HERE}/{name}" for name in named], None, Cluster(self.client))


@pytest.fixture(scope="module")
def cluster_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    top = tmp_path_factory.mktemp("hosts")
    (top / "grows.py").write_text(GROWS)
    known = top / "scheduler.json"
    folders = {host: top / host for host in HOSTS}
    with ExitStack() as stack:
        words = ["--host", "127.0.0.1", "--port", "0"]
        begin(stack, "scheduler", known, top, *words)
        for host, address in HOSTS.items():
            folders[host].mkdir()
            words = ["--no-nanny", "--nthreads", "1", "--local-directory", str(top)]
            words += ["--preload", str(top / "grows.py"), "--host", address]
            begin(stack, "worker", known, folders[host], *words, NAGLE_SCAN_HOST=host)
        give_up = time.monotonic() + PATIENCE_S
        while not (known.exists() and known.read_text().endswith("}")):
            assert time.monotonic() < give_up
            time.sleep(0.01)
        address = json.loads(known.read_text())["address"]
        client = stack.enter_context(Client(address, set_as_default=False))
        client.wait_for_workers(len(HOSTS), timeout=PATIENCE_S)
        yield Hosts(client, folders)


def begin(
    stack: ExitStack, part: str, known: Path, folder: Path, *words: str, **environment: str
) -> None:
    """Starts a part of the cluster, which ends with the stack."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", f"distributed.cli.dask_{part}", "--no-dashboard"),
            *("--scheduler-file", str(known), *words),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(process.wait)
    stack.callback(process.kill)


@pytest.fixture
def hosts(cluster_of_two: Hosts) -> Iterator[Hosts]:
    """Each with an empty folder."""
    yield cluster_of_two
    for folder in cluster_of_two.folders.values():
        subprocess.run(["find", folder, "-mindepth", "1", "-delete"], check=True)


def test_on_hosts_each_reads_its_own(hosts: Hosts, tmp_path: Path) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    hosts.put("web-2", "a.pcap", OTHER)
    assert hosts.ran(tmp_path / "fleet", "a.pcap").failures == []
    captures = Fleet(tmp_path / "fleet").captures
    assert captures.sort_values("host")[["host", "path", "size"]].to_numpy().tolist() == [
        ["web-1", f"{HERE}/a.pcap", len(CAPTURE)],
        ["web-2", f"{HERE}/a.pcap", len(OTHER)],
    ]


def test_a_host_that_has_nothing_of_a_name_needs_not(hosts: Hosts, tmp_path: Path) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    hosts.put("web-1", "ring/b.pcap", OTHER)
    (hosts.folders["web-2"] / "ring").mkdir()
    outcome = hosts.ran(tmp_path / "fleet", "a.pcap", "*.pcap", "ring")
    assert (outcome.tally.done, outcome.failures) == (2, [])


def test_what_only_one_host_cannot_read_is_its_failure(hosts: Hosts, tmp_path: Path) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    hosts.loop("web-2", "a.pcap")
    outcome = hosts.ran(tmp_path / "fleet", "a.pcap")
    assert outcome.tally.done == 1
    (failure,) = outcome.failures
    assert failure.path == f"web-2:{HERE}/a.pcap"
    assert failure.reason == "cannot read: too many levels of symbolic links"
    assert Fleet(tmp_path / "fleet").failures["path"].to_list() == [failure.path]


def test_a_name_that_no_host_can_read_ends_the_run(hosts: Hosts, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=rf"^web-[12]:{HERE}/none\*: no file matches$"):
        hosts.ran(tmp_path / "fleet", "none*")
    hosts.loop("web-2", "a.pcap")
    why = "cannot read: too many levels of symbolic links"
    with pytest.raises(CaptureError, match=rf"^web-2:{HERE}/a.pcap: {why}$"):
        hosts.ran(tmp_path / "fleet", "a.pcap")
    assert not (tmp_path / "fleet").exists()


def test_a_listed_file_that_vanished_does_not_cost_the_others(hosts: Hosts, tmp_path: Path) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    names = tmp_path / "list"
    names.write_text(f"{HERE}/a.pcap\n{HERE}/gone.pcap\n")
    outcome = hosts.ran(tmp_path / "fleet", list_file=names)
    assert outcome.tally.done == 1
    (failure,) = outcome.failures
    assert failure[:3] == (f"{HERE}/gone.pcap", "", "no such file or directory")
    hosts.put("web-2", "gone.pcap", OTHER)
    assert hosts.ran(tmp_path / "fleet", list_file=names).failures == []
    assert len(Fleet(tmp_path / "fleet").failures) == 0, "it is there now"


def test_a_listed_file_that_one_host_cannot_read_is_its_failure(
    hosts: Hosts, tmp_path: Path
) -> None:
    hosts.put("web-1", "a.pcap", CAPTURE)
    hosts.loop("web-2", "a.pcap")
    names = tmp_path / "list"
    names.write_text(f"{HERE}/a.pcap\n")
    outcome = hosts.ran(tmp_path / "fleet", "a.pcap", list_file=names)
    assert outcome.tally.done == 1
    assert [failure.path for failure in outcome.failures] == [f"web-2:{HERE}/a.pcap"]


def test_a_growing_file_with_several_names_counts_once(hosts: Hosts, tmp_path: Path) -> None:
    hosts.put("web-1", "live.pcap", CAPTURE)
    (hosts.folders["web-1"] / "live-link.pcap").symlink_to("live.pcap")
    (before,) = hosts.found("live.pcap").captures
    (now,) = hosts.found("live.pcap").captures
    assert now.size > before.size
    outcome = hosts.ran(tmp_path / "fleet", "", "live.pcap", "*.pcap")
    assert (outcome.tally.done, outcome.failures) == (1, [])
    assert len(Fleet(tmp_path / "fleet").captures) == 1
