"""A fact is declared in one place, and few others spell its name.

Where a name stands in many files, a reader cannot tell which of them decides, and a change of one
leaves the others behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from nagle_scan import _core
from nagle_scan.words.causes import CAUSES

MOST_FILES = 3
"""Files that may spell a name: the one that declares it, one with its words, and one more."""
TESTS = "#[cfg(test)]\nmod tests {"
FIELDS = re.compile(r'"([a-z0-9]+(?:_[a-z0-9]+)+)"')


def code(*rooms: str) -> Iterator[tuple[Path, str]]:
    """The files of some rooms with their text, without tests."""
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.[rp][sy]")):
            if "tests" not in path.parts and path.name != "tests.rs":
                yield path, path.read_text().partition(TESTS)[0]


ENGINE = dict(code("analyzer/src"))
ALL = ENGINE | dict(code("analyzer/nagle_scan"))
NAMES = [*(name for name, *_ in _core.reasons()), *(cause.name for cause in CAUSES)]


def spelling(name: str, texts: dict[Path, str]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path, text in texts.items() if f'"{name}"' in text]


# A word such as `unknown` is a name of other things as well.
@pytest.mark.parametrize("name", [name for name in NAMES if "_" in name])
def test_few_files_spell_a_reason_or_a_cause(name: str) -> None:
    assert 0 < len(spelling(name, ALL)) <= MOST_FILES, spelling(name, ALL)


def test_few_files_of_the_engine_spell_a_field() -> None:
    rows = {path: text for path, text in ENGINE.items() if path.parent.name == "fields"}
    others = {path: text for path, text in ENGINE.items() if path not in rows}
    names = {name for text in rows.values() for name in FIELDS.findall(text)}
    assert len(names) > 50
    often = {name: spelling(name, others) for name in names}
    assert not {name: files for name, files in often.items() if len(files) >= MOST_FILES}
