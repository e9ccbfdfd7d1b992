"""A fleet in an object store: a real S3 API on this machine, which loses answers on the way."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, NamedTuple

import fsspec
import nagle_scan
import proxy
import pytest
from conftest import CAPTURES, Run
from fleets import ALL, FIXED, OTHER, SPLIT, made, opened, rows_of
from nagle_scan.errors import NagleScanError
from proxy import WISH

BUCKET = "captures"
MOTO = """
import time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
time.sleep(10_000)
"""
FLEET = f"s3://{BUCKET}/results/fleet"


class Store(NamedTuple):
    """An object store behind a proxy, and the environment of who uses it."""

    url: str
    environment: dict[str, str]

    def spoil(self, method: str, number: int, how: str = "-") -> int:
        """The answer to this request is lost; how many there were since the last call."""
        with urllib.request.urlopen(f"{self.url}{WISH}{method}/{number}/{how}") as answer:
            return int(answer.read())


def port_of(server: subprocess.Popen[str]) -> int:
    assert server.stdout
    return int(server.stdout.readline())


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """In processes of their own."""
    quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with (
        subprocess.Popen([sys.executable, "-c", MOTO], **quiet) as moto,
        subprocess.Popen([sys.executable, proxy.__file__, str(port_of(moto))], **quiet) as before,
        pytest.MonkeyPatch.context() as patch,
    ):
        url = f"http://127.0.0.1:{port_of(before)}"
        environment = {
            "AWS_ENDPOINT_URL": url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        fsspec.filesystem("s3").mkdir(BUCKET)
        yield Store(url, environment)
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        for server in (moto, before):
            server.kill()


def test_captures_and_results_stay_in_the_store(store: Store, run: Run) -> None:
    files, env = fsspec.filesystem("s3"), store.environment
    for name in (SPLIT, FIXED):
        files.put(str(CAPTURES / name), f"{BUCKET}/today/{name}")
    call = ("fleet", f"s3://{BUCKET}/today/", "-o", FLEET, "--workers", "1")
    done = run(*call, env=env)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode().splitlines()[-1] == (
        f"wrote {FLEET}/index.html, and the tables beside it"
    )
    again = run(*call, "-q", env=env)
    assert again.stdout == b"0 new captures (2 files known): nothing to do\n"
    files.invalidate_cache()
    assert files.cat(f"{FLEET}/index.html").startswith(b"<!DOCTYPE html>")
    row = nagle_scan.Fleet(FLEET).stalls.iloc[0]
    place = f"{row['set'][:12]}/{row['connection']}"
    report = run("fleet", "-o", FLEET, "--report", place, env=env)
    assert (report.returncode, report.stderr) == (0, b"")
    files.pipe(f"{BUCKET}/today/{SPLIT}", (CAPTURES / ALL[1]).read_bytes())
    assert run(*call, "-q", env=env).stdout.startswith(b"1 new capture (1 file known): 1 with")
    before = rows_of(FLEET)
    files.pipe(next(one for one in files.find(FLEET) if "/stalls/" in one), b"cut")
    assert run("fleet", "-o", FLEET, "--check", env=env).returncode == 2
    # One of the captures that lost rows has gone from the store.
    assert run(*call, env=env).returncode in (0, 1)
    assert set(rows_of(FLEET)["stalls"]) <= set(before["stalls"])
    assert run("fleet", "-o", FLEET, "--check", env=env).returncode == 0


@pytest.mark.parametrize("how", ["drops", "errs"])
def test_an_answer_lost_at_any_request_loses_no_row(
    how: str, store: Store, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without an answer is sent again: it has the same name and content."""
    monkeypatch.setattr("nagle_scan.fleet.folder.time.sleep", lambda _: None)
    names = (SPLIT, FIXED)
    whole = rows_of(made(tmp_path / "whole", [names]))
    for number in count(1):
        fleet = f"{FLEET}-{how}-{number}"
        store.spoil(os.environ.get("NAGLE_SCAN_SPOILED", "PUT"), number, how)
        with contextlib.suppress(NagleScanError):
            made(fleet, [names])
        if store.spoil("NONE", 0) < number:
            break
        known = {row["path"] for row in opened(fleet).rows("SELECT path FROM captures")}
        made(fleet, [[name for name in names if str(CAPTURES / name) not in known]])
        assert rows_of(fleet) == whole, f"request {number}"
    assert number > 6


@pytest.mark.usefixtures("store")
def test_many_hosts_write_into_one_bucket_at_once(tmp_path: Any) -> None:
    fleet = f"{FLEET}-many"
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda name: made(fleet, [[name]]), [*ALL, *ALL]))
    assert rows_of(fleet) == rows_of(made(tmp_path / "whole"))


def test_a_store_that_cannot_answer_loses_nothing(store: Store, run: Run, tmp_path: Any) -> None:
    """Status 2 and one line; and nothing is put aside."""
    fleet = f"{FLEET}-busy"
    made(fleet, [[SPLIT], [FIXED]])
    files = fsspec.filesystem("s3")
    files.invalidate_cache()
    there = files.find(fleet)
    env = {**store.environment, "XDG_CACHE_HOME": str(tmp_path)}
    call = ("fleet", CAPTURES / OTHER, "-o", fleet, "--workers", "1", "--exit-zero")
    for number in (1, 2, 4):
        store.spoil("GET", number, "busy")
        done = run(*call, env=env)
        store.spoil("NONE", 0)
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr
        # The client's library has no words for every answer of 503.
        assert b"cannot " in done.stderr
        files.invalidate_cache()
        assert set(there) <= set(files.find(fleet))
    assert run(*call, env=env).returncode == 0
    assert len(nagle_scan.Fleet(fleet).captures) == 3


def test_a_bucket_that_is_not_there_is_one_line(store: Store, run: Run) -> None:
    done = run("fleet", CAPTURES / SPLIT, "-o", "s3://nowhere/fleet", env=store.environment)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"nagle-scan: s3://nowhere/fleet: cannot ")
    assert done.stderr.count(b"\n") == 1
