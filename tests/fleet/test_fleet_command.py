"""`nagle-scan fleet` and `scan_fleet`: what a user calls, and what a wrong call says."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fleets
import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, Run
from nagle_scan.command import fleet as command
from nagle_scan.fleet import cluster, sets
from nagle_scan.fleet.cluster import Cluster
from nagle_scan.fleet.run import Outcome
from nagle_scan.fleet.tally import Tally
from nagle_scan.fleet.task import Scanned
from nagle_scan.fleet.work import Failure, Settings

KEY = bytes(range(32))
SECRETS = (KEY.hex(), "payroll", "10.1.2.3")
ALONE = ("--workers", "1")
"""To start a worker takes seconds of CPU."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Cluster]:
    with cluster.connected(None, 2) as workers:
        yield workers


@pytest.fixture(scope="module")
def made(workers: Cluster, tmp_path_factory: pytest.TempPathFactory) -> nagle_scan.Fleet:
    folder = tmp_path_factory.mktemp("made") / "fleet"
    paths = [CAPTURES / "labelled", *sorted(CAPTURES.glob("*.pcap"))]
    return nagle_scan.scan_fleet(paths, folder, client=workers.client)


def test_each_capture_gives_what_a_scan_of_it_alone_gives(made: nagle_scan.Fleet) -> None:
    captures = made.captures
    assert len(captures) > 1000
    assert len(made.failures) == 0
    sets = captures.groupby("set", sort=True)["path"].apply(list)
    for set_id, paths in sets.iloc[::25].items():
        alone = nagle_scan.scan(sorted(paths))
        assert (captures[captures["set"] == set_id]["verdict"] == alone.verdict).all()
        for name in ("stalls", "waits", "servers"):
            assert_same(getattr(made, name), set_id, getattr(alone, name))
        assert_same(made.connections, set_id, alone.connections.reset_index())


def assert_same(table: Any, set_id: object, alone: pd.DataFrame) -> None:
    """With the columns of the scan, in its order, with its values."""
    rows = table[table["set"] == set_id].reset_index(drop=True)[list(alone.columns)]
    categories = alone.select_dtypes("category").columns
    expected = alone.astype(dict.fromkeys(categories, "object")).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)


def test_a_client_that_is_given_stays_open(workers: Cluster, made: nagle_scan.Fleet) -> None:
    del made
    assert workers.client.status == "running"
    assert workers.client.submit(len, "ab").result() == 2


