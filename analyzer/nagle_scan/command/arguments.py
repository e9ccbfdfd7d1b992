"""The options of the command, in groups, and their help."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.api import keys
from nagle_scan.command import values
from nagle_scan.command.chosen import Chosen
from nagle_scan.command.parser import Parser, epilog
from nagle_scan.report import formats
from nagle_scan.report.formats import FORMATS, OF_MANY, PRINTED
from nagle_scan.result.options import DEFAULT_MIN_WAIT_MS
from nagle_scan.system import terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


DESCRIPTION = """\
Finds Nagle and delayed-ACK stalls (40 ms, 200 ms) in packet captures, proves
them frame by frame, and tells you what to change, and on which side."""
SHORT = f"""\
usage: nagle-scan [options] CAPTURE...

{DESCRIPTION}

  CAPTURE          pcap, pcapng, tcpdump's printed output, or a folder of them;
                   '-' reads standard input

  -f BPF           only packets matching this capture filter: 'tcp port 8080'
  -o FILE          also write report.html, ticket.zip, result.json, junit.xml...
  --baseline FILE  compare with a capture from before a change: did it help?
  --anonymize      replace IP addresses in every output
  -q               print only the verdict, in one line
  --explain CAUSE  explain a cause of waits

example:
  tcpdump -i eth0 -s 256 -w traffic.pcap tcp port 8888
  nagle-scan traffic.pcap -o report.html

All options and formats: nagle-scan --help
Thousands of captures, or a cluster: nagle-scan fleet --help"""
EXAMPLES = """\
tcpdump -i eth0 -s 256 -w traffic.pcap tcp port 8888
nagle-scan traffic.pcap
nagle-scan fleet 'captures/**/*.pcap*' -o fleet/
"""
EXIT_STATUS = """\
0 clean or possible, 1 stalls, 2 unusable input or call, 3 a bug, 4
inconclusive, 130 interrupted (Ctrl-C): reports what was read so far; of several
captures: that of the worst (1, 2, 4, 0)
"""
FLEET = """\
thousands of captures, or a cluster: nagle-scan fleet --help
questions of an assistant (MCP): nagle-scan mcp --help"""


def file_formats() -> str:
    """The formats, one per line."""
    suffixes = [" ".join(format.suffixes) for format in FORMATS]
    width = max(map(len, suffixes))
    lines = zip(suffixes, FORMATS, strict=True)
    return "\n".join(f"  {suffix:<{width}}  {format.about}" for suffix, format in lines)


def _epilog() -> str:
    """The text below the options."""
    formats_of = f"formats of -o and --format, by suffix:\n{file_formats()}"
    return f"{formats_of}\n\n{epilog(EXAMPLES, EXIT_STATUS)}\n{FLEET}\n"


class _Ends(argparse.Action):
    """Prints something and exits, as `--help` does."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option: str | None = None,
    ) -> None:
        """Prints the short help for `-h`, else a cause."""
        del namespace
        if option == "-h":
            terminal.say(SHORT)
        else:
            _explain(parser, values)
        parser.exit()


def _explain(parser: argparse.ArgumentParser, cause: str | Sequence[object] | None) -> None:
    """Prints the documentation of a cause, or lists all if none, or an unknown one, is named."""
    from nagle_scan.command import explain

    if cause is not None and cause not in _core.CAUSES:
        print(explain.listing(terminal.PLAIN), file=sys.stderr)
        parser.error(f"no such cause: {cause!r}")
    style = terminal.style()
    terminal.say(explain.render(str(cause), style) if cause else explain.listing(style))


