"""What to change, for each side that holds something back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nagle_scan import advice
from nagle_scan.report import held
from nagle_scan.report.findings import Finding

MAX_FIXES = 2


class Fix(NamedTuple):
    """What to change for one side that holds data back."""

    sender: str
    remedies: Sequence[advice.Remedy]
    test_well: str


def fixes(found: Sequence[Finding], paths: Sequence[str], first_told: bool) -> list[Fix]:
    """For each side that holds something back; its costliest cause decides."""
    chosen = held.by_party(found, MAX_FIXES)
    return [_fix(sender, finding, paths, first_told) for sender, finding in chosen]


def _fix(sender: str, finding: Finding, paths: Sequence[str], first_told: bool) -> Fix:
    places = {"sender": sender, "receiver": held.receiver(finding)}
    remedies = [
        remedy._replace(where=remedy.where.format(**places))
        for remedy in advice.for_group(finding.group, paths)
    ]
    return Fix(sender, remedies, advice.test_well(finding.group, first_told=first_told))
