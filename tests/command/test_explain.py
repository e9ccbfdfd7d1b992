"""`--explain`; docs/causes.md has the same text."""

from __future__ import annotations

import pytest
from conftest import Run, in_a_terminal
from nagle_scan import _core
from nagle_scan.command import explain
from nagle_scan.system.terminal import PLAIN, WIDTH


@pytest.mark.parametrize("cause", _core.CAUSES)
def test_it_prints_the_whole_text_and_needs_no_wide_terminal(cause: str, run: Run) -> None:
    done = run("--explain", cause)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    documented = (_core.explain(cause) or "").replace("`", "").replace("# ", "")
    assert text.split() == [cause, *documented.split()]
    assert all(len(line) <= WIDTH for line in text.splitlines())


@pytest.mark.parametrize("cause", ["nagle", "mod", "tests", "", "x\x1b[31m"])
def test_an_unknown_cause_is_an_error_that_lists_them(cause: str, run: Run) -> None:
    done = run("--explain", cause)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no such cause" in done.stderr
    assert b"\x1b" not in done.stderr
    assert all(name.encode() in done.stderr for name in _core.CAUSES)


def test_headings_stand_out_on_a_terminal_only(run: Run) -> None:
    assert "\x1b[1mWhat to do\x1b[0m" in in_a_terminal("--explain", "unknown", env={"NO_COLOR": ""})
    assert b"\x1b" not in run("--explain", "unknown").stdout


def test_items_of_a_list_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "explain", lambda _: "# What to do\nEither:\n- one\n  line\n- two\n")
    assert explain.render("x", PLAIN).splitlines()[3:] == ["  Either:", "  - one line", "  - two"]