FLAG: Mapping[str, Any] = {"action": "store_true"}
MANY: Mapping[str, Any] = {"action": "append", "default": []}
FILE: Mapping[str, Any] = {"metavar": "FILE", "type": values.utf8}
TIME: Mapping[str, Any] = {"metavar": "TIME", "type": values.seconds}
FILTER = "only packets matching this capture filter"
ANONYMIZE = (
    "replace IP addresses in every output, prefix-preserving (ipcrypt-pfx), and remove anything "
    f"else that may contain one; {keys.VARIABLE} holds the key, as `openssl rand -hex 32` makes it"
)
OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "capture": (
        {"nargs": "*", "type": values.utf8},
        "pcap, pcapng, tcpdump's printed output, or a folder of captures; '-' reads standard input",
    ),
    "--merge": (
        FLAG,
        "read all files as one capture (default: merge only files named like one rotation)",
    ),
    "-f --filter": (
        {"metavar": "BPF", "type": values.utf8},
        f"{FILTER} (also in --baseline)",
    ),
    "--from": (
        {"dest": "since", **TIME},
        "only packets at or after this time: '2026-11-23 12:00:00.5' (local; Z or +01:00 behind it "
        "for others), or seconds",
    ),
    "--to": ({"dest": "until", **TIME}, "only packets before this time, as --from"),
    "--min-wait": (
        {"metavar": "MS", "type": values.milliseconds, "default": DEFAULT_MIN_WAIT_MS},
        f"list no wait shorter than this (default {DEFAULT_MIN_WAIT_MS:g}); below "
        f"{DEFAULT_MIN_WAIT_MS:g} it also searches for shorter stalls",
    ),
    "-o --output": (
        {**MANY, "metavar": "FILE", "type": values.output},
        "also write the result, in the format of the suffix, listed below (may be repeated); "
        f"{', '.join(OF_MANY)} hold several captures; DIR/ gets the reports of each and an "
        "index.html; '-' is standard output, in the format of --format",
    ),
    "--format": (
        {"metavar": "FORMAT", "choices": PRINTED},
        "format on standard output: one of the text formats below (json, md ...); default: text, "
        "the report",
    ),
    "-q --quiet": (
        {"action": "store_const", "const": 1, "default": 0},
        "print only the verdict, in one line",
    ),
    "--names": (
        {**MANY, "metavar": "FILE|ADDRESS=NAME", "type": values.names},
        "show names instead of IP addresses: of a file in the format of /etc/hosts, or a .csv with "
        "address and service, or one, as 10.0.0.5=payments (may be repeated); .json has both, .csv "
        "keeps the address",
    ),
    "--calls": (
        {**MANY, "metavar": "TRACE", "nargs": "?", "const": "", "type": values.utf8},
        "what strace wrote of the program meanwhile (a file, the folder of -ff, '-'; may be "
        "repeated): names the calls that wrote what was held, and proves it; without a capture it "
        "looks for the pattern; without TRACE it prints the strace command to use",
    ),
    "--why": (
        {"metavar": "FRAME", "type": values.number("a frame number", 1)},
        "print only why the wait that this frame ended counts as held or not: the numbers from "
        "which its probability is computed",
    ),
    "--stream": (
        {"metavar": "N", "type": values.number("a number")},
        "print only this connection (tcp.stream): its stalls, why the clearest is one, its other "
        "waits",
    ),
    "--baseline": (
        {**MANY, **FILE},
        "compare with a capture of the same service from before a change (may be repeated for a "
        "rotated set); exit status: 1 stalls remain or got worse, 0 none left, 4 cannot tell, or "
        "the servers that stalled carry no data now",
    ),
    "--baseline-map": (
        {**MANY, "metavar": "OLD=NEW", "type": values.pair},
        "server OLD of the baseline is now NEW: 10.0.0.5:8901=10.0.0.7:8902 (may be repeated; "
        "servers on the same port are paired automatically)",
    ),
    "--anonymize": (
        FLAG,
        f"{ANONYMIZE}, else it is random",
    ),
    "--payload": (
        FLAG,
        f"keep the payload of the frames in {formats.with_option('payload')} (default: removed)",
    ),
    "--max-lost": (
        {"metavar": "TIME", "type": values.duration},
        "exit 1 only if likely stalls cost more than TIME in one capture: 500ms, 1s",
    ),
    "--exit-zero": (FLAG, "exit 0 whatever the verdict"),
    "-h": (
        {"action": _Ends, "nargs": 0, "default": argparse.SUPPRESS},
        "show the options most people need",
    ),
    "--help": ({"action": "help"}, "show this help message and exit"),
    "--explain": (
        {"metavar": "CAUSE", "nargs": "?", "action": _Ends, "default": argparse.SUPPRESS},
        "explain a cause: what it is, how it is recognised, what to do; without CAUSE list them "
        "all",
    ),
    "-V --version": (
        {"action": "version", "version": f"nagle-scan {_core.VERSION}"},
        "show program's version number and exit",
    ),
}
"""Each option by its names, what argparse needs to know of it, and its help."""
GROUPS = {
    "input": (
        "capture --merge -f --from --to --min-wait",
        "nagle-scan captures/ -f 'tcp port 8888'",
    ),
    "reports": (
        "-o --format -q --names --calls --why --stream",
        "nagle-scan traffic.pcap -o report.html -o ticket.md",
    ),
    "comparing": ("--baseline --baseline-map", "nagle-scan after.pcap --baseline before.pcap"),
    "privacy": ("--anonymize --payload", "nagle-scan traffic.pcap --anonymize -o ticket.zip"),
    "gates": ("--max-lost --exit-zero", "nagle-scan traffic.pcap -q --max-lost 1s -o junit.xml"),
    "help": ("-h --help --explain -V", "nagle-scan --explain nagle_delack"),
}
"""Heads of the help, the options below each, and an example."""


def chosen(words: Sequence[str]) -> Chosen:
    """Options in these words. Raises `SystemExit` for help and for what cannot be understood."""
    made = parser()
    found = Chosen(**vars(made.parse_args(words)))
    if not found.capture and not found.calls:
        made.error("the following arguments are required: capture")
    return found


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = Parser(
        prog="nagle-scan",
        usage="%(prog)s [options] capture [capture ...]",
        description=DESCRIPTION,
        epilog=_epilog(),
        add_help=False,
    )
    made.set_defaults(**Chosen._field_defaults)
    for head, (names, example) in GROUPS.items():
        add(made.add_argument_group(head, example), names)
    return made


def add(
    made: argparse._ActionsContainer,
    names: str,
    own: Mapping[str, tuple[Mapping[str, Any], str]] = {},
) -> None:
    """Adds options, each by its first name; a command may have some of its `own`."""
    every = {name.split()[0]: (name.split(), *about) for name, about in {**OPTIONS, **own}.items()}
    for first in names.split():
        words, about, text = every[first]
        made.add_argument(*words, help=text, **about)
