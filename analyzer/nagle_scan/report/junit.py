"""`-o junit.xml`: a test per server. It fails where a stall is likely.

The form satisfies the schema of Jenkins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nagle_scan import _core
from nagle_scan.report import header, held, verdicts
from nagle_scan.report.view import Limits, View
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.wording import endpoint, file_names, printable, sentence_start

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

LIMITS = Limits(groups=1000, fixes=5, servers=1000)
NOT_JUDGED = "No stall found, but most of this server's connections cannot be judged."
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Not allowed in XML 1.0, not even escaped."""

OUTCOMES = {"failures": "failure", "errors": "error", "skipped": "skipped"}
Groups = Sequence[_core.ServerGroupRow]


HEAD = b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites>\n"
BETWEEN = b"\n"
TAIL = b"\n</testsuites>\n"


def write(result: Result, path: str, options: Options) -> None:
    """Writes the tests. Raises `OutputError`."""
    name = file_names(result.captures)
    files.replace(path, HEAD + part(result, options, name) + TAIL)


def part(result: Result, options: Options, name: str) -> bytes:
    """The tests of one capture."""
    view = View(result, LIMITS, options)
    lost_ms = certainty.counted_ms(view.summary) if view.summary.stalls else 0.0
    suite = Element("testsuite", time=_seconds(lost_ms))
    if view.summary.has_dates:
        begin = datetime(1970, 1, 1) + timedelta(microseconds=view.summary.first_ns // 1000)
        suite.set("timestamp", begin.isoformat(timespec="seconds"))
    properties = SubElement(suite, "properties")
    for key, value in _properties(view):
        SubElement(properties, "property", name=key, value=_allowed(value))
    _add_cases(suite, view)
    SubElement(suite, "system-out").text = _allowed("\n".join(_output(view)))
    return _finished(suite, name)


def unusable(name: str, reason: str) -> bytes:
    """A capture that cannot be read, as an error."""
    suite = Element("testsuite")
    SubElement(_case(suite, "capture"), "error", type="unusable", message=_allowed(reason))
    return _finished(suite, name)


def _finished(suite: Element, name: str) -> bytes:
    """With a name, in which spaces stand alone, and counts."""
    named = " ".join(_allowed(name).split()) or "capture"
    suite.attrib |= {"name": named, "tests": str(len(suite.findall("testcase")))}
    for counted, outcome in OUTCOMES.items():
        suite.set(counted, str(len(suite.findall(f"testcase/{outcome}"))))
    for case in suite.findall("testcase"):
        # A dot would part a package from its class.
        case.set("classname", f"nagle-scan.{named.replace('.', '_')}")
    ElementTree.indent(suite, level=1)
    content: bytes = ElementTree.tostring(suite, "utf-8")
    return b"  " + content


def _allowed(text: str) -> str:
    return FORBIDDEN.sub("", text)


def _properties(view: View) -> list[tuple[str, str]]:
    result = view.result
    known = [("version", _core.VERSION), ("min_wait_ms", f"{result.options.min_wait_ms:g}")]
    if result.options.filter is not None and not result.is_anonymized:
        known.append(("filter", result.options.filter))
    return known


def _add_cases(suite: Element, view: View) -> None:
    """The stalling servers, the others, and the capture as a whole if it is inconclusive."""
    stalling: dict[str, list[_core.ServerGroupRow]] = {}
    for group in view.shown_groups:
        stalling.setdefault(held.server(group.worst), []).append(group)
    others = {endpoint(row.addr, row.port): row for row in view.servers}
    for server, groups in stalling.items():
        case = _case(suite, server, sum(map(certainty.counted_ms, held.that_count(groups))))
        _judge(case, groups, view)
    for server in [server for server in others if server not in stalling]:
        case = _case(suite, server)
        if others[server].verdict == "inconclusive":
            SubElement(case, "skipped", message=NOT_JUDGED)
    if view.summary.verdict == "inconclusive":
        message = sentence_start(verdicts.cannot_tell(view.summary))
        SubElement(_case(suite, "capture"), "skipped", message=message)
    elif suite.find("testcase") is None:
        _case(suite, "capture")


def _case(suite: Element, name: str, lost_ms: float = 0.0) -> Element:
    return SubElement(suite, "testcase", name=name, time=_seconds(lost_ms))


def _judge(case: Element, groups: Groups, view: View) -> None:
    """Possible stalls do not fail a test."""
    surely = [group for group in groups if not certainty.is_only_possible(group)]
    if not surely:
        return
    failure = SubElement(case, "failure", type=surely[0].worst.cause)
    failure.set("message", _allowed(view.sentence(surely[0])))
    sentences = [view.sentence_and_option(group) for group in surely]
    fixes = view.fixes_of({held.party(group) for group in surely})
    failure.text = _allowed("\n".join(filter(None, [*sentences, *(fix.in_full for fix in fixes)])))


def _output(view: View) -> list[str]:
    """Sentences that belong to no single test, and possible stalls."""
    possible = [group for group in view.shown_groups if certainty.is_only_possible(group)]
    hidden = view.groups_more + view.servers_more
    return [
        f"{verdicts.in_one_line(view.summary)}.",
        *(item.text for item in header.of(view) if item.head in header.OF_CALLS),
        *(view.sentence_and_option(group) for group in possible),
        *(f"{sentence_start(printable(note))}." for note in (*view.urgent, *view.notes)),
        *([f"{hidden:,} more servers are not listed."] if hidden else []),
    ]


def _seconds(milliseconds: float) -> str:
    """The duration of a test: the time lost to stalls that count."""
    return f"{milliseconds / 1000:.3f}"
