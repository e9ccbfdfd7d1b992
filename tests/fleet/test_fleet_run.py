"""`nagle-scan fleet` from the first night to the next: what is read, reported and kept."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, Run
from fleets import FIXED, KEY, OTHER, SPLIT, opened
from nagle_scan.api.names import Label
from nagle_scan.fleet import fields, page
from nagle_scan.fleet.folder import Folder

ALONE = ("--workers", "1")
COMMAND = str(Path(sys.executable).parent / "nagle-scan")
README = CAPTURES / "README.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> nagle_scan.Fleet:
    folder = tmp_path_factory.mktemp("made") / "fleet"
    paths = [CAPTURES / "labelled", *sorted(CAPTURES.glob("*.pcap"))]
    return nagle_scan.scan_fleet(paths, folder, everything=True)


def test_each_capture_gives_what_a_scan_of_it_alone_gives(made: nagle_scan.Fleet) -> None:
    captures = made.captures
    assert len(captures) > 1000
    assert len(made.failures) == 0
    tables = {name: getattr(made, name) for name in ("stalls", "connections", "waits", "sums")}
    for set_id, paths in captures.groupby("set")["path"].apply(list).iloc[::25].items():
        alone = nagle_scan.scan(sorted(paths))
        rows = {name: table[table["set"] == set_id] for name, table in tables.items()}
        assert (captures[captures["set"] == set_id]["verdict"] == alone.verdict).all()
        assert_same(rows["stalls"], alone.stalls, ["connection", "frame_held"])
        assert_same(rows["waits"], alone.waits, ["connection", "frame_to", "frame_from"])
        assert_same(rows["connections"], alone.connections.reset_index(), ["connection"])
        sums = rows["sums"]
        is_stall = sums["confidence"].notna()
        assert sums["waits"][is_stall].sum() == len(alone.stalls)
        assert sums["wait_ms"][is_stall].sum() == pytest.approx(alone.stalls["hold_ms"].sum())
        assert sums["waits"][~is_stall].sum() == len(alone.waits)
        assert sums["exchanges"].sum() == alone.servers["exchanges"].sum()


def assert_same(rows: pd.DataFrame, alone: pd.DataFrame, order: list[str]) -> None:
    """With all columns of the scan; of a time, what microseconds tell."""
    alone = alone[[name for name in alone.columns if not name.endswith("_ns")]]
    rows = rows.sort_values(order, ignore_index=True)[list(alone.columns)].astype("object")
    expected = alone.sort_values(order, ignore_index=True)
    for name in expected.select_dtypes("datetimetz"):
        expected[name] = expected[name].dt.floor("us")
        rows[name] = pd.to_datetime(rows[name], utc=True).astype(expected[name].dtype)
    expected = expected.astype("object")
    pd.testing.assert_frame_equal(
        rows.where(rows.notna(), None), expected.where(expected.notna(), None), check_dtype=False
    )


def test_one_night_after_the_other(run: Run, tmp_path: Path) -> None:
    captures, fleet = tmp_path / "captures", tmp_path / "fleet"
    captures.mkdir()
    copy(SPLIT, captures)
    copy(FIXED, captures)
    (captures / "notes.pcap").write_text("no capture")

    def night(*more: str | Path) -> tuple[int, list[str]]:
        done = run("fleet", captures, *more, "-o", fleet, *ALONE)
        assert done.stderr == b""
        return done.returncode, done.stdout.decode().splitlines()

    status, lines = night()
    assert status == 1
    assert lines[0] == "3 new captures: 1 with stalls, 1 clean, 1 file unusable"
    assert lines[1] == "  new: 127.0.0.1:8000 loses 39.2 ms per exchange (9 stalls)"
    assert lines[2].startswith(f"  {captures}/notes.pcap: not a capture file")
    assert lines[-1] == f"wrote {fleet}/index.html, and the tables beside it"
    status, lines = night()
    assert (status, lines[0]) == (
        0,
        "0 new captures (2 files known, 1 file known to be no capture): nothing to do",
    )
    assert len(lines) == 1, "the page is as it was"
    copy(OTHER, captures)
    assert night()[1][0].startswith("1 new capture (2 files known, 1 file known to be no capture)")
    (captures / "notes.pcap").write_bytes((CAPTURES / "java-split-nodelay.pcap").read_bytes())
    assert night()[1][0] == "1 new capture (3 files known): 1 clean"
    assert len(nagle_scan.Fleet(fleet).failures) == 0
    row = nagle_scan.Fleet(fleet).stalls.iloc[0]
    report = run("fleet", "-o", fleet, "--report", f"{row['set'][:12]}/{row['connection']}")
    assert (report.returncode, report.stderr) == (0, b"")
    assert "held data back" in Path(report.stdout.decode()[6:].strip()).read_text()


def copy(name: str, folder: Path, as_name: str = "") -> Path:
    path = folder / (as_name or name)
    path.write_bytes((CAPTURES / name).read_bytes())
    return path


def test_a_file_that_grew_is_read_again_with_its_rotation(tmp_path: Path) -> None:
    first, last = copy(SPLIT, tmp_path, "ring.pcap0"), tmp_path / "ring.pcap1"
    whole = (CAPTURES / OTHER).read_bytes()
    last.write_bytes(whole[: len(whole) // 2])
    for key in (None, KEY):
        fleet = tmp_path / f"fleet{key is None}"
        last.write_bytes(whole[: len(whole) // 2])
        before = scanned(tmp_path, fleet, key)
        last.write_bytes(whole)
        after = scanned(tmp_path, fleet, key)
        assert len(before.captures) == len(after.captures) == 2
        assert after.captures["set"].nunique() == 1
        whole_set = nagle_scan.scan([first, last])
        assert len(after.stalls) == len(whole_set.stalls) > len(before.stalls)


def scanned(folder: Path, fleet: Path, key: bytes | None = None) -> nagle_scan.Fleet:
    return nagle_scan.scan_fleet(folder / "*.pcap*", fleet, workers=1, anonymize=key)


def test_a_file_that_grew_after_its_rotation_went_is_reported(tmp_path: Path) -> None:
    first, last = copy(SPLIT, tmp_path, "ring.pcap0"), tmp_path / "ring.pcap1"
    whole = (CAPTURES / OTHER).read_bytes()
    last.write_bytes(whole[: len(whole) // 2])
    stalls = len(scanned(tmp_path, tmp_path / "fleet").stalls)
    first.unlink()
    last.write_bytes(whole)
    after = scanned(tmp_path, tmp_path / "fleet")
    assert after.failures["error"].str.contains("other files of its capture are gone").all()
    assert len(after.failures) == 1
    assert len(after.stalls) == stalls


def test_a_ring_that_went_round_keeps_what_was_found(tmp_path: Path) -> None:
    copy(SPLIT, tmp_path, "ring.pcap")
    scanned(tmp_path, tmp_path / "fleet")
    copy(OTHER, tmp_path, "ring.pcap")
    fleet = scanned(tmp_path, tmp_path / "fleet")
    assert fleet.captures["set"].nunique() == 2
    assert set(fleet.stalls["server_port"]) == {8000, 8080}
    os.utime(tmp_path / "ring.pcap")
    assert len(scanned(tmp_path, tmp_path / "fleet").captures) == 2


@pytest.mark.parametrize("key", [None, KEY])
def test_a_rename_and_a_copy_count_nothing_twice(key: bytes | None, tmp_path: Path) -> None:
    path, fleet = copy(SPLIT, tmp_path), tmp_path / "fleet"
    scanned(tmp_path, fleet, key)
    copy(SPLIT, tmp_path, "copy.pcap")
    assert len(scanned(tmp_path, fleet, key).captures) == 1
    # A ring moves its files on, and writes another of the first name.
    path.rename(tmp_path / "old.pcap")
    copy(OTHER, tmp_path, SPLIT)
    assert len(scanned(tmp_path, fleet, key).captures) == 2
    content = bytearray((CAPTURES / SPLIT).read_bytes())
    content[-1] ^= 1
    (tmp_path / "copy.pcap").unlink()
    copy(SPLIT, tmp_path, "other.pcap")
    (tmp_path / "another.pcap").write_bytes(content)
    again = scanned(tmp_path, tmp_path / "new", key)
    assert len(again.captures) == 3, "one has another end"


def test_a_row_of_a_service_names_no_other(tmp_path: Path) -> None:
    """Whoever asks for one service must not be sent to another."""
    captures = [
        CAPTURES / "chains/client-and-server/a.pcap.gz",
        CAPTURES / "labelled/formats-rtt26",
    ]
    fleet = nagle_scan.scan_fleet(captures, tmp_path / "fleet", workers=1)
    every = set(fleet.services["service"])
    assert len(every) > 2
    for row in fleet.connections.to_dict("records"):
        sentences = row["sentence"] + row["change"] + row["fix"]
        assert not [one for one in every - {row["service"]} if f"{one}:" in f"{sentences}:"]


def test_services_have_the_names_of_that_day(run: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text("address,service,owner,pod\n127.0.0.1:8000,payments,team-a,pod-7\n")
    call = ("fleet", CAPTURES / SPLIT, CAPTURES / OTHER, "-o", tmp_path / "fleet", *ALONE)
    assert run(*call, "--names", names).returncode == 1
    stalls = nagle_scan.Fleet(tmp_path / "fleet").stalls
    named = stalls[["service", "owner", "pod", "server_port"]].drop_duplicates()
    assert sorted(named.itertuples(index=False, name=None)) == [
        ("127.0.0.1:8080", "", "", 8080),
        ("payments", "team-a", "pod-7", 8000),
    ]


def test_a_key_hides_addresses_paths_and_what_names_tell(tmp_path: Path) -> None:
    # Bytes that no table has of itself, as numbers that count up.
    key = sha256(b"a key").digest()
    secrets = [b"10.10.", b"client-", b"10-10-2-2", key, key.hex().encode(), b"labelled/"]
    secrets += [tmp_path.name.encode()]
    capture = CAPTURES / "labelled/formats-rtt26"
    labels = {"10.10.2.2": Label("ip-10-10-2-2", "team")}
    nagle_scan.scan_fleet(
        capture, tmp_path / "fleet", workers=1, anonymize=key, everything=True, labels=labels
    )
    assert "team" in set(nagle_scan.Fleet(tmp_path / "fleet").sums["owner"])
    for path in (tmp_path / "fleet").rglob("*"):
        if path.is_file():
            assert not [secret for secret in secrets if secret in path.read_bytes()], path
    table = opened(tmp_path / "fleet")
    written = " ".join(
        json.dumps(table.rows(f"SELECT * FROM {name}"), default=str) for name in fields.tables()
    )
    assert not [secret for secret in secrets if secret.decode(errors="replace") in written]


def test_a_name_that_is_not_utf8_is_a_failure_of_its_file(tmp_path: Path) -> None:
    copy(SPLIT, tmp_path)
    copy(SPLIT, tmp_path, os.fsdecode(b"\xff.pcap"))
    for attempts in (1, 2):
        found = nagle_scan.scan_fleet(tmp_path, tmp_path / "fleet", workers=1, anonymize=KEY)
        assert found.failures["attempts"].tolist() == [attempts]
    assert len(found.captures) == 1


@pytest.mark.parametrize(("days", "stalls"), [(1e-6, 0), (1e12, 9), (math.inf, 9)])
def test_days_that_are_kept_may_be_few_or_all(days: float, stalls: int, tmp_path: Path) -> None:
    found = nagle_scan.scan_fleet(CAPTURES / SPLIT, tmp_path / "fleet", workers=1, keep_days=days)
    assert (len(found.stalls), found.total.stalls_by_confidence[-1]) == (stalls, 9)
    if not stalls:
        page = (tmp_path / "fleet/index.html").read_text()
        assert "No connection with certain or likely stalls is kept." in page


def test_without_all_only_the_worst_connections_are_kept(tmp_path: Path) -> None:
    capture = CAPTURES / "chains/load-server-10/a.pcap.gz"
    found = nagle_scan.scan_fleet(capture, tmp_path / "fleet", workers=1)
    stalled = nagle_scan.scan(capture).connections["stalled_ms"]
    assert found.connections["connection"].tolist() == sorted(stalled.nlargest(3).index)
    assert len(found.waits) == 0


BAD = [
    (["none*.pcap"], "none*.pcap: no file matches"),
    ([], "no capture given (see nagle-scan fleet --help)"),
    ([CAPTURES, "--check"], "--check does not scan: it takes only -o"),
    (["--check"], "fleet: no fleet"),
    ([CAPTURES, "-o", "other"], "-o: name one folder, and files that end with .json or .xml"),
    ([CAPTURES, "-f", "tcp prot 80"], "filter"),
    ([CAPTURES, "--anonymize"], "a fleet needs one key for all runs: NAGLE_SCAN_KEY"),
    ([CAPTURES, "--names", README], "is no name"),
    ([CAPTURES, "--keep", "90"], "expected a number of days: 90d"),
    (
        [CAPTURES, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"],
        "workers of this machine beside a cluster, which has its own",
    ),
    (["--report", "x"], "expected SET/STREAM"),
    (["--report", "abcdef/1", "-f", "tcp"], "it takes only -o"),
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
    "text": ({"min_wait_ms": "10"}, TypeError, "min_wait_ms is a number, not str$"),
    "no workers": ({"workers": 0}, ValueError, "workers must be 1 to 1024: 0$"),
    "no days": ({"keep_days": 0}, ValueError, "keep_days must be more than 0: 0$"),
    "short key": ({"anonymize": b"secret"}, ValueError, "the key must have 32 bytes, not 6$"),
    "scheduler": ({"scheduler": 8786}, TypeError, "scheduler is the address .*, not int$"),
    "output": ({"output": 5}, TypeError, "output is a folder .*, not int$"),
    "text for a label": ({"labels": {"10.0.0.1": "web"}}, TypeError, "addresses to Label$"),
    "no address": ({"labels": {"web": Label("web")}}, ValueError, "'web' is no IP address$"),
    "no store": (
        {"output": "http://127.0.0.1/fleet?sig=secret"},
        nagle_scan.OutputError,
        "^http://127.0.0.1/fleet: results go to a folder, s3://, gs://, az://$",
    ),
    "no path": ({"paths": []}, ValueError, "no capture given$"),
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
        nagle_scan.scan_fleet(**{"paths": CAPTURES / SPLIT, **options})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([SPLIT], 1),
        ([SPLIT, "--exit-zero"], 0),
        ([FIXED, "README.md"], 0),
        (["README.md"], 2),
        (["README.md", "--exit-zero"], 2),
    ],
)
def test_a_pipeline_is_told_by_the_exit_status(
    words: list[str], status: int, run: Run, tmp_path: Path
) -> None:
    done = run("fleet", *words, "-o", tmp_path / "fleet", *ALONE, cwd=CAPTURES)
    assert done.returncode == status


def test_a_stall_is_told_once(run: Run, tmp_path: Path) -> None:
    """A nightly job that is red every night is switched off."""
    call = ("-o", tmp_path / "fleet", *ALONE)
    junit, document = tmp_path / "alert.xml", tmp_path / "alert.json"
    assert run("fleet", CAPTURES / SPLIT, *call, "-o", junit, "-o", document).returncode == 1
    (change,) = json.loads(document.read_text())["changes"]
    assert (change["change"], change["service"]) == ("new", "127.0.0.1:8000")
    assert junit.read_text().count("<failure") == 1
    night = copy(SPLIT, tmp_path, "night.pcap")
    content = bytearray(night.read_bytes())
    content[24:28] = (int.from_bytes(content[24:28], "little") + 86_400).to_bytes(4, "little")
    night.write_bytes(content)
    done = run("fleet", night, *call, "-o", junit, "-o", document)
    assert (done.returncode, json.loads(document.read_text())["changes"]) == (0, [])
    assert "<failure" not in junit.read_text()
    assert run("fleet", night, *call, "--all-stalls", "-o", junit).returncode == 1
    assert junit.read_text().count("<failure") == 1
    assert nagle_scan.Fleet(tmp_path / "fleet").changes["change"].tolist() == ["new"]


def spoiled(how: str, folder: Path, *captures: Path) -> subprocess.CompletedProcess[bytes]:
    """A run in a process that does something to itself first."""
    lines = [
        "import os, sys",
        "from nagle_scan.command import cli",
        "from nagle_scan.fleet.batch import Batch",
        'if __name__ == "__main__":',
        *(f"    {line}" for line in how.splitlines()),
        "    sys.exit(cli.main(sys.argv[1:]))",
    ]
    script = folder / "script.py"
    script.write_text("\n".join(lines))
    words: list[str | Path] = [
        sys.executable,
        script,
        "fleet",
        *captures,
        "-o",
        folder / "fleet",
        *ALONE,
    ]
    return subprocess.run(words, capture_output=True)


STEPS = {"fsync": 5, "rename": 1, "link": 1, "replace": 1}
"""Calls, and how many of them lie between two at which a run dies."""
DIES = """\
step, left = "{}", iter(range({}))
before = getattr(os, step)
def call(*given, **more):
    done = before(*given, **more)
    if next(left, None) is None:
        os.kill(os.getpid(), 9)
    return done
