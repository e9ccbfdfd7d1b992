"""Who reaches a cluster: one with TLS, set up with the commands and settings of docs/fleet.md, and
the workers that a run starts on this machine."""

from __future__ import annotations

import http.client
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import dask.distributed
import pandas as pd
import psutil  # type: ignore[import-untyped]
import pytest
import shown
from conftest import CAPTURES, COMMAND, ROOT, Run
from nagle_scan.fleet import cluster

PAGE = (ROOT / "docs" / "fleet.md").read_text()
SETTINGS = (ROOT / "docs" / "ssh" / "dask.yaml").read_text()
DASK = COMMAND.with_name("dask")
STALLS = CAPTURES / "jdk-httpserver.pcap"


def certificates(folder: Path) -> dict[str, str]:
    """Makes them in `folder`; the environment that names them to Dask."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    folder.mkdir()
    block = next(block for block in shown.blocks(PAGE) if "openssl req" in block.text)
    subprocess.run(["sh", "-e", "-c", block.text], cwd=folder, check=True, capture_output=True)
    settings = folder / "dask.yaml"
    settings.write_text(SETTINGS.replace("/etc/nagle-scan", str(folder)))
    return {**os.environ, "DASK_CONFIG": str(settings)}


class Part(NamedTuple):
    """A scheduler, or workers."""

    address: str
    process: psutil.Process


class Made(NamedTuple):
    """A cluster, and the environment of those that belong to it."""

    scheduler: Part
    workers: Part
    env: dict[str, str]


def started(opened: ExitStack, env: dict[str, str], *words: str | Path) -> Part:
    """Starts a part of the cluster, and waits for its address."""
    process = opened.enter_context(
        subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True)
    )
    opened.callback(process.terminate)
    assert process.stderr
    for line in process.stderr:
        if found := re.search(r"(?:Scheduler|worker) at: +(\S+)", line):
            return Part(found[1], psutil.Process(process.pid))
    raise AssertionError(f"{words} did not start")


def shown_words(part: str, replaced: dict[str, str]) -> list[str]:
    """The words behind `dask` in the command of the page that starts a part of the cluster."""
    every = (line for block in shown.blocks(PAGE) for line in shown.commands(block))
    line = next(line for line in every if line.startswith(f"dask {part} "))
    for before, after in replaced.items():
        assert before in line
        line = line.replace(before, after)
    return shlex.split(line)[1:]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """What the page starts, with two workers, and on ports that are free."""
    folder = tmp_path_factory.mktemp("tls")
    env = certificates(folder / "own")
    with ExitStack() as opened:
        words = shown_words("scheduler", {"8786": "0", "8787": "0"})
        scheduler = started(opened, env, DASK, *words, "--host", "127.0.0.1")
        address = scheduler.address.removeprefix("tls://")
        words = shown_words(
            "worker", {"head.example:8786": address, "--nworkers 4": "--nworkers 2"}
        )
        workers = started(opened, env, DASK, *words, "--local-directory", str(folder))
        yield Made(scheduler, workers, env)


def test_it_finds_what_this_machine_finds(made: Made, run: Run, tmp_path: Path) -> None:
    scheduler, env = made.scheduler.address, made.env
    assert scheduler.startswith("tls://")
    far = run("fleet", STALLS, "-o", tmp_path / "far", "--scheduler", scheduler, env=env)
    assert (far.returncode, far.stderr) == (1, b"")
    near = run("fleet", STALLS, "-o", tmp_path / "near", "--workers", "1")
    assert near.returncode == 1
    one, other = (pd.read_parquet(tmp_path / place / "stalls") for place in ("far", "near"))
    assert len(one) == 29
    pd.testing.assert_frame_equal(one, other)


def test_who_has_a_certificate_of_somebody_else_is_not_let_in(
    made: Made, run: Run, tmp_path: Path
) -> None:
    scheduler = made.scheduler.address
    other = certificates(tmp_path / "other")
    done = run("fleet", STALLS, "-o", tmp_path / "fleet", "--scheduler", scheduler, env=other)
    assert done.returncode == 2
    assert done.stderr.decode() == f"nagle-scan: no scheduler at {scheduler}\n"
    assert not (tmp_path / "fleet").exists()


def test_without_settings_it_says_what_is_missing(run: Run, tmp_path: Path) -> None:
    nothing = {"DASK_CONFIG": str(tmp_path / "nothing")}
    address = "tls://127.0.0.1:1"
    done = run("fleet", STALLS, "-o", tmp_path / "fleet", "--scheduler", address, env=nothing)
    assert done.returncode == 2
    told = f"nagle-scan: {address}: no certificate for it in the settings of Dask (DASK_CONFIG)\n"
    assert done.stderr.decode() == told
    assert not (tmp_path / "fleet").exists()


def reached(process: psutil.Process) -> set[int]:
    """The ports at which other hosts reach a process, and those that it has started."""
    return {
        socket.laddr.port
        for one in (process, *process.children(recursive=True))
        for socket in one.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN and socket.laddr.ip not in ("127.0.0.1", "::1")
    }


def answers_http(port: int) -> bool:
    """Without TLS."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def test_other_hosts_reach_a_worker_only_with_tls(made: Made) -> None:
    ports = reached(made.workers.process)
    assert ports
    assert [port for port in ports if answers_http(port)] == []


def test_other_hosts_reach_the_pages_of_a_scheduler_not_at_all(made: Made) -> None:
    assert [port for port in reached(made.scheduler.process) if answers_http(port)] == []


class AskedError(Exception):
    """Stands for a cluster over SSH."""


def over_ssh(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What docs/ssh/cluster.py asks `SSHCluster` for."""

    def ask(hosts: list[str], **options: dict[str, Any]) -> None:
        raise AskedError(hosts, options)

    monkeypatch.setattr(dask.distributed, "SSHCluster", ask)
    monkeypatch.setattr(sys, "argv", ["cluster.py", "head", "web-1"])
    with pytest.raises(AskedError) as asked:
        runpy.run_path(str(ROOT / "docs" / "ssh" / "cluster.py"), run_name="__main__")
    hosts, options = asked.value.args
    assert hosts == ["head", "web-1"]
    return dict(options)


def test_other_hosts_reach_what_ssh_starts_only_with_tls(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is started as `SSHCluster` does, but for the SSH."""
    options = over_ssh(monkeypatch)
    spec = [sys.executable, "-m", "distributed.cli.dask_spec"]
    head = {"cls": "distributed.Scheduler", "opts": {"port": 0, **options["scheduler_options"]}}
    place = {"local_directory": str(tmp_path)}
    worker = {"cls": "distributed.Nanny", "opts": {**options["worker_options"], **place}}
    with ExitStack() as opened:
        address = made.scheduler.address
        for words in (["--spec", json.dumps(head)], [address, "--spec", json.dumps({0: worker})]):
            part = started(opened, made.env, *spec, *words)
            ports = reached(part.process)
            assert ports
            assert [port for port in ports if answers_http(port)] == []


def test_no_worker_pauses_for_ever_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    words = shown_words("worker", {})
    assert words[words.index("--memory-limit") + 1] == "0"
    assert over_ssh(monkeypatch)["worker_options"]["memory_limit"] == 0


def test_other_hosts_do_not_reach_the_workers_of_this_machine() -> None:
    """They have no TLS: whoever reaches one runs programs as its user."""
    with cluster.connected(None, 1) as own:
        assert own.processes
        assert [reached(psutil.Process(process)) for process in own.processes.ids] == [set()]
