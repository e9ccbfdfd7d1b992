"""Calls that cannot work: one line says why, and nothing is written."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from conftest import CAPTURES, Run, assert_refused

FILES = {
    "stalls.pcap": "java-split.pcap",
    "clean.pcap": "java-single-write.pcap",
    "five.pcap": "epoll-fd0.pcap",
    "before.pcap": "jdk-httpserver.pcap",
    "after.pcap": "jdk-httpserver-nodelay.pcap",
    "own": "java-split.pcap",
    "own.json": "java-split.pcap",
    "trace": "calls/epoll-fd0.strace",
}
MAP = "after.pcap --baseline before.pcap --baseline-map"
DIGITS = "1" * 5000
NUMBERS = ("0", "-5", "nan", "inf", "10ms")
NO_NAMES = ("", "<b>", "a\x1b[31m", "a" * 64, "zürich")
CALLS = {
    "": "capture",
    "/no/such.pcap --exit-zero": "/no/such.pcap: cannot read: no such file",
    "stalls.pcap /no/such.pcap --merge": "/no/such.pcap: cannot read: no such file",
    "- -": "-: standard input",
    "after.pcap --baseline /no/such.pcap": "/no/such.pcap: no such file",
    "- --baseline -": "standard input",
    "stalls.pcap clean.pcap --baseline-map 1.1.1.1:1=1.1.1.1:2": "there is no --baseline\n",
    # Options.
    **dict.fromkeys(
        (f"stalls.pcap '--{name}'" for name in ("no-such", "\x1b[31mred", "\nnew", "\udcff")),
        "--help",
    ),
    "--bseline b.pcap stalls.pcap": "unknown option --bseline: did you mean --baseline?",
    "--bseline=b.pcap stalls.pcap": "unknown option --bseline: did you mean --baseline?",
    "-baseline stalls.pcap": "unknown option -baseline: did you mean --baseline?",
    # A script with `--out` would break on the day `--outline` is added.
    "stalls.pcap --out a.json": "unknown option --out: did you mean --output?",
    "fleet --scheduller x": "unknown option --scheduller: did you mean --scheduler?",
    # Values.
    **dict.fromkeys(
        (f"stalls.pcap -f '{text}'" for text in ("tcp prot 80", "port", "\x1b[31m", "(", "a\nb")),
        "filter",
    ),
    "stalls.pcap -f 'host \udcff'": "UTF-8",
    **dict.fromkeys(
        (f"stalls.pcap --min-wait='{value}'" for value in ("", "soon", *NUMBERS, "\x1b[31m10")),
        "--min-wait: expected milliseconds",
    ),
    **dict.fromkeys(
        (f"stalls.pcap --max-lost='{value}'" for value in ("", "1", "-1s", "1h")),
        "argument --max-lost: ",
    ),
    "stalls.pcap --from 5 --to 2": "--from must be before --to\n",
    f"{MAP} 127.0.0.1:8000": "expected OLD=NEW",
    f"{MAP} a:1=b:2": "'a:1' is not a server",
    f"{MAP} 10.0.0.1=10.0.0.2": "'10.0.0.1' is not a server",
    f"{MAP} ::1=1.1.1.1:1": "'::1' is not a server",
    f"{MAP} 127.0.0.1:{DIGITS}=1.1.1.1:1": "1' is not a server",
    f"{MAP} 127.0.0.1:99999=127.0.0.1:8080": "'127.0.0.1:99999' is not a server",
    f"{MAP} 127.0.0.1:1=127.0.0.1:8080": "127.0.0.1:1 is not a server in the baseline",
    f"{MAP} 127.0.0.1:8080=127.0.0.1:1": "127.0.0.1:1 is not a server in the new capture",
    f"{MAP} 1.1.1.1:1=1.1.1.1:2 --baseline-map 1.1.1.1:1=1.1.1.1:3": "1.1.1.1:1 is there twice",
    # Outputs of no known kind, which are refused before the capture is opened.
    **dict.fromkeys(
        (f"/no/such.pcap -o '{name}'" for name in ("x.txt", "x", "json", "x.json.bak", "")),
        "has no known suffix (.json, .jsonl, ",
    ),
    "/no/such.pcap -o '\x1b[2J.xls'": "has no known suffix: did you mean .xml?",
    "stalls.pcap -o x.jsn": "'x.jsn' has no known suffix: did you mean .json?",
    "stalls.pcap -o caf\udce9": r"'caf\xe9' has no known suffix",
    "stalls.pcap -o caf\udce9.json": r"'caf\xe9.json' is not UTF-8",
    "stalls.pcap -o a/ -o b/": "reports go to one folder",
    "stalls.pcap -o stalls.pcap/in/": "stalls.pcap/in",
    "stalls.pcap -o - --format zip": "invalid choice: 'zip'",
    "stalls.pcap --format=png": "argument --format: ",
    # Files that are read.
    "own own.json -o ./": "would overwrite",
    "after.pcap --baseline own.json -o own.json": "overwrite",
    "stalls.pcap --names hosts.md -o hosts.md": "overwrite",
    # One capture only.
    "stalls.pcap clean.pcap -o a.json": "a.json: for one capture only: use -o DIR/, .jsonl, .xml\n",
    "stalls.pcap clean.pcap --format csv": "--format csv: for one capture only: use -o FILE\n",
    "stalls.pcap clean.pcap --baseline before.pcap": "--baseline compares one capture: name one\n",
    "stalls.pcap clean.pcap --why 5": "frames are counted in one capture: name one\n",
    "stalls.pcap clean.pcap --stream 2": "counted in one capture: name one",
    # Parts of a capture, which are printed as text.
    "five.pcap --stream 99": "it has 0 to 4",
    "five.pcap --stream x": "expected a number",
    "five.pcap --stream 2 -o a.json": "--stream prints text",
    "five.pcap --why 9 -o a.json": "--why prints text",
    "five.pcap --why 9 -o -": "--why prints text",
    "five.pcap --why 9 --format json": "--why prints text",
    "five.pcap --why=0": "expected a frame number",
    "five.pcap --why=x": "expected a frame number",
    "five.pcap --why=-3": "expected a frame number",
    "five.pcap --why 999999": "frame 999999 ends no wait of 10 ms or more, nor is it the start or "
    "the ACK of one\n",
    # Names.
    "stalls.pcap --names payments": "payments: cannot read the names: no such file",
    "stalls.pcap --names 10.0.0=payments": "'10.0.0' is no IP address",
    **dict.fromkeys(
        (f"stalls.pcap --names '10.0.0.5={name}'" for name in NO_NAMES),
        "is no name: 1 to 63 letters, digits, '.', '-' and '_'",
    ),
    # Traces.
    "five.pcap --calls five.pcap": "no system call",
    "five.pcap --calls missing.txt": "no such file",
    "- --calls trace": "must be a file",
    "--calls trace -o x.json": "without a capture",
    # Assistants.
    "mcp": "the following arguments are required: --root",
    "mcp --root nowhere": "nowhere: not a folder",
    "mcp --root . --reports trace": "trace: cannot write: file exists",
}
"""Words of a call, and the refusal."""


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_that_cannot_work_is_told_why(call: str, run: Run, tmp_path: Path) -> None:
    for name, capture in FILES.items():
        shutil.copy(CAPTURES / capture, tmp_path / name)
    (tmp_path / "hosts.md").write_text("127.0.0.1 payments\n")
    before = contents(tmp_path)
    assert_refused(run(*shlex.split(call), cwd=tmp_path), CALLS[call])
    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
