"""Every threshold is declared in full, and what a rule decides is counted rightly."""

from __future__ import annotations

import re
from collections import Counter

import rules
import shared_truth
from conftest import ROOT
from nagle_scan import _core

SOURCE = ROOT / "analyzer" / "src"


def test_no_threshold_lacks_anything_or_is_declared_twice() -> None:
    rows = _core.thresholds()
    names = [row[0] for row in rows]
    assert len(names) > 50
    assert len(set(names)) == len(names)
    for name, *row in rows:
        assert all(row), name
        reason, _, larger = row[2:]
        assert reason.endswith("."), name
        assert not larger.endswith("."), name


def test_every_threshold_is_used() -> None:
    """The compiler takes the list of all thresholds for a use."""
    text = "".join(file.read_text() for file in SOURCE.rglob("*.rs"))
    words = Counter(re.findall(r"\b[A-Z][A-Z_0-9]+\b", text))
    assert not [name for name, *_ in _core.thresholds() if words[name] < 2]


def test_no_threshold_is_declared_elsewhere() -> None:
    """One with a comment that says which way it leans is one."""
    assert not [file for file in SOURCE.rglob("*.rs") if "/// Leans:" in file.read_text()]


def test_the_page_has_a_row_for_every_rule_cause_and_reason() -> None:
    """`make rules` writes it."""
    declared = re.findall(r'^    \(\s*"(\w+)"', (SOURCE / "rules.rs").read_text(), re.MULTILINE)
    rows = re.findall(r"^\| (\w+) \|.* \|$", rules.PAGE.read_text(), re.MULTILINE)
    reasons = [name for name, *_ in _core.reasons()]
    assert rows == ["without", *declared, *_core.CAUSES[:-1], *reasons]


def test_a_rule_is_told_by_what_its_absence_adds() -> None:
    base: rules.Seen = {
        "a": ("one", {"found certain": 4, "false certain": 1}),
        "b": ("two", {"found certain": 1, "waits right": 3}),
        "c": ("three", None),
        "d": ("four", None),
    }
    seen = {**base, "b": ("other", {"false certain": 2, "waits right": 3}), "d": ("new", None)}
    assert rules.compared(seen, base) == ["1", "1", "-1, +2", "", "", "", "", "", ""]
    assert rules.compared(base, base) == [""] * 9


def test_a_shared_truth_gets_the_numbers_and_sides_of_the_result() -> None:
    """The capture has lost the SYN, so the result may take the server for the client."""
    ends = {"client": {"addr": "10.0.0.2", "port": 80}, "server": {"addr": "10.0.0.1", "port": 9}}
    hold = {"direction": "server->client", "rel_seq": 7, "release": "piggyback", "hold_ms": 40.0}
    gap = {"direction": "client->server", "rel_seq": 5, "cause": "app_think"}
    known = {"client": "10.0.0.1:9", "server": "10.0.0.2:80", "stalls": [hold], "other_gaps": [gap]}
    options = {"nodelay_client": True, "nodelay_server": False}
    unseen = {**known, **options, "client": "10.0.0.1:8"}
    truth = {"case": "a", "capture_point": "sender", "connections": [{**known, **options}, unseen]}
    found = shared_truth.of_result(truth, {"connections": [{"connection": 3, **ends}]})
    (stall,) = found["stalls"]
    assert (stall["connection"], stall["sender"], stall["release"]) == (3, "client", "data")
    assert found["other_waits"] == [
        {"connection": 3, "by": "server", "from_rel": 5, "cause": "sender_app"}
    ]
    assert found["connections"] == [
        {"connection": 3, "client": {"nagle": "on"}, "server": {"nagle": "off"}}
    ]
