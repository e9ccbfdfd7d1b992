"""Many files in one call: which are one capture, and the table of those that are not."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from conftest import CAPTURES, Run, outputs
from conversation import pcap, records, stalled
from nagle_scan.api.captures import grouped
from nagle_scan.command.cli import main
from nagle_scan.command.outputs import FOLDER_SUFFIXES

STALLS = CAPTURES / "java-split.pcap"
CLEAN = CAPTURES / "java-single-write.pcap"
MADE = records(stalled(rounds=6).frames)
PARTS = (MADE[:9], MADE[9:14], MADE[14:])


def saved(folder: Path, *names: str) -> list[Path]:
    """One capture in parts, of these names."""
    for name, part in zip(names, PARTS, strict=True):
        (folder / name).write_bytes(pcap(part))
    return [folder / name for name in names]


@pytest.mark.parametrize(
    "names",
    [
        ("a.pcap", "a.pcap1", "a.pcap2"),  # tcpdump -C
        ("a.pcap07", "a.pcap08", "a.pcap00"),  # tcpdump -C -W
        (
            "a_00001_20261123120000.pcap",
            "a_00002_20261123120100.pcap",
            "a_00003_20261123120200.pcap",
        ),
        ("a-20261123-120000.pcap", "a-20261123-120100.pcap", "a-20261123-120200.pcap"),
        ("2026-11-23_12:00:00.cap", "2026-11-23_12:01:00.cap", "2026-11-23_12:02:00.cap"),
        ("a-1795000000.pcap", "a-1795000060.pcap", "a-1795000120.pcap"),  # tcpdump -G -w a-%s.pcap
        ("a-120000.pcap", "a-120100.pcap", "a-120200.pcap"),  # tcpdump -G -w a-%H%M%S.pcap
        ("a_00001.pcap", "a_00002.pcap", "a_00003.pcap"),
        ("a.pcap.2026-11-23", "a.pcap.2026-11-24", "a.pcap.2026-11-25"),  # logrotate
    ],
)
def test_what_one_rotation_wrote_is_one_capture(names: tuple[str, ...], tmp_path: Path) -> None:
    paths = [str(path) for path in saved(tmp_path, *names)]
    assert [capture.paths for capture in grouped(paths).sets] == [paths]


@pytest.mark.parametrize(
    "names", [("a.pcap", "b.pcap", "c.pcap"), ("run-1.pcap", "run-2.pcap", "run-3.pcap")]
)
def test_other_names_are_captures_of_their_own(names: tuple[str, ...], tmp_path: Path) -> None:
    paths = [str(path) for path in saved(tmp_path, *names)]
    assert [capture.paths for capture in grouped(paths).sets] == [[path] for path in paths]
    assert [capture.paths for capture in grouped(paths, merge=True).sets] == [paths]


def test_the_same_packets_under_rotated_names_are_two_captures(tmp_path: Path) -> None:
    """Two hosts' captures, or a copy: read as one, each segment would come twice."""
    for name in ("a.pcap0", "a.pcap1"):
        (tmp_path / name).write_bytes(STALLS.read_bytes())
    assert len(grouped([str(tmp_path / "a.pcap0"), str(tmp_path / "a.pcap1")]).sets) == 2


def test_a_file_named_twice_is_read_once(run: Run) -> None:
    done = run("./java-split.pcap", "java-split.pcap", "-q", cwd=CAPTURES)
    assert (
        done.stderr == b"nagle-scan: note: java-split.pcap is ./java-split.pcap again: read once\n"
    )
    assert done.stdout.startswith(b"Stalls: 9 certain stalls")


