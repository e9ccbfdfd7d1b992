"""Lines of code from the addresses of a trace, if the program's file is the one that was traced."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nagle_scan import _core
from nagle_scan.api import calls

SOURCE = """int write(int, const char *, int);
static inline __attribute__((always_inline)) void push(int fd) {
    write(fd, "x", 1); }
__attribute__((noinline)) void put(int fd) { push(fd); }
void head(int fd) { put(fd); }
void body(int fd) { put(fd); }
int main(void) { head(1); body(1); return 0; }
"""
TOOLS = "cc", "nm", "addr2line"
needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason="needs a compiler and binutils"
)


def built(folder: Path, *options: str) -> Path:
    source, program = folder / "split.c", folder / "split"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-g", *options, "-o", program, source], check=True)
    return program


def frame(program: Path, function: str, shown: str = "") -> str:
    """A return address within the function, as strace prints it: the place in the file."""
    symbols = subprocess.run(
        ["nm", "-S", program], check=True, capture_output=True, text=True
    ).stdout
    rows = [row.split() for row in symbols.splitlines()]
    begin, size = next((int(row[0], 16), int(row[1], 16)) for row in rows if row[-1] == function)
    address = begin + size // 2
    base = 0x400000 if address > 0x400000 else 0
    return f" > {program}({shown or function}+0xa) [{address - base:#x}]\n"


def written(trace: Path, program: Path, text: str, clock: str = "{} ") -> None:
    """Writes a trace that began when the program was there; `@` stands for the stamp of a line."""
    began_ns = time.time_ns()
    while began_ns <= program.stat().st_ctime_ns + 1000:
        began_ns = time.time_ns()
    stamp = clock.format(f"{began_ns / 1e9:.6f}")
    trace.write_text(text.replace("@", stamp))
    while trace.stat().st_ctime_ns <= began_ns + 1000:
        trace.write_text(text.replace("@", stamp))


def read(program: Path, trace: Path, shown: str = "", clock: str = "{} ") -> tuple[str, ...]:
    """The functions and callers of two writes, and the command."""

    def write(size: int, caller: str) -> str:
        frames = frame(program, "put", shown) + frame(program, caller)
        return f'@write(4, "", {size}) = {size}\n{frames}'

    begin = "@accept(3, {sa_family=AF_INET, sin_port=htons(9)}, [16]) = 4\n"
    text = begin + write(143, "head") + write(6, "body") + '@read(4, "", 9) = 9\n'
    written(trace, program, text, clock)
    found = json.loads(calls.read(trace, _core.Progress()).alone())
    (pattern,) = found["patterns"]
    first, last = pattern["first"], pattern["last"]
    return first["function"], first["caller"], last["function"], last["caller"], *found["addr2line"]


@needs_tools
@pytest.mark.parametrize("option", ["-pie", "-no-pie"])
def test_lines_of_inlined_functions_and_of_callers(option: str, tmp_path: Path) -> None:
    program = built(tmp_path, option, "-fPIE" if option == "-pie" else "-fno-pie")
    assert read(program, tmp_path / "calls.txt") == (
        *("push (split.c:3)", "head (split.c:5)"),
        *("push (split.c:3)", "body (split.c:6)"),
    )


def changed_later(program: Path) -> dict[str, str]:
    program.touch()
    return {"clock": "1700000000.5 "}


def writable(program: Path) -> dict[str, str]:
    program.chmod(0o777)
    return {}


def of_a_parcel(program: Path) -> dict[str, str]:
    """The trace does not tell when it was made: both may be new here."""
    program.touch()
    return {"clock": ""}


def made_up(program: Path) -> dict[str, str]:
    program.touch()
    return {"clock": "4000000000.5 "}


def linked(program: Path) -> dict[str, str]:
    program.rename(program.with_name("elsewhere"))
    program.symlink_to("elsewhere")
    return {}


@needs_tools
@pytest.mark.parametrize("change", [changed_later, writable, of_a_parcel, made_up, linked])
def test_a_program_that_may_be_another_has_no_lines(
    change: Callable[[Path], dict[str, str]], tmp_path: Path
) -> None:
    program = built(tmp_path)
    how = change(program)
    put, head, _, body, command = read(program, tmp_path / "calls.txt", **how)
    assert (put, head, body) == ("put", "head", "body")
    assert command.startswith("addr2line -Cfpie split 0x")


@needs_tools
def test_another_function_is_at_another_place(tmp_path: Path) -> None:
    """The addresses do not mean this file."""
    function, caller, *_ = read(built(tmp_path), tmp_path / "calls.txt", "another")
    assert (function, caller) == ("another", "head (split.c:5)")


def test_nothing_is_run_for_what_is_no_file_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that leaves a mark stands in for addr2line."""
    mark, tool = tmp_path / "mark", tmp_path / "addr2line"
    tool.write_text(f"#!/bin/sh\ntouch {mark}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    pipe, trace = tmp_path / "pipe", tmp_path / "calls.txt"
    os.mkfifo(pipe)
    for path in [pipe, tmp_path, "/dev/zero", "/proc/self/exe", tmp_path / "../x", "-e", "none"]:
        trace.write_text(
            f'write(4, "", 6) = 6\n > {path}(main+0x12) [0x1234]\nread(4, "", 9) = 9\n'
        )
        calls.read(trace, _core.Progress())
        assert not mark.exists(), path
    program = tmp_path / "program"
    shutil.copy("/bin/sh", program)
    written(trace, program, f'@write(4, "", 6) = 6\n > {program}(main+0x12) [0x1234]\n')
    calls.read(trace, _core.Progress())
    assert mark.exists()
