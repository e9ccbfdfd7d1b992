"""One row for each format: `-o`, `Scan.to_...`, help and README follow it, or fail here."""

from __future__ import annotations

import inspect
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, Run
from nagle_scan import Scan
from nagle_scan.api.written import Written
from nagle_scan.report import formats
from nagle_scan.report.formats import FORMATS, SUFFIXES, Format
from nagle_scan.report.options import Options

STALLED, FIXED = CAPTURES / "jdk-httpserver.pcap", CAPTURES / "jdk-httpserver-nodelay.pcap"
GIVEN: dict[str, list[str | Path]] = {"baseline": ["--baseline", FIXED], "payload": ["--payload"]}
"""How each option is given to the command."""

of_each = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def method(format: Format) -> str:
    return f"to_{format.name}"


def test_names_and_suffixes_are_there_once() -> None:
    assert len(set(SUFFIXES)) == len(SUFFIXES)
    assert len({format.name for format in FORMATS}) == len(FORMATS)
    assert set(Options._fields) == {*GIVEN, "baseline_map"}


def test_scan_has_a_method_for_each_format_and_no_other() -> None:
    methods = [name for name in vars(Written) if name.startswith("to_")]
    assert methods == [method(format) for format in FORMATS]


@of_each
def test_the_method_takes_what_the_format_takes(format: Format) -> None:
    parameters = list(inspect.signature(getattr(Scan, method(format))).parameters)
    assert parameters[:2] == ["self", "path"]
    assert set(parameters[2:]) == format.takes
    assert format.takes <= set(Options._fields)


def written(run: Run, folder: Path, *options: str | Path) -> tuple[dict[str, bytes], list[str]]:
    """What one call writes of each suffix, and the lines that it says."""
    folder.mkdir()
    wanted = [word for suffix in SUFFIXES for word in ("-o", f"x{suffix}")]
    said = run(STALLED, *options, *wanted, cwd=folder).stderr.decode().splitlines()
    return {suffix: (folder / f"x{suffix}").read_bytes() for suffix in SUFFIXES}, said


def test_methods_command_and_options_write_what_they_say(run: Run, tmp_path: Path) -> None:
    plain, said = written(run, tmp_path / "plain")
    assert said == []
    scan = nagle_scan.scan(STALLED)
    for suffix in SUFFIXES:
        path = tmp_path / f"method{suffix}"
        getattr(scan, method(formats.of(str(path))))(path)
        assert len(plain[suffix]) > 100, suffix
        assert path.read_bytes() == plain[suffix], suffix
    for option, words in GIVEN.items():
        chosen, said = written(run, tmp_path / option, *words)
        left = [suffix for suffix in SUFFIXES if option not in formats.of(f"x{suffix}").takes]
        assert [suffix for suffix in SUFFIXES if chosen[suffix] == plain[suffix]] == left
        note = f"nagle-scan: note: --{option} has no effect on {', '.join(f'x{it}' for it in left)}"
        assert said == [note]


@of_each
def test_help_and_readme_name_it(format: Format, run: Run) -> None:
    told = run("--help").stdout.decode()
    readme = (ROOT / "README.md").read_text()
    assert f"{' '.join(format.suffixes)} " in told
    assert format.about in told
    assert formats.of(format.example) == format
    assert f"| `-o {format.example}` | {format.about} |" in readme


def test_a_picture_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(nagle_scan.OutputError, match=r"\.png or \.svg"):
        nagle_scan.scan(STALLED).to_timeline(tmp_path / "timeline.gif")
    assert formats.named("timeline").suffixes == (".png", ".svg")
