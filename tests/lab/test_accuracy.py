"""The labelled captures: what is found agrees with what is true, and the scorer notices if not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import accuracy_report
import nagle_scan
import pytest
import readme
import truths
from accuracy import CHAINS, LABELLED, PROGRAMS, contradictions, false_clean, score_folder
from accuracy_report import (
    A_LEG_MISSING,
    ALL,
    EVERY_LEG,
    KNOWN_MISSED,
    Groups,
    Report,
    group,
    sentence,
    total,
)
from conftest import CAPTURES, ROOT
from scoring import Score, result_of
from truths import Row

ACCURACY = CAPTURES / "lab" / "accuracy.py"
MOST_BYTES = {"labelled": 12_000_000, "chains": 1_000_000, "programs": 1_500_000}
STALLED = "redis-client-before"


def accuracy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ACCURACY, *arguments], capture_output=True, text=True, timeout=120
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
    chains = accuracy(CAPTURES / "chains")
    assert chains.returncode == 0, chains.stdout[-6000:] + chains.stderr


@pytest.mark.parametrize("name", MOST_BYTES)
def test_every_labelled_capture_has_its_truth_and_is_small(name: str) -> None:
    folder = CAPTURES / name
    captures = sorted(folder.glob("*/*.pcap*"))
    assert captures
    assert captures == sorted(truths.capture(folder, truth) for truth in truths.read(folder))
    assert max(c.stat().st_size for c in captures) < 300_000
    assert sum(f.stat().st_size for f in folder.rglob("*.*")) < MOST_BYTES[name]


def copied(case: str, target: Path) -> list[Row]:
    """A labelled case in another folder; its truth."""
    shutil.copytree(LABELLED / case, target / case)
    rows = truths.of_case(LABELLED, case)
    truths.replace(target, case, rows)
    return rows


def without_a_stall(truth: Row) -> None:
    del truth["stalls"][3]


def with_one_more(truth: Row) -> None:
    truth["stalls"].append({**truth["stalls"][3], "rel_seq": 7})


def of_another_cause(truth: Row) -> None:
    truth["stalls"][3].update(cause="nagle_rtt", ack_delay_ms=0.1)


def with_the_option_set(truth: Row) -> None:
    truth["connections"][0]["client"]["nagle"] = "off"


def with_sleeps_instead(truth: Row) -> None:
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
    change: Callable[[Row], None], complaint: str, tmp_path: Path
) -> None:
    (truth,) = copied(STALLED, tmp_path)
    assert accuracy(tmp_path).returncode == 0
    change(truth)
    truths.replace(tmp_path, STALLED, [truth])
    done = accuracy(tmp_path)
    assert done.returncode == 1, done.stdout
    assert any(line.startswith(complaint) for line in done.stdout.splitlines()), done.stdout


def test_a_pair_that_was_not_predicted_fails(tmp_path: Path) -> None:
    for case in ("redis-client-before", "redis-client-after"):
        copied(case, tmp_path)
    met = accuracy(tmp_path)
    assert met.returncode == 0
    assert "of 1 pairs" in met.stdout
    slow = next((LABELLED / "python-http-before-rtt26").glob("*.pcap.gz"))
    shutil.copy(slow, next((tmp_path / "redis-client-after").glob("*.pcap.gz")))
    assert "FAIL predicted latencies missed" in accuracy(tmp_path).stdout


def test_no_truth_is_an_error(tmp_path: Path) -> None:
    assert accuracy(tmp_path).returncode == 2


def test_what_is_known_to_be_missed_is_shown_and_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accuracy_report, "KNOWN", {"blurred": "no release", "mended": "was so"})
    scores: Groups = {ALL: {}, KNOWN_MISSED: {}}
    for case, found in (("plain", 10), ("blurred", 2), ("mended", 10)):
        name = group({"name": f"{case}/client", "case": case}, LABELLED)
        scores[name][case] = Score(Counter({"true": 10, "found": found, "captures": 1}))
    assert group({"name": "blurred/client", "case": "blurred"}, CAPTURES) == ALL
    report = Report(LABELLED, scores, [], [])
    assert "| recall | 100.00 % of 10 stalls |" in report.markdown()
    assert "2 cases known to be missed (12 of 20 stalls" in report.markdown()
    lines = (line.strip() for line in report.text(0).splitlines())
    blurred, mended = (line for line in lines if line.startswith(("blurred:", "mended:")))
    assert "no release" in blurred
    assert "no longer" not in blurred
    assert "no longer" in mended


# -- chains ---------------------------------------------------------------------------------------


def of_chain(ports: list[int], relays: int) -> Row:
    connections = [{"server": {"port": port}} for port in ports]
    return {"relays": relays, "legs": 2, "connections": connections}


def test_a_capture_that_lacks_a_leg_is_judged_apart() -> None:
    assert group(of_chain([8100, 8101], relays=1), CHAINS) == EVERY_LEG
    assert group(of_chain([8101], relays=1), CHAINS) == A_LEG_MISSING
    assert group(of_chain([8200], relays=0), CHAINS) == EVERY_LEG


# -- programs -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs() -> Groups:
    return score_folder(PROGRAMS)[0]


def test_the_site_tells_how_accurate_it_is_on_programs(programs: Groups) -> None:
    rows = (sentence(name, total(programs[name]).counts) for name in sorted(programs))
    assert "".join(rows) in (ROOT / "docs" / "report.md").read_text()


@pytest.mark.parametrize("fault", ["contradictions", "nagle"])
def test_points_of_one_run_agree_and_none_is_wrong_on_nodelay(programs: Groups, fault: str) -> None:
    assert [total(cases).counts[fault] for cases in programs.values()] == [0, 0]


def connection(verdict: str, nagle: str, *confidences: str) -> Row:
    """A connection in the result of a scan."""
    side = {"port": 40_000, "nagle": nagle}
    stalls = [{"confidence": c} for c in confidences]
    known = {"connection": 0, "conclusive": True, "verdict": verdict}
    return known | {"client": side, "server": {"nagle": "unknown"}, "stalls": stalls}


def test_points_of_one_run_must_not_contradict() -> None:
    score = Score()
    sure, unsure = connection("stalls", "on", "certain"), connection("stalls", "unknown", "likely")
    contradictions({"a": {"connections": [sure]}, "b": {"connections": [unsure]}}, score)
    assert not score.lines
    clean = connection("clean", "off")
    contradictions({"a": {"connections": [sure]}, "b": {"connections": [clean]}}, score)
    assert score.counts["contradictions"] == 2


def test_a_stalling_connection_that_is_called_clean_counts() -> None:
    stall = {"connection": 0, "hold_ms": 40.0, "release": "ack"}
    result = {"connections": [connection("clean", "unknown")]}
    score = Score()
    false_clean({"name": "x", "stalls": [stall] * 2}, result, score)
    assert score.counts["false clean"] == 0
    false_clean({"name": "x", "stalls": [stall] * 3}, result, score)
    assert score.counts["false clean"] == 1


def test_every_shipped_program_is_read_as_its_truth_counts_it() -> None:
    for truth in truths.read(PROGRAMS):
        result = result_of(nagle_scan.scan(truths.capture(PROGRAMS, truth)))
        ports = {c["connection"]: c["client"]["port"] for c in result["connections"]}
        known = {c["connection"]: c["client"]["port"] for c in truth["connections"]}
        assert ports == known, truth["name"]
