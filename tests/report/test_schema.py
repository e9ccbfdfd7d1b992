"""The published JSON Schema tells what `-o result.json` holds: people generate readers from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
import schema
from conftest import CAPTURES, Run, generated, written
from jsonschema import Draft202012Validator
from nagle_scan import _core

SCHEMA = json.loads(schema.text())
VALIDATOR = Draft202012Validator(SCHEMA)
SHIPPED = sorted(CAPTURES.glob("*.pcap*"))
LABELLED = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::12]
BEFORE, AFTER = CAPTURES / "jdk-httpserver.pcap", CAPTURES / "jdk-httpserver-nodelay.pcap"
KEY = bytes(range(32))


def problems(result: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(result)]


def name(path: Path) -> str:
    return path.stem if path.parent == CAPTURES else path.parent.name


@pytest.mark.parametrize("capture", [*SHIPPED, *LABELLED], ids=name)
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "anonymized"])
def test_every_result_is_as_the_schema_says(
    capture: Path, key: bytes | None, tmp_path: Path
) -> None:
    scan = nagle_scan.scan(capture, anonymize=key)
    assert problems(written(scan, tmp_path)) == []


@pytest.mark.parametrize("before", SHIPPED, ids=name)
def test_a_comparison_is_too(before: Path, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    nagle_scan.scan(before).compare(nagle_scan.scan(AFTER)).write(path)
    result = json.loads(path.read_text())
    assert {"baseline", "comparison"} <= result.keys()
    assert problems(result) == []


def test_named_servers_are_too(tmp_path: Path) -> None:
    before, after = (nagle_scan.scan(path, names={"127.0.0.1": "web"}) for path in (BEFORE, AFTER))
    before.compare(after).write(tmp_path / "result.json")
    result = json.loads((tmp_path / "result.json").read_text())
    for servers in (result["servers"], result["baseline"]["servers"]):
        assert [server["name"] for server in servers] == ["web"]
    assert [server["name"] for server in result["comparison"]["servers"]] == ["web"]
    assert problems(result) == []


def test_a_result_that_does_not_list_all_is_too(tmp_path: Path) -> None:
    result = written(nagle_scan.scan(generated(tmp_path, "stalls", 60, 75_000)), tmp_path)
    assert result["summary"]["stalls_not_listed"] > 0
    assert {"stalls_not_listed", "waits_not_listed"} <= result["connections"][0].keys()
    assert problems(result) == []


def test_the_schema_itself_is_one_and_uses_all_its_parts() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    unused = [part for part in SCHEMA["$defs"] if f'"#/$defs/{part}"' not in text]
    assert unused == []


def test_every_declared_field_has_its_meaning_there() -> None:
    members = {
        (row, name): SCHEMA["$defs"][row]["properties"][name]["description"]
        for row, name, *_, outputs, _ in _core.fields()
        if "JSON" in outputs
    }
    assert members == {
        (row, name): meaning
        for row, name, *_, outputs, meaning in _core.fields()
        if "JSON" in outputs
    }


# Members that Python adds.


def test_it_says_how_it_was_scanned(run: Run) -> None:
    words = ("--min-wait", "5", "-f", "tcp port 8080", "-o", "-", "--format", "json")
    result = json.loads(run(BEFORE, *words).stdout)
    version = run("--version").stdout.decode().split()[1]
    assert (result["version"], result["min_wait_ms"]) == (version, 5.0)
    assert result["filter"] == "tcp port 8080"
    assert json.loads(run(BEFORE, "-o", "-", "--format", "json").stdout)["filter"] is None
