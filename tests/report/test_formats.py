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

BEFORE, AFTER = CAPTURES / "jdk-httpserver.pcap", CAPTURES / "jdk-httpserver-nodelay.pcap"
GIVEN: dict[str, list[str | Path]] = {"baseline": ["--baseline", BEFORE], "payload": ["--payload"]}
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


@of_each
def test_method_and_command_write_the_same(format: Format, tmp_path: Path, run: Run) -> None:
    for suffix in format.suffixes:
        by_method, by_command = tmp_path / f"method{suffix}", tmp_path / f"command{suffix}"
        getattr(nagle_scan.scan(BEFORE), method(format))(by_method)
        run(BEFORE, "-o", by_command)
        assert len(by_method.read_bytes()) > 100
        assert by_method.read_bytes() == by_command.read_bytes()


@of_each
@pytest.mark.parametrize("option", GIVEN)
def test_an_option_changes_the_file_or_is_said_not_to(
    format: Format, option: str, tmp_path: Path, run: Run
) -> None:
    plain, chosen = (tmp_path / f"{name}{format.suffixes[0]}" for name in ("plain", "chosen"))
    run(AFTER if option == "baseline" else BEFORE, "-o", plain)
    capture = AFTER if option == "baseline" else BEFORE
    said = run(capture, "-o", chosen, *GIVEN[option]).stderr.decode()
    note = f"nagle-scan: note: --{option} has no effect on {chosen}\n"
    taken = option in format.takes
    assert (plain.read_bytes() != chosen.read_bytes()) == taken
    assert said == ("" if taken else note)


@of_each
def test_help_and_readme_name_it(format: Format, run: Run) -> None:
    told = run("--help").stdout.decode()
    readme = (ROOT / "README.md").read_text()
    assert f"{' '.join(format.suffixes)} " in told
    assert format.about in told
    assert formats.of(format.example) == format
    assert f"| `-o {format.example}` | {format.about} |" in readme


def test_a_picture_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(nagle_scan.OutputError, match=r"\.png, \.svg or \.pdf"):
        nagle_scan.scan(BEFORE).to_timeline(tmp_path / "timeline.gif")
    assert formats.named("timeline").suffixes == (".png", ".svg", ".pdf")
