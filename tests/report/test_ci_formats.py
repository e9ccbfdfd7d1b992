"""JUnit XML, which CI servers read. A file that they refuse hides the stalls it reports."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, Run
from conversation import Conversation, connected, interleaved, write
from nagle_scan.api.scan import Scan
from nagle_scan.report.junit import NOT_JUDGED
from nagle_scan.words.wording import endpoint

SHIPPED = sorted(CAPTURES.glob("*.pcap"))
LABELLED = sorted((CAPTURES / "labelled").rglob("*.pcap*"))[::16]
STALLS, CLEAN = CAPTURES / "java-split.pcap", CAPTURES / "java-single-write.pcap"


def junit(scan: Scan, folder: Path) -> Element:
    path = folder / "junit.xml"
    scan.write(path)
    return ElementTree.parse(path).getroot()


# JUnit: what the schema of Jenkins takes (xunit-plugin's junit-10.xsd), and what is there besides.

TOKEN = r"\S+( \S+)*"
NUMBER, SECONDS = r"\d+", r"\d{0,3}\.\d{3}|\d+\.\d{3}"
SUITE = {
    "name": TOKEN,
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "time": SECONDS,
    "tests": NUMBER,
    "failures": NUMBER,
    "errors": "0",
    "skipped": NUMBER,
}
CASE = {"classname": TOKEN, "name": TOKEN, "time": SECONDS}


def misfits(root: Element) -> list[str]:
    """Where a document is not as it should be."""
    suites = list(root)
    wrong = [] if (root.tag, root.attrib) == ("testsuites", {}) else ["the root"]
    wrong += [] if [suite.tag for suite in suites] == ["testsuite"] else ["one suite"]
    for suite in suites:
        wrong += attributes(suite, SUITE)
        order = [child.tag for child in suite]
        cases = ["testcase"] * order.count("testcase")
        if order != ["properties", *cases, "system-out"]:
            wrong.append(f"the order {order}")
        for case in suite.iter("testcase"):
            wrong += attributes(case, CASE)
            wrong += outcome(case)
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
            if suite.get(name) != str(len(list(suite.iter(tag)))):
                wrong.append(f"the number of {name}")
        wrong += [
            f"property {entry.attrib}"
            for entry in suite.iterfind("properties/*")
            if (entry.tag, set(entry.attrib)) != ("property", {"name", "value"})
        ]
    return wrong


def attributes(element: Element, allowed: dict[str, str]) -> list[str]:
    if element.attrib.keys() != allowed.keys():
        return [f"{element.tag}: {sorted(element.attrib)}"]
    return [
        f"{element.tag}.{name}: {value!r}"
        for name, value in element.attrib.items()
        if not re.fullmatch(allowed[name], value)
    ]


def outcome(case: Element) -> list[str]:
    """At most one, with its attributes."""
    needed = {"failure": {"type", "message"}, "skipped": {"message"}}
    if len(case) > 1:
        return [f"{case.get('name')} has several outcomes"]
    return [
        f"{child.tag}: {sorted(child.attrib)}"
        for child in case
        if set(child.attrib) != needed.get(child.tag) or len(child)
    ]


def test_text_without_a_date_gets_none(tmp_path: Path) -> None:
    """CI servers would show it as a run of 1970."""
    scan = nagle_scan.scan(ROOT / "tests/printed/delta.txt")
    assert "timestamp" not in junit(scan, tmp_path)[0].attrib


def test_a_failure_is_about_its_server_alone_and_says_each_thing_once(tmp_path: Path) -> None:
    made = []
    for port in (80, 81, 82):
        made.append(Conversation(("10.0.0.1", 40000 + port), ("10.0.0.9", port), now_ms=port))
        made[-1].open()
        for delay_ms in (40.0, 0.0) * 4:
            made[-1].stall(delay_ms=delay_ms, first=20, second=30)
    scan = nagle_scan.scan(write(tmp_path / "three.pcap", interleaved(*made)), min_wait_ms=0.5)
    assert len(scan._result.core.groups()) == 6
    cases = [*junit(scan, tmp_path).iter("testcase")]
    assert len(cases) == 3
    for case in cases:
        (failure,) = case
        text = failure.text or ""
        assert text.count("Cost:") == 1
        own = {f"10.0.0.9:{port}" for port in (80, 81, 82)} & {case.get("name")}
        assert set(re.findall(r"10\.0\.0\.9:\d+", text)) <= own
        assert {f"port {port}" for port in re.findall(r"port (\d+)", text)} == {
            f"port {name.rpartition(':')[2]}" for name in own
        }


def test_what_is_only_possible_fails_no_test_but_is_reported(tmp_path: Path) -> None:
    made = connected(rtt_ms=26.0)
    made.may_hold()
    scan = nagle_scan.scan(write(tmp_path / "possible.pcap", made.frames))
    assert scan.verdict == "possible"
    root = junit(scan, tmp_path)
    assert list(root.iter("failure")) == []
    (text,) = root.iter("system-out")
    assert "may have held" in (text.text or "")


def test_a_capture_that_cannot_tell_is_skipped(tmp_path: Path) -> None:
    """A test that passes would say that the server is well."""
    scan = nagle_scan.scan(STALLS, filter="tcp port 1")
    (case,) = junit(scan, tmp_path).iter("testcase")
    assert [(child.tag, child.get("message")) for child in case] == [
        ("skipped", "No TCP packet matches the filter.")
    ]


def test_a_server_that_cannot_be_judged_is_skipped(tmp_path: Path) -> None:
    scan = nagle_scan.scan(CAPTURES / "labelled/body-200k-rtt26/server.pcap.gz")
    assert "inconclusive" in {row.verdict for row in scan._result.core.servers(9)}
    reasons = [entry.get("message") for entry in junit(scan, tmp_path).iter("skipped")]
    assert NOT_JUDGED in reasons


@pytest.mark.parametrize(
    "capture", [*SHIPPED, *LABELLED], ids=lambda path: str(path.relative_to(CAPTURES))
)
def test_it_is_as_specified_and_fails_where_the_gate_does(
    capture: Path, run: Run, tmp_path: Path
) -> None:
    """A pipeline stops, and its page of tests must show why; else neither."""
    scan = nagle_scan.scan(capture)
    root = junit(scan, tmp_path)
    assert misfits(root) == []
    status = run(capture, "-q").returncode
    assert bool(list(root.iter("failure"))) == (status == 1)
    outcomes = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert ("skipped" in outcomes.get("capture", [])) == (status == 4)
    of_verdict = {"stalls": ["failure"], "inconclusive": ["skipped"], "possible": [], "clean": []}
    for row in scan._result.core.servers(1000):
        assert outcomes[endpoint(row.addr, row.port)] == of_verdict[row.verdict]
