"""A cluster with TLS, as docs/fleet.md sets it up: with its commands and its settings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import pytest
import shown
from conftest import CAPTURES, COMMAND, ROOT, Run

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


def started(opened: ExitStack, env: dict[str, str], *words: str) -> str:
    """Starts a part of the cluster, and waits for its address."""
    process = opened.enter_context(
        subprocess.Popen([DASK, *words], env=env, stderr=subprocess.PIPE, text=True)
    )
    opened.callback(process.terminate)
    assert process.stderr
    for line in process.stderr:
        if found := re.search(r"(?:Scheduler|worker) at: +(\S+)", line):
            return found[1]
    raise AssertionError(f"{words[0]} did not start")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of the scheduler, and the environment of those that belong to it."""
    folder = tmp_path_factory.mktemp("tls")
    env = certificates(folder / "own")
    with ExitStack() as opened:
        loopback = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", ":0"]
        scheduler = started(opened, env, "scheduler", "--port", "0", *loopback)
        address = scheduler.removeprefix("tls://")
        for number in range(2):
            place = ["--local-directory", str(folder / f"worker-{number}")]
            started(opened, env, "worker", address, "--no-nanny", "--nthreads", "1", *place)
        yield scheduler, env


def test_it_finds_what_this_machine_finds(
    made: tuple[str, dict[str, str]], run: Run, tmp_path: Path
) -> None:
    scheduler, env = made
    assert scheduler.startswith("tls://")
    far = run("fleet", STALLS, "-o", tmp_path / "far", "--scheduler", scheduler, env=env)
    assert (far.returncode, far.stderr) == (1, b"")
    near = run("fleet", STALLS, "-o", tmp_path / "near", "--workers", "1")
    assert near.returncode == 1
    one, other = (pd.read_parquet(tmp_path / place / "stalls") for place in ("far", "near"))
    assert len(one) == 29
    pd.testing.assert_frame_equal(one, other)


def test_who_has_a_certificate_of_somebody_else_is_not_let_in(
    made: tuple[str, dict[str, str]], run: Run, tmp_path: Path
) -> None:
    scheduler, _ = made
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
