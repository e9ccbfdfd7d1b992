"""Changes that a run has noticed, for programs: `-o alert.json`, `-o alert.xml`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nagle_scan import _core
from nagle_scan.fleet import services
from nagle_scan.fleet.changes import Change
from nagle_scan.fleet.services import Row
from nagle_scan.fleet.table import Table
from nagle_scan.report.junit import FORBIDDEN
from nagle_scan.system import files
from nagle_scan.words import certainty

LEFT_OUT = ("fix", "hours")


def write(path: str, table: Table, changes: Sequence[Change], all_stalls: bool) -> None:
    """Writes the changes of this run, then all services. Raises `OutputError`."""
    every = table.rows(services.SERVICES)
    files.replace(path, FORMATS[path[path.rindex(".") :].lower()](every, changes, all_stalls))


def _json(every: Sequence[Row], changes: Sequence[Change], _: bool) -> bytes:
    document: Mapping[str, Any] = {
        "version": _core.VERSION,
        "changes": [one._asdict() for one in changes],
        "services": [
            {name: one for name, one in row.items() if name not in LEFT_OUT} for row in every
        ],
    }
    return json.dumps(document, indent=1, default=str).encode() + b"\n"


def _junit(every: Sequence[Row], changes: Sequence[Change], all_stalls: bool) -> bytes:
    """One test per service: it fails if the service has changed, or, with `--all-stalls`, if it
    loses time."""
    failing = {one.service or one.hosts: one for one in changes if one.is_failure}
    suite = Element("testsuite", name="nagle-scan fleet")
    failed = 0
    for row in every:
        name = FORBIDDEN.sub("?", row["service"])
        case = SubElement(suite, "testcase", name=name, classname="nagle-scan.fleet")
        total, change = services.total(row), failing.pop(row["service"], None)
        failed_by = change.sentence if change else ""
        if not failed_by and all_stalls and certainty.loses_time(total):
            failed_by = f"{row['service']}: {certainty.in_words(total)}"
        if failed_by:
            failed += 1
            text = FORBIDDEN.sub("?", failed_by)
            failure = SubElement(case, "failure", type=change.change if change else "stalls")
            failure.set("message", text)
            failure.text = FORBIDDEN.sub("?", row["change"])
    for name, change in failing.items():
        case = SubElement(suite, "testcase", name=FORBIDDEN.sub("?", name))
        case.set("classname", "nagle-scan.fleet")
        message = FORBIDDEN.sub("?", change.sentence)
        SubElement(case, "failure", type=change.change, message=message)
        failed += 1
    suite.set("failures", str(failed))
    suite.set("tests", str(len(suite)))
    ElementTree.indent(suite)
    content: bytes = ElementTree.tostring(suite, "utf-8", xml_declaration=True)
    return content + b"\n"


FORMATS: Mapping[str, Callable[[Sequence[Row], Sequence[Change], bool], bytes]] = {
    ".json": _json,
    ".xml": _junit,
}
