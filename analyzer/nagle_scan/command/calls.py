"""`--calls` without a capture: what a trace says by itself, or how to make one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.api import calls
from nagle_scan.command.gate import EXIT_CANNOT_TELL, EXIT_PASSED
from nagle_scan.errors import OutputError
from nagle_scan.report import trace
from nagle_scan.report.formats import TEXT
from nagle_scan.system import terminal

if TYPE_CHECKING:
    from nagle_scan.command.chosen import Chosen

TRACED = (
    "%network,read,readv,write,writev,sendfile,splice,close,dup,dup2,dup3,fcntl,clone,clone3,fork,"
    "vfork,io_uring_setup"
)
COMMAND = f"""\
Trace the program while tcpdump captures; then: nagle-scan traffic.pcap --calls calls.txt

  strace -f --seccomp-bpf -ttt -yy -e trace={TRACED} -o calls.txt PROGRAM

Of a running program (strace -p does without --seccomp-bpf):

  strace -f -ttt -yy -e trace={TRACED} -o calls.txt -p PID

Add -k for a minute to learn which function writes. Measured: with --seccomp-bpf a call that is not
traced costs nothing; each traced call costs 30 to 50 us, with -k 640 us."""


def command() -> int:
    """Prints the call of strace."""
    terminal.say(COMMAND)
    return EXIT_PASSED


def alone(options: Chosen) -> int:
    """Reads a trace without a capture. Raises `CaptureError`, `OutputError`."""
    if options.why is not None or options.baseline:
        raise OutputError("--why and --baseline need a capture beside --calls")
    if options.output or options.format not in (TEXT, "json"):
        raise OutputError("--calls without a capture prints text or --format json only")
    sums = json.loads(calls.read(options.calls, _core.Progress()).alone())
    hides = options.anonymize
    if hides:
        trace.anonymize(sums)
    if options.format != TEXT:
        terminal.say(json.dumps(sums, separators=(",", ":")))
    else:
        names = "trace" if hides else ", ".join(options.calls)
        terminal.say(trace.render(sums, names, terminal.style(), hides=hides))
    return EXIT_PASSED if options.exit_zero else EXIT_CANNOT_TELL
