"""Who reaches a cluster with TLS, set up with the commands and settings of docs/fleet.md."""

from __future__ import annotations

import http.client
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import dask
import psutil  # type: ignore[import-untyped]
import pytest
import shown
import yaml
from conftest import COMMAND, ROOT
from nagle_scan.fleet import cluster, workers
from nagle_scan.fleet.workers import ClusterError, Task

PAGE = (ROOT / "docs" / "fleet.md").read_text()
SETTINGS = (ROOT / "docs" / "dask.yaml").read_text()
DASK = COMMAND.with_name("dask")
EMPTY: dict[str, Any] = {"distributed": {"comm": {}}}


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


def connect(scheduler: str, settings: str | None) -> list[int]:
    """What a run finds, with these settings of Dask."""
    found = yaml.safe_load(Path(settings).read_text()) if settings else EMPTY
    comm = dask.config.merge(dask.config.get("distributed.comm"), found["distributed"]["comm"])
    with dask.config.set({"distributed.comm": comm}), workers.connected(scheduler) as pool:
        return [done.result for done in pool.run([Task(pow, (2, 3))])]


def test_only_who_has_a_certificate_of_the_cluster_is_let_in(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 2)
    scheduler = made.scheduler.address
    assert scheduler.startswith("tls://")
    assert connect(scheduler, made.env["DASK_CONFIG"]) == [8]
    other = certificates(tmp_path / "other")["DASK_CONFIG"]
    with pytest.raises(ClusterError, match=f"^no scheduler at {scheduler}$"):
        connect(scheduler, other)
    told = f"{scheduler}: no certificate for it in the settings of Dask (DASK_CONFIG)"
    with pytest.raises(ClusterError, match=f"^{re.escape(told)}$"):
        connect(scheduler, None)


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


def test_other_hosts_reach_nothing_without_tls(made: Made) -> None:
    """Whoever does runs programs as its user."""
    for part in (made.scheduler, made.workers):
        ports = reached(part.process)
        assert [port for port in ports if answers_http(port)] == []
    assert ports
