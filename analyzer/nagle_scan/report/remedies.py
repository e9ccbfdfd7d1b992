"""The part of the terminal report that says what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagle_scan import advice
from nagle_scan.report import held
from nagle_scan.report.findings import Finding
from nagle_scan.report.layout import Style, wrapped


def render(sender: str, finding: Finding, paths: Sequence[str], style: Style) -> Iterator[str]:
    """The remedies for what `sender` holds back, the settings under the one that they belong to."""
    yield f"\n{style.bold}What to change for {sender}{style.end} (the first that you can)\n"
    group = finding.group
    for number, remedy in enumerate(advice.for_group(group, paths), 1):
        where = remedy.where.format(sender=sender, receiver=held.receiver(finding))
        yield wrapped(f"  {number}. {where}: {remedy.what} {remedy.price}", "     ")
        if remedy.settings:
            yield f"     {remedy.known_by}"
        for setting in remedy.settings:
            yield wrapped(f"     - {setting}", "       ")
    test_well = advice.test_well(group)
    if test_well:
        yield "\n" + wrapped(f"  {test_well}", "  ")