def test_the_next_run_does_only_what_is_new(
    workers: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    for name in ("epoll-fd0.pcap", "java-split.pcap"):
        (folder / name).write_bytes((CAPTURES / name).read_bytes())
    first = nagle_scan.scan_fleet(folder, tmp_path / "fleet", client=workers.client)
    (folder / "new.pcap").write_bytes((CAPTURES / "jdk-httpserver.pcap").read_bytes())
    second = nagle_scan.scan_fleet(folder, tmp_path / "fleet", client=workers.client)
    assert capsys.readouterr() == ("", "")
    assert second.captures.groupby("run").size().to_dict() == {1: 2, 2: 1}
    assert (tmp_path / "fleet/index.html").read_text().startswith("<!DOCTYPE html>")
    assert len(first.captures) == 3


def test_the_command_says_what_it_did(run: Run, tmp_path: Path) -> None:
    done = run("fleet", "*split.pcap", "-o", tmp_path / "fleet/", cwd=CAPTURES)
    page = tmp_path / "fleet/index.html"
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode() == (
        f"1 new capture: 1 with stalls\nwrote {page}, and the tables beside it\n"
    )
    again = run("fleet", "*split.pcap", "-o", tmp_path / "fleet/", "-q", cwd=CAPTURES)
    assert (again.returncode, again.stderr) == (0, b"")
    assert again.stdout == b"0 new captures (1 known): nothing to do\n"
    stream = nagle_scan.Fleet(tmp_path / "fleet").stalls[["set", "connection"]].iloc[0]
    place = f"{stream['set'][:12]}/{stream['connection']}"
    report = run("fleet", "-o", tmp_path / "fleet", "--report", place)
    assert (report.returncode, report.stderr) == (0, b"")
    written = Path(report.stdout.decode().removeprefix("wrote ").strip())
    assert written.parent == tmp_path / "fleet/reports"
    assert "java-split" in written.read_text()


README = CAPTURES / "README.md"
BAD = [
    (["none*.pcap"], "none*.pcap: no file matches"),
    (["nowhere.pcap"], "nowhere.pcap: cannot read: no such file or directory"),
    (["xyz://host/a.pcap"], "xyz://host/a.pcap: xyz:// is no known kind of URL"),
    (["."], ": a folder without captures"),
    (["--list", "nowhere.txt"], "nowhere.txt: cannot read: no such file or directory"),
    ([], "no capture given (see nagle-scan fleet --help)"),
    ([CAPTURES, "--scheduler", "foo://127.0.0.1:1"], "no scheduler at foo://127.0.0.1:1"),
    ([CAPTURES, "-f", "tcp prot 80"], "filter"),
    ([CAPTURES, "--anonymize"], "a fleet needs one key for all runs: --key-file or NAGLE_SCAN_KEY"),
    ([CAPTURES, "--on-hosts"], "captures on hosts need the scheduler of these hosts"),
    (
        [CAPTURES, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"],
        "workers of this machine beside a cluster, which has its own",
    ),
    ([CAPTURES, "--scratch", "gone"], "gone: cannot write: no such file or directory"),
    ([CAPTURES, "--scratch", README], f"{README}: cannot write: not a directory"),
    ([CAPTURES, "--split-above", "many"], "expected a size with its unit: 500MB, 8GB or 1TB"),
    (["--report", "x"], "expected SET/STREAM"),
    (["--report", "abcdef/1", "--anonymize"], "it takes only -o and --scheduler"),
    (["--report", "abcdef/1", "-f", "tcp"], "it takes only -o and --scheduler"),
    (["--report", "abcdef/1", CAPTURES], "it takes only -o and --scheduler"),
    (["--report", "abcdef/1", "--list", README], "it takes only -o and --scheduler"),
    (["--report", "abcdef/1"], "cannot read: no such file or directory"),
]


@pytest.mark.parametrize(("words", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_call_that_is_wrong_touches_nothing(
    words: list[str | Path], reason: str, run: Run, tmp_path: Path
) -> None:
    done = run("fleet", *words, "-o", "fleet", cwd=tmp_path, env={"NAGLE_SCAN_KEY": ""})
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith("nagle-scan: ")
    assert done.stderr.count(b"\n") == 1
    assert reason in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


WRONG = {
    "negative": ({"min_wait_ms": -1}, ValueError, "min_wait_ms must be more than 0 .*: -1$"),
    "not a number": ({"min_wait_ms": math.nan}, ValueError, "min_wait_ms must be .*: nan$"),
    "text": ({"min_wait_ms": "10"}, TypeError, "min_wait_ms is a number, not str$"),
    "none": ({"min_wait_ms": None}, TypeError, "min_wait_ms is a number, not NoneType$"),
    "no workers": ({"workers": 0}, ValueError, "workers must be 1 to 1024: 0$"),
    "half a worker": ({"workers": 0.5}, TypeError, "workers is an integer, not float$"),
    "less than none": ({"split_above": -1}, ValueError, "split_above must be 0 or more: -1$"),
    "unknown size": ({"split_above": math.nan}, ValueError, "split_above must be .*: nan$"),
    "size": ({"split_above": "8GB"}, TypeError, "split_above is a number of bytes, not str$"),
    "filter": ({"filter": b"tcp"}, TypeError, r"filter is a BPF expression \(str\), not bytes$"),
    "key": ({"anonymize": "secret"}, TypeError, "anonymize is a key of 32 bytes, not str$"),
    "short key": ({"anonymize": b"secret"}, ValueError, "the key must have 32 bytes, not 6$"),
    "client": ({"client": "tcp://a:1"}, TypeError, "client is a Client of Dask, not str$"),
    "scheduler": ({"scheduler": 8786}, TypeError, "scheduler is the address .*, not int$"),
    "output": ({"output": 5}, TypeError, "output is a folder .*, not int$"),
    "scratch": ({"scratch": b"."}, TypeError, "scratch is a folder .*, not bytes$"),
    "scratch that is gone": ({"scratch": "gone"}, nagle_scan.OutputError, "gone: cannot write"),
    "path": ({"paths": 5}, TypeError, "a capture is a path .*, not int$"),
    "no path": ({"paths": []}, ValueError, "no capture given$"),
    "hosts": ({"on_hosts": True}, ValueError, "on hosts need the scheduler of these hosts$"),
    "both": ({"workers": 2, "scheduler": "tcp://a:1"}, ValueError, "beside a cluster, which has"),
}


@pytest.mark.parametrize(("options", "error", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_value_is_not_written_into_a_fleet(
    options: dict[str, Any],
    error: type[Exception],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=reason):
        nagle_scan.scan_fleet(**{"paths": CAPTURES / "java-split.pcap", **options})
    assert list(tmp_path.iterdir()) == []


def test_a_client_leaves_no_doubt_which_cluster_works(workers: Cluster, tmp_path: Path) -> None:
    path = CAPTURES / "java-split.pcap"
    with pytest.raises(ValueError, match="beside a client"):
        nagle_scan.scan_fleet(path, tmp_path / "a", workers.client, scheduler="tcp://a:1")
    with pytest.raises(ValueError, match="beside a cluster"):
        nagle_scan.scan_fleet(path, tmp_path / "a", workers.client, workers=2)


def test_the_scratch_folder_is_for_large_captures_only(workers: Cluster, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen: list[Path] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tally, "add", lambda *_: seen.extend(scratch.iterdir()))
        for split_above in (8 * 10**9, 0):
            out = tmp_path / f"fleet-{split_above:g}"
            nagle_scan.scan_fleet(
                ring(tmp_path / "ring"), out, workers.client,
                split_above=split_above, scratch=scratch,
            )  # fmt: skip
            assert bool(seen) == (split_above == 0)
    assert list(scratch.iterdir()) == []


def ring(folder: Path) -> Path:
    """A rotation of two files."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(("java-split.pcap", "java-split-nodelay.pcap")):
        (folder / f"ring.pcap{number}").write_bytes((CAPTURES / name).read_bytes())
    return folder


def test_another_error_does_not_pass_for_another_run(
    workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(*_: object) -> None:
        raise BlockingIOError("of something else")

    monkeypatch.setattr(sets, "plan", planned)
    with pytest.raises(BlockingIOError, match="of something else"):
        nagle_scan.scan_fleet(CAPTURES / "java-split.pcap", tmp_path / "fleet", workers.client)


def test_another_error_does_not_pass_for_missing_workers() -> None:
    with pytest.raises(TimeoutError, match="of something else"), cluster.connected(None, 1):
        raise TimeoutError("of something else")


def test_a_rotation_is_one_capture_as_the_page_says(run: Run, tmp_path: Path) -> None:
    folder, out = ring(tmp_path / "captures"), tmp_path / "fleet"
    first, again = (run("fleet", folder, "-o", out, "-q", *ALONE).stdout for _ in range(2))
    assert first == b"1 new capture (2 files): 1 with stalls\n"
    assert again == b"0 new captures (2 files known): nothing to do\n"
    assert "1 capture:" in repr(nagle_scan.Fleet(out))
    (folder / "epoll.pcap").write_bytes((CAPTURES / "epoll-fixed.pcap").read_bytes())
    third = run("fleet", folder, "-o", out, "-q", *ALONE).stdout
    assert third == b"1 new capture (2 files known): 1 clean\n"
    more = ring(tmp_path / "more")
    for path in more.iterdir():
        with path.open("r+b") as file:
            file.seek(24)
            file.write(bytes(2))
    fourth = run("fleet", folder, more, "-o", out, "-q", *ALONE).stdout
    assert fourth == b"1 new capture (2 files; 3 files known): 1 with stalls\n"


def test_an_unreadable_file_of_a_rotation_is_no_capture() -> None:
    one = fleets.job(CAPTURES / "java-split.pcap", CAPTURES / "epoll-fd0.pcap")
    failure = Failure("java-split.pcap", one.id, "damaged", 1)
    line, *_ = command.told(Outcome(Tally([one]), 0, 0, [failure]), "fleet", is_brief=True)
    assert line == "1 new capture (2 files): 1 file unusable"


def test_how_far_it_is_counts_captures_as_its_end_does() -> None:
    jobs = [fleets.job(CAPTURES / "java-split.pcap", CAPTURES / "epoll-fd0.pcap")]
    tally = Tally(jobs)
    assert tally.line(1.0).startswith("0 of 1 capture (2 files), 0 B of ")
    tally.add(Scanned(jobs[0], None))
    assert tally.line(1.0).startswith("1 of 1 capture (2 files), ")
    assert tally.line(1.0).endswith(", 0 s left")
    assert Tally([fleets.job(CAPTURES / "java-split.pcap")]).how_far(0) == "0 of 1 capture"


@pytest.mark.parametrize(
    ("names", "status"),
    [(["epoll-fd0.pcap"], 0), (["epoll-fd0.pcap", "README.md"], 2)],
)
def test_exit_zero_does_not_hide_an_unreadable_capture(
    names: list[str], status: int, run: Run, tmp_path: Path
) -> None:
    done = run("fleet", *names, "-o", tmp_path / "fleet", "--exit-zero", *ALONE, cwd=CAPTURES)
    assert done.returncode == status


@pytest.mark.parametrize(
    ("name", "other", "is_told"),
    [
        ("python", f"{sys.version_info[0]}.0.1.final.0", True),
        ("python", f"{sys.version_info[0]}.{sys.version_info[1]}.99.final.0", False),
        ("distributed", "2020.1.0", True),
        ("numpy", "0.1.0", False),
    ],
)
def test_workers_with_other_packages_are_told_as_what_may_fail(
    name: str,
    other: str,
    is_told: bool,
    workers: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: Any = workers.client.get_versions()
    for worker in told["workers"].values():
        worker["packages"][name] = other
    monkeypatch.setattr(workers.client, "get_versions", lambda: told)
    path = CAPTURES / "epoll-fixed.pcap"
    nagle_scan.scan_fleet(path, tmp_path / "fleet", workers.client, progress=True)
    worker = next(iter(told["workers"]))
    expected = f"nagle-scan: {worker} has {name} {other}, here is "
    errors = capsys.readouterr().err
    assert errors.startswith(expected) == is_told, errors
    assert errors.count("\n") == is_told


def test_a_folder_that_holds_something_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = run("fleet", CAPTURES, "-o", tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"nagle-scan: {tmp_path}: a folder with other files: name a new one\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("package", ["dask", "distributed", "pyarrow"])
def test_without_the_extra_one_line_tells_what_to_install(package: str, tmp_path: Path) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from nagle_scan.command import cli; "
    script += f"sys.exit(cli.main(['fleet', {str(CAPTURES)!r}, '-o', 'fleet']))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr == (
        f"nagle-scan: fleets need {package}, which is not there: pip install 'nagle-scan[fleet]'\n"
    )
    script = f"import sys; sys.modules[{package!r}] = None; import nagle_scan\n"
    script += "try:\n    nagle_scan.scan_fleet('.')\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("pip install 'nagle-scan[fleet]'\n")


def test_a_capture_that_is_called_fleet(run: Run, tmp_path: Path) -> None:
    (tmp_path / "fleet").write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    done = run("./fleet", "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, b"")


def test_no_key_and_no_name_leaves_with_the_results(run: Run, tmp_path: Path) -> None:
    capture = tmp_path / "payroll-10.1.2.3.pcap"
    capture.write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    (tmp_path / "payroll-10.1.2.3-broken.pcap").write_bytes(b"no capture")
    for _ in range(2):
        done = run(
            "fleet", tmp_path / "*.pcap", "-o", tmp_path / "out", "--anonymize",
            env={"NAGLE_SCAN_KEY": KEY.hex()},
        )  # fmt: skip
    assert b"(1 known)" in done.stdout, "its name is known although it is hidden"
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) > 8
    for path in written:
        content = path.read_bytes()
        assert not [secret for secret in SECRETS if secret.encode() in content], path
        assert KEY not in content
    fleet = nagle_scan.Fleet(tmp_path / "out")
    texts = "".join(
        repr(table.to_dict("records"))
        for table in (fleet.captures, fleet.failures, fleet.connections)
    )
    assert not [secret for secret in (*SECRETS, "127.0.0.1") if secret in texts]
    assert set(fleet.captures["path"].str.startswith("capture-")) == {True}


def test_settings_do_not_show_their_key() -> None:
    shown = repr(Settings("1", None, 10.0, KEY))
    assert repr(KEY)[2:20] not in shown
    assert shown == "Settings(version='1', filter=None, min_wait_ms=10.0, key=...)"


def test_the_help_tells_of_it(run: Run) -> None:
    assert b"nagle-scan fleet --help" in run("--help").stdout
    told = run("fleet", "--help").stdout.decode()
    assert all(option in told for option in command.parser()._option_string_actions)
    assert "with --exit-zero" in told.partition("exit status")[2]


def test_a_reason_that_is_a_long_list_is_cut_on_the_terminal() -> None:
    reason = f"link type 220 is not supported (supported: {'Ethernet, ' * 50})"
    outcome = Outcome(Tally([]), 0, 0, [Failure("usb.pcap", "", reason, 1)])
    _, line, _ = command.told(outcome, "fleet", is_brief=False)
    assert line.startswith("  usb.pcap: link type 220 is not supported (supported: Ethernet,")
    assert line.endswith(" ...")
    assert len(line) < 120


DAMAGED = {
    "captures": b"PAR1 and no more",
    "failures.parquet": b"no Parquet at all",
    "runs.parquet": b"",
    "stalls": b"PAR1" + bytes(500),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_dataset_is_one_line(run: Run, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    run("fleet", CAPTURES / "epoll-fd0.pcap", "-o", out, *ALONE)
    files = [out / name] if name.endswith("parquet") else (out / name).glob("day=2*/*.parquet")
    for file in files:
        file.write_bytes(DAMAGED[name])
    done = run("fleet", CAPTURES / "java-split.pcap", "-o", out, *ALONE)
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"nagle-scan: {out}: a damaged dataset: "), line


def test_a_connection_that_is_not_there_has_no_report(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("fleet", CAPTURES / "epoll-fd0.pcap", "-o", out, *ALONE)
    (set_id,) = nagle_scan.Fleet(out).captures["set"]
    done = run("fleet", "-o", out, "--report", f"{set_id}/999999")
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"nagle-scan: {set_id}: tcp.stream 999999 is not in this scan")
    assert not (out / "reports").exists()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("a: [", "cannot read Dask's settings: "),
        (
            "distributed: {comm: {require-encryption: true, tls: {ca-file: /nowhere.pem, "
            "scheduler: {cert: /nowhere.pem, key: /nowhere.pem}}}}",
            "no workers on this machine: ",
        ),
    ],
)
def test_settings_of_dask_that_are_wrong_are_told(
    settings: str, reason: str, run: Run, tmp_path: Path
) -> None:
    config = tmp_path / "dask.yaml"
    config.write_text(settings)
    env = {"DASK_CONFIG": str(config)}
    done = run("fleet", CAPTURES / "java-split.pcap", "-o", tmp_path / "fleet", env=env)
    assert done.returncode == 2
    assert re.fullmatch(f"nagle-scan: {reason}.+\n", done.stderr.decode())
    assert not (tmp_path / "fleet").exists()
