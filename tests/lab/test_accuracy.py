"""The labelled captures: what is found agrees with what is true, and the scorer notices if not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import readme
from conftest import CAPTURES, ROOT

ACCURACY = CAPTURES / "lab" / "accuracy.py"
CHAIN_ACCURACY = CAPTURES / "lab" / "chain_accuracy.py"
LABELLED = CAPTURES / "labelled"
STALLED = LABELLED / "redis-client-before"


def accuracy(*arguments: str | Path, script: Path = ACCURACY) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def of_all() -> subprocess.CompletedProcess[str]:
    """The run over all labelled captures, its table as Markdown."""
    return accuracy("--markdown")


def test_the_labelled_captures_meet_every_limit(of_all: subprocess.CompletedProcess[str]) -> None:
    # Only a failure runs them again, to tell what disagrees.
    assert of_all.returncode == 0, accuracy().stdout[-6000:] + of_all.stderr


def test_the_table_for_the_readme_is_markdown(of_all: subprocess.CompletedProcess[str]) -> None:
    lines = of_all.stdout.splitlines()
    assert "|---|---:|---:|" in lines
    assert sum(line.startswith("| ") for line in lines) >= 8


def test_the_site_shows_this_table_and_the_readme_its_first_rows(
    of_all: subprocess.CompletedProcess[str],
) -> None:
    lines = of_all.stdout.splitlines(keepends=True)
    shown = {readme.FULL: lines, readme.README: readme.headlines(lines)}
    for name, rows in shown.items():
        page = (ROOT / name).read_text()
        assert readme.with_accuracy(page, rows) == page, "run `make readme`"


def test_chains_of_relays_meet_every_limit() -> None:
    chains = accuracy(script=CHAIN_ACCURACY)
    assert chains.returncode == 0, chains.stdout[-6000:] + chains.stderr


def test_every_labelled_capture_has_its_truth_and_is_small() -> None:
    captures = sorted(LABELLED.glob("*/*.pcap*"))
    truths = {
        file.parent / json.loads(file.read_text())["capture"]
        for file in LABELLED.glob("*/*.truth.json")
    }
    assert captures
    assert set(captures) == truths
    assert max(c.stat().st_size for c in captures) < 300_000
    assert sum(f.stat().st_size for f in LABELLED.rglob("*.*")) < 12_000_000


def without_a_stall(truth: dict[str, Any]) -> None:
    del truth["stalls"][3]


def with_one_more(truth: dict[str, Any]) -> None:
    truth["stalls"].append({**truth["stalls"][3], "rel_seq": 7})


def of_another_cause(truth: dict[str, Any]) -> None:
    truth["stalls"][3].update(cause="nagle_rtt", ack_delay_ms=0.1)


def with_the_option_set(truth: dict[str, Any]) -> None:
    truth["connections"][0]["client"]["nagle"] = "off"


def with_sleeps_instead(truth: dict[str, Any]) -> None:
    stalls, truth["stalls"] = truth["stalls"], []
    truth["other_waits"] = [
        {
            "connection": s["connection"],
            "by": s["sender"],
            "from_rel": s["rel_seq"],
            "cause": "sender_app",
            "wait_ms": s["hold_ms"],
        }
        for s in stalls
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without_a_stall, "FALSE "),
        (with_one_more, "MISSED "),
        (of_another_cause, "CAUSE "),
        (with_the_option_set, "NAGLE "),
        (with_sleeps_instead, "WAIT "),
    ],
)
def test_a_truth_that_disagrees_fails(
    change: Callable[[dict[str, Any]], None], complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / STALLED.name
    shutil.copytree(STALLED, folder)
    assert accuracy(tmp_path).returncode == 0
    (file,) = folder.glob("*.truth.json")
    truth = json.loads(file.read_text())
    change(truth)
    file.write_text(json.dumps(truth))
    done = accuracy(tmp_path)
    assert done.returncode == 1, done.stdout
    assert any(line.startswith(complaint) for line in done.stdout.splitlines()), done.stdout


def test_a_pair_that_was_not_predicted_fails(tmp_path: Path) -> None:
    for case in ("before", "after"):
        shutil.copytree(LABELLED / f"redis-client-{case}", tmp_path / f"redis-client-{case}")
    met = accuracy(tmp_path)
    assert met.returncode == 0
    assert "of 1 pairs" in met.stdout
    capture = next((tmp_path / "redis-client-before").glob("*.pcap.gz"))
    slow = next((LABELLED / "python-http-before-rtt26").glob("*.pcap.gz"))
    after = tmp_path / "redis-client-after"
    shutil.copy(slow, next(after.glob("*.pcap.gz")))
    assert capture.exists()
    assert "FAIL predicted latencies missed" in accuracy(tmp_path).stdout


def test_no_truth_is_an_error(tmp_path: Path) -> None:
    assert accuracy(tmp_path).returncode == 2
