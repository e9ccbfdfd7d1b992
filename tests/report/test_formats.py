"""One row for each format: `-o`, `Scan.write`, help and README follow it, or fail here."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, Run, outputs, write_evidence
from nagle_scan.report import formats
from nagle_scan.report.formats import FORMATS, SUFFIXES, Format
from nagle_scan.report.options import Options

STALLED, FIXED = CAPTURES / "jdk-httpserver.pcap", CAPTURES / "jdk-httpserver-nodelay.pcap"
GIVEN: dict[str, list[str | Path]] = {"baseline": ["--baseline", FIXED], "payload": ["--payload"]}
"""How each option is given to the command."""

of_each = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def test_names_and_suffixes_are_there_once() -> None:
    assert len(set(SUFFIXES)) == len(SUFFIXES)
    assert len({format.name for format in FORMATS}) == len(FORMATS)
    assert set(Options._fields) == {*GIVEN, "baseline_map", "follows"}
    assert all(format.takes <= set(Options._fields) for format in FORMATS)


def written(run: Run, folder: Path, *options: str | Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of each suffix that one call writes, and the lines that it says."""
    folder.mkdir()
    wanted = outputs(*(f"x{suffix}" for suffix in SUFFIXES))
    said = run(STALLED, *options, *wanted, cwd=folder).stderr.decode().splitlines()
    return {suffix: (folder / f"x{suffix}").read_bytes() for suffix in SUFFIXES}, said


def test_python_command_and_options_write_what_they_say(run: Run, tmp_path: Path) -> None:
    plain, said = written(run, tmp_path / "plain")
    assert said == []
    scan = nagle_scan.scan(STALLED)
    for suffix in SUFFIXES:
        path = tmp_path / f"python{suffix}"
        scan.write(path)
        assert len(plain[suffix]) > 100, suffix
        assert path.read_bytes() == plain[suffix], suffix
    for option, words in GIVEN.items():
        chosen, said = written(run, tmp_path / option, *words)
        left = [suffix for suffix in SUFFIXES if option not in formats.of(f"x{suffix}").takes]
        assert [suffix for suffix in SUFFIXES if chosen[suffix] == plain[suffix]] == left
        note = f"nagle-scan: note: --{option} has no effect on {', '.join(f'x{it}' for it in left)}"
        assert said == [note]


@of_each
def test_help_names_it(format: Format, run: Run) -> None:
    help_text = run("--help").stdout.decode()
    assert f"{' '.join(format.suffixes)} " in help_text
    assert format.about in help_text
    assert formats.of(format.example) == format


def test_a_bundle_holds_what_the_single_outputs_hold(tmp_path: Path) -> None:
    scan = nagle_scan.scan(STALLED)
    scan.write(tmp_path / "x.zip")
    with ZipFile(tmp_path / "x.zip") as bundle:
        assert bundle.testzip() is None
        packed = {name: bundle.read(name) for name in bundle.namelist()}
    for name in ("ticket.md", "report.html", "timeline.png"):
        scan.write(tmp_path / name)
    write_evidence(scan, tmp_path / "evidence.pcapng")
    (tmp_path / "x.zip").unlink()
    assert packed == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize("table", ["stalls", "waits", "exchanges"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_named_like_a_table_holds_it(table: str, kind: str, tmp_path: Path) -> None:
    paused = CAPTURES / "labelled/sleep40-nodelay/middle.pcap.gz"
    scan = nagle_scan.scan(STALLED if table == "stalls" else paused, min_wait_ms=1.0)
    path = tmp_path / f"my-{table}.{kind}"
    scan.write(path)
    read = pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)
    whole = getattr(scan, table)
    assert len(whole)
    shared = [name for name in whole.columns if name in read.columns and name != "confidence"]
    assert kind == "csv" or shared == [name for name in whole.columns if name != "confidence"]
    assert len(shared) > 6
    assert len(read) == len(whole)
    for name in shared:
        same = whole[name].astype(read[name].dtype).reset_index(drop=True)
        pd.testing.assert_series_equal(read[name], same)
