"""Parts of the pages of docs that come from the source: the site puts each where its mark is.

A part is not in the page as it is committed: `<!-- every cause -->` stands for all causes.
"""

import ast
from collections.abc import Callable

from nagle_scan import _core
from nagle_scan.advice import programs
from nagle_scan.command import explain
from nagle_scan.fleet import fields as fleet

ROWS = """
### {rows}s

| field | type | where | meaning |
|---|---|---|---|
"""


def causes() -> str:
    """The text of each cause, as `--explain` prints it."""
    parts = []
    for cause in _core.CAUSES:
        parts.append(f"## `{cause}`\n")
        parts += [f"### {head}\n\n{text}\n" for head, text in explain.sections(cause).items()]
    return "\n".join(parts)


def settings() -> str:
    """The settings that turn Nagle's algorithm off, one row each, by program."""
    rows = [
        f"| {setting.program}{f', {setting.service}' if setting.service else ''} "
        f"| {setting.role or 'either'} | `{setting.knob}` | {setting.note} "
        f"| [{setting.source.removeprefix('https://')}]({setting.address}) |\n"
        for setting in sorted(
            programs.SETTINGS + programs.UNNAMED, key=lambda row: row.program.lower()
        )
    ]
    return "| program | end | setting | remark | source |\n|---|---|---|---|---|\n" + "".join(rows)


def fields() -> str:
    """The fields of each kind of row."""
    page, last = "", ""
    outputs_of: dict[tuple[str, str, str, str], list[str]] = {}
    for row, name, kind, _, _, outputs, meaning in _core.fields():
        outputs_of.setdefault((row, name, kind, meaning), []).extend(outputs)
    for (row, name, kind, meaning), outputs in outputs_of.items():
        if row != last:
            page += ROWS.format(rows=row.capitalize())
        page += f"| `{name}` | {kind} | {', '.join(outputs)} | {meaning} |\n"
        last = row
    return page


def columns() -> str:
    """The columns of a fleet's tables; those of all tables come first."""
    tables = fleet.tables()
    in_all = [field for field in fleet.CAPTURES if all(field in of for of in tables.values())]
    text = f"#### Columns of all tables\n{_table(in_all)}"
    for name, of in tables.items():
        own = [field for field in of if field not in in_all]
        text += f"\n#### Columns of `{name}`\n{_table(own)}"
    return text


def _table(fields: list[fleet.Field]) -> str:
    rows = (f"| `{name}` | {kind} | {meaning} |\n" for name, kind, meaning in fields)
    return "\n| column | type | meaning |\n|---|---|---|\n" + "".join(rows)


def thresholds() -> str:
    """The thresholds of the engine, one row each."""
    rows = (
        f"| `{name}` | {measure(value, unit)} | {reason} | {source} | {larger} |\n"
        for name, value, unit, reason, source, larger in _core.thresholds()
    )
    head = "| threshold | value | reason | source | a larger value |\n|---|---:|---|---|---|\n"
    return head + "".join(rows)


def measure(value: str, unit: str) -> str:
    """A threshold's value and unit, as people write them."""
    number = ast.literal_eval(value)
    match unit:
        case "ns":
            return f"{number / 1e6:,.10g} ms"
        case "one_of":
            several = number if isinstance(number, tuple) else (number,)
            return ", ".join(f"1/{one:g}" for one in several)
        case "ratio":
            return "{}/{}".format(*number)
        case _:
            return f"{digits(number)} {unit.replace('_', ' ')}"


def digits(number: object) -> str:
    """A number, or several: those that belong together in parentheses."""
    if isinstance(number, (tuple, list)):
        several = (f"({digits(one)})" if isinstance(one, tuple) else digits(one) for one in number)
        return ", ".join(several)
    return f"{number:,.10g}"


PARTS: dict[str, Callable[[], str]] = {
    "<!-- every cause -->\n": causes,
    "<!-- every setting -->\n": settings,
    "<!-- every field -->\n": fields,
    "<!-- every column -->\n": columns,
    "<!-- every threshold -->\n": thresholds,
}


def filled(page: str) -> str:
    """The page with these parts in the places of their marks."""
    for mark, part in PARTS.items():
        if mark in page:
            page = page.replace(mark, part())
    return page
