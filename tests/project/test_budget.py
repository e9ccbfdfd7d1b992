"""A law against growth: `[tool.nagle-scan.budget]` in pyproject.toml.

Whoever needs more takes something away, or raises a number in a commit that says what users gain.
Whoever takes something away lowers its number: `make budget`.
"""

from __future__ import annotations

from pathlib import Path

import budget
import pytest

MEASURED, ALLOWED = budget.measured(), budget.allowed()
NUMBERS = [(table, name) for table, numbers in MEASURED.items() for name in numbers]


def test_everything_that_is_measured_has_a_limit_and_nothing_else() -> None:
    assert [(table, name) for table, numbers in ALLOWED.items() for name in numbers] == NUMBERS


@pytest.mark.parametrize(("table", "name"), NUMBERS)
def test_nothing_grows_and_what_fell_stays_down(table: str, name: str) -> None:
    number, limit = MEASURED[table][name], ALLOWED[table][name]
    assert 0 <= number <= limit
    # Half a per cent is written; a fall by as much again has to be.
    spare = budget.most(table, number) - number
    assert limit <= number + 2 * spare, "make budget"


FILES = {
    "one.py": '"""What it does."""\n\n# Of two lines,\n# as many are.\nX = "#"  # The rest.\n',
    "one.rs": "//! Those that run.\n\n/// A noun,\n/// what follows.\nfn one() {} // As is.\n",
}
"""A second line begins no comment, nor does one behind code in Rust."""


@pytest.mark.parametrize("name", FILES)
def test_comments_and_docstrings_count_by_their_first_word(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    found = [text for text in budget.comments(tmp_path / name) if budget.BARE.match(text)]
    assert len(found) == {"one.py": 2, "one.rs": 1}[name]