def test_the_table_begins_with_what_loses_most(run: Run) -> None:
    done = run("java-single-write.pcap", "java-split.pcap", "epoll-fd0.pcap", cwd=CAPTURES)
    assert (done.returncode, done.stderr) == (1, b"")
    head, _, heads, *rows = done.stdout.decode().splitlines()
    assert head == "3 captures: 2 with stalls, 1 clean; 109 certain stalls, 4.8 s lost"
    assert heads.split() == ["capture", "verdict", "stalls,", "time", "lost", "held", "by"]
    assert [row.split()[:2] for row in rows] == [
        ["epoll-fd0.pcap", "stalls"],
        ["java-split.pcap", "stalls"],
        ["java-single-write.pcap", "clean"],
    ]
    assert rows[0].endswith("100 certain 4.4 s   127.0.0.1:8888")
    assert rows[1].endswith("391.6 ms  127.0.0.1 (client of port 8000)")
    quiet = run("java-single-write.pcap", "java-split.pcap", "-q", cwd=CAPTURES)
    assert quiet.stdout.decode() == (
        "2 captures: 1 with stalls, 1 clean; 9 certain stalls, 391.6 ms lost\n"
    )


def test_a_folder_gets_the_reports_of_each(run: Run, tmp_path: Path) -> None:
    done = run(STALLS, CLEAN, "-o", f"{tmp_path}/new/reports/")
    assert done.stdout.decode().endswith(f"/summary.csv\nwrote {tmp_path}/new/reports/index.html\n")
    folder = tmp_path / "new" / "reports"
    assert {path.name for path in folder.iterdir()} == {
        "summary.csv",
        "index.html",
        *(
            f"{path.name}{suffix}"
            for path in (STALLS, CLEAN)
            for suffix in (".json", ".md", ".html")
        ),
    }
    with (folder / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["stalls", "clean"]
    assert [row["held_by"] for row in rows] == ["127.0.0.1 (client of port 8000)", ""]
    own = json.loads((folder / f"{STALLS.name}.json").read_text())
    assert own["summary"]["stalls"] == 9
    assert own["captures"][0]["path"] == str(STALLS)


def test_the_index_leads_to_each_report(run: Run, tmp_path: Path) -> None:
    odd = tmp_path / "a b%20<i>#1.pcap"
    odd.write_bytes(STALLS.read_bytes())
    (tmp_path / "bad.pcap").write_text("no capture")
    run(odd, CLEAN, tmp_path / "bad.pcap", "-o", f"{tmp_path}/out/")
    page = (tmp_path / "out/index.html").read_text()
    links = [unquote(link) for link in re.findall('href="([^"]+)">', page)]
    assert links == [f"{odd.name}.html", f"{CLEAN.name}.html", "summary.csv"]
    assert all((tmp_path / "out" / link).exists() for link in links)
    assert "<i>" not in page
    assert "not a capture file" in page


def test_why_a_capture_is_inconclusive_is_in_the_table(run: Run, tmp_path: Path) -> None:
    one_way = "labelled/formats-rtt100/client-one-way.pcap.gz"
    done = run(STALLS.name, one_way, "-o", f"{tmp_path}/", cwd=CAPTURES)
    table = " ".join(done.stdout.decode().split("\n\n")[1].split())
    assert "held by, or why not judged" in table
    assert table.endswith("inconclusive captured in one direction only")
    with (tmp_path / "summary.csv").open(newline="") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == [
            "",
            "captured in one direction only",
        ]


def test_files_that_ci_reads_hold_all_captures(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pcap"
    bad.write_text("no capture")
    names = ("all.xml", "all.jsonl")
    done = run(STALLS, CLEAN, bad, *outputs(*names), cwd=tmp_path)
    assert done.returncode == 1
    assert [f"wrote {name}" in done.stdout.decode() for name in names] == [True] * 2
    root = ElementTree.parse(tmp_path / "all.xml").getroot()
    counted = [[suite.get(key) for key in ("name", "failures", "errors")] for suite in root]
    assert counted == [
        [str(STALLS), "1", "0"],
        [str(CLEAN), "0", "0"],
        [str(bad), "0", "1"],
    ]
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    assert [result["summary"]["verdict"] for result in results] == ["stalls", "clean"]
    assert ["reading" in result["report"] for result in results] == [True, False]


def test_a_folder_stands_for_the_captures_in_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.pcap").write_bytes(STALLS.read_bytes())
    (tmp_path / "b.pcap").write_bytes(CLEAN.read_bytes())
    (tmp_path / "notes.txt").write_text("not a capture")
    done = run(tmp_path)
    assert done.stdout.startswith(b"2 captures: 1 with stalls, 1 clean")
    assert done.stderr.endswith(b": 1 other file left out\n")
    (tmp_path / "empty").mkdir()
    done = run(tmp_path / "empty")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"a folder without captures" in done.stderr


def test_an_unusable_file_does_not_cost_the_others(run: Run, tmp_path: Path) -> None:
    """The worst capture decides the status."""
    empty, bad = tmp_path / "empty.pcap", tmp_path / "bad.pcap"
    empty.write_bytes(pcap([]))
    bad.write_text("no capture")
    done = run(bad, CLEAN)
    assert done.returncode == 2
    assert done.stderr.startswith(f"nagle-scan: {bad}: not a capture file".encode())
    assert done.stdout.startswith(b"2 captures: 1 clean, 1 unusable")
    assert run(bad, CLEAN, "--exit-zero").returncode == 2
    assert run(CLEAN, empty).returncode == 4
    assert run(CLEAN, empty, "--exit-zero").returncode == 0
    assert run(CLEAN, empty, bad).returncode == 2
    assert run(CLEAN, empty, bad, STALLS).returncode == 1


FOLDER_OF_TWO = ("summary.csv", "index.html", *(f"{STALLS.name}{end}" for end in FOLDER_SUFFIXES))


@pytest.mark.parametrize("name", FOLDER_OF_TWO)
def test_a_folder_keeps_what_is_the_users_own(name: str, run: Run, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    assert run(STALLS, CLEAN, "-o", f"{folder}/").returncode == 1
    made = (folder / name).read_bytes()
    elsewhere.write_bytes(made)
    done = run(STALLS, CLEAN, "-o", f"{folder}/")
    assert (done.returncode, done.stderr) == (1, b""), "what it made is replaced"
    (folder / name).write_text("My own notes.\n")
    for why in ("nagle-scan did not make it", "it is a link"):
        before = sorted((path.name, path.read_bytes()) for path in folder.iterdir())
        done = run(STALLS, CLEAN, "-o", f"{folder}/")
        assert done.stderr.decode() == (
            f"nagle-scan: {folder}/{name}: {why}: remove it to have it replaced, or name another "
            "folder\n"
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert sorted((path.name, path.read_bytes()) for path in folder.iterdir()) == before
        (folder / name).unlink()
        (folder / name).symlink_to(elsewhere)
    assert elsewhere.read_bytes() == made
    (folder / name).unlink()
    assert run(STALLS, CLEAN, "-o", f"{folder}/").returncode == 1


def test_the_folder_of_one_capture_needs_no_index(run: Run, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("My own page.\n")
    assert run(STALLS, "-o", f"{tmp_path}/").returncode == 1
    assert (tmp_path / "index.html").read_text() == "My own page.\n"


def test_made_up_names_do_not_meet_real_ones(run: Run, tmp_path: Path) -> None:
    for name in ("1/a.pcap", "2/a.pcap", "3/a-2.pcap"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(STALLS.read_bytes())
    run(tmp_path, "-o", f"{tmp_path}/out/")
    assert len(list((tmp_path / "out").glob("*.json"))) == 3


def test_what_looks_like_a_capture_does_not_vanish_from_a_folder(run: Run, tmp_path: Path) -> None:
    """A gate that passes because it left out the capture with the stalls is none."""
    (tmp_path / "a.pcap").write_bytes(CLEAN.read_bytes())
    (tmp_path / "b.pcap.xz").write_bytes(b"\xfd7zXZ\0" + bytes(99))
    (tmp_path / "c.pcap").write_bytes(pcap([]))
    done = run(tmp_path)
    assert done.returncode == 2
    assert done.stdout.startswith(b"3 captures: 1 clean, 1 inconclusive, 1 unusable\n")


def test_many_files_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a look at each file for each file, a thousand took half a minute."""
    paths = [str(tmp_path / f"{number}.pcap") for number in range(300)]
    for path in paths:
        Path(path).write_bytes(CLEAN.read_bytes())
    looked: list[str] = []
    real = os.path.realpath

    def realpath(path: str) -> str:
        looked.append(path)
        return real(path)

    monkeypatch.setattr(os.path, "realpath", realpath)
    assert main([*paths, "-q"]) == 0
    assert len(looked) < 5 * len(paths)