setattr(os, step, call)
"""


@pytest.mark.parametrize(("step", "stride"), STEPS.items())
def test_what_a_killed_run_has_not_told_is_told_by_the_next(
    step: str, stride: int, tmp_path: Path
) -> None:
    """At whatever call it dies, also of a run without new captures; and only once."""
    for number in range(0, 90, stride):
        top = tmp_path / str(number)
        top.mkdir()
        died = spoiled(DIES.format(step, number), top, CAPTURES / SPLIT).returncode == -9
        told = Path(top, "fleet", "changes").exists()
        again = [spoiled("", top, CAPTURES / SPLIT) for _ in range(2)]
        assert [one.returncode for one in again] == [int(not told), 0]
        assert nagle_scan.Fleet(top / "fleet").changes["change"].tolist() == ["new"]
        if not died:
            break
    assert number > 0


def test_what_cannot_be_reported_is_told_later(run: Run, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    call = ("fleet", CAPTURES / SPLIT, "-o", fleet, *ALONE)
    (fleet / "index.html").mkdir(parents=True)
    (fleet / "sums").mkdir()
    assert run(*call).returncode == 2
    (fleet / "index.html").rmdir()
    assert run(*call, "-o", tmp_path / "nowhere" / "alert.xml").returncode == 2
    for number, status in enumerate((1, 0)):
        junit = tmp_path / f"{number}.xml"
        assert run(*call, "-o", junit).returncode == status
        assert junit.read_text().count("<failure") == status


def test_a_change_that_many_hosts_see_is_told_once(tmp_path: Path) -> None:
    """In the same seconds, each with captures of its own."""
    whole = (CAPTURES / SPLIT).read_bytes()

    def host(number: int) -> subprocess.Popen[bytes]:
        capture = tmp_path / f"{number}.pcap"
        content = bytearray(whole)
        content[24:28] = (int.from_bytes(whole[24:28], "little") + number).to_bytes(4, "little")
        capture.write_bytes(content)
        words: list[str | Path] = [COMMAND, "fleet", capture, "-o", tmp_path / "fleet", *ALONE]
        env = {**os.environ, "NAGLE_SCAN_HOST": f"web-{number}"}
        return subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL)

    status = [one.wait() for one in [host(number) for number in range(6)]]
    assert sorted(status) == [0] * 5 + [1]
    assert nagle_scan.Fleet(tmp_path / "fleet").changes["change"].tolist() == ["new"]
    assert page.state(Folder(str(tmp_path / "fleet"))) == opened(tmp_path / "fleet").state()


INTERRUPTED = """\
add, calls = Batch.add, iter(range(5))
def adding(*given):
    add(*given)
    if next(calls, None) is None:
        # SIGTERM does what Ctrl-C does, which a shell takes from what it runs in the background.
        os.kill(os.getpid(), 15)
Batch.add = adding
"""


def test_an_interrupted_run_keeps_what_is_done(tmp_path: Path) -> None:
    done = spoiled(INTERRUPTED, tmp_path, CAPTURES / "labelled")
    assert done.returncode == 130
    assert b"interrupted: " in done.stderr
    assert b"; the next run goes on" in done.stderr
    assert 0 < len(nagle_scan.Fleet(tmp_path / "fleet").captures) < 1300
