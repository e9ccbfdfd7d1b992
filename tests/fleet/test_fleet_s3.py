"""A fleet in an object store: a real S3 API on this machine, and two runs that meet there."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import fsspec
import nagle_scan
import pytest
from conftest import CAPTURES, Run
from fleet_rows import PLAIN
from nagle_scan.errors import OutputError
from nagle_scan.fleet import writer

BUCKET = "captures"
FLEET = f"s3://{BUCKET}/results/fleet"


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    environment = {
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    environment |= dict.fromkeys(names, "test")
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(url, timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            fsspec.get_filesystem_class("s3").clear_instance_cache()
            fsspec.filesystem("s3").mkdir(BUCKET)
            yield environment
    finally:
        server.kill()
        server.wait()


def test_captures_and_results_stay_in_the_store(store: dict[str, str], run: Run) -> None:
    files = fsspec.filesystem("s3")
    for name in ("java-split.pcap", "epoll-fixed.pcap"):
        files.put(str(CAPTURES / name), f"{BUCKET}/today/{name}")
    call = ("fleet", f"s3://{BUCKET}/today/", "-o", FLEET, "--workers", "1")
    done = run(*call, env=store)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode() == (
        f"2 new captures: 1 with stalls, 1 clean\nwrote {FLEET}/index.html, and the tables "
        "beside it\n"
    )
    again = run(*call, "-q", env=store)
    assert again.stdout == b"0 new captures (2 files known): nothing to do\n"
    files.invalidate_cache()
    assert files.cat(f"{FLEET}/index.html").startswith(b"<!DOCTYPE html>")
    found = nagle_scan.Fleet(FLEET)
    alone = nagle_scan.scan(CAPTURES / "java-split.pcap").stalls
    assert found.stalls["wait_ms"].sum() == pytest.approx(alone["wait_ms"].sum())
    row = found.stalls.iloc[0]
    place = f"{row['set'][:12]}/{row['connection']}"
    report = run("fleet", "-o", FLEET, "--report", place, env=store)
    assert (report.returncode, report.stderr) == (0, b"")
    files.invalidate_cache()
    assert files.cat(f"{FLEET}/reports/{place.replace('/', '-')}.html").startswith(b"<!DOCTYPE")


def test_of_two_runs_one_stops_and_the_other_is_whole(store: dict[str, str]) -> None:
    del store
    path = f"{FLEET}-two"
    with writer.writing(path, PLAIN) as first:
        with (
            pytest.raises(OutputError, match=r"another run writes into it, last at .* UTC$"),
            writer.writing(path, PLAIN),
        ):
            pass
        late = writer.Writer(path)
        late.table("captures")
        first.beat()
        with pytest.raises(OutputError, match=r"another run writes into it$"):
            late.beat()
        first.end(None)
    with writer.writing(path, PLAIN) as again:
        again.end(None)


def test_a_bucket_that_is_not_there_is_one_line(store: dict[str, str], run: Run) -> None:
    done = run("fleet", CAPTURES / "java-split.pcap", "-o", "s3://nowhere/fleet", env=store)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"nagle-scan: s3://nowhere/fleet: no such bucket\n"
