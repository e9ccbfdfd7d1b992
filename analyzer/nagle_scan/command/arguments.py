"""The options of the command, in groups, and their help."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.api import keys
from nagle_scan.command import values
from nagle_scan.command.chosen import Chosen
from nagle_scan.command.parser import HelpFormatter, Parser, epilog
from nagle_scan.report import formats
from nagle_scan.report.formats import FORMATS, OF_MANY, PRINTED
from nagle_scan.result import DEFAULT_MIN_WAIT_MS
from nagle_scan.system import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence


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


class _Short(argparse.Action):
    """Prints what most people need, and exits."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option: str | None = None,
    ) -> None:
        """`--help` has the rest."""
        del namespace, values, option
        terminal.say(SHORT)
        parser.exit()


class _Explain(argparse.Action):
    """Prints the documentation of a cause and exits, as `--help` does."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option: str | None = None,
    ) -> None:
        """Lists the causes if none, or an unknown one, is named."""
        from nagle_scan.command import explain

        del namespace, option
        if values is not None and values not in _core.CAUSES:
            print(explain.listing(terminal.PLAIN), file=sys.stderr)
            parser.error(f"no such cause: {values!r}")
        if sys.stdout is not None:
            style = terminal.style_of(sys.stdout)
            terminal.say(explain.render(str(values), style) if values else explain.listing(style))
        parser.exit()


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
        formatter_class=HelpFormatter,
        add_help=False,
        # Adding an option must not break a script.
        allow_abbrev=False,
    )
    made.set_defaults(**Chosen._field_defaults)
    _add_input(made.add_argument_group("input", "nagle-scan captures/ -f 'tcp port 8888'"))
    _add_reports(
        made.add_argument_group("reports", "nagle-scan traffic.pcap -o report.html -o ticket.md")
    )
    _add_comparing(
        made.add_argument_group("comparing", "nagle-scan after.pcap --baseline before.pcap")
    )
    _add_privacy(
        made.add_argument_group("privacy", "nagle-scan traffic.pcap --anonymize -o ticket.zip")
    )
    _add_gates(
        made.add_argument_group("gates", "nagle-scan traffic.pcap -q --max-lost 1s -o junit.xml")
    )
    more = made.add_argument_group("help", "nagle-scan --explain nagle_delack")
    _add_explanations(more)
    return made


def _add_input(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "capture",
        nargs="*",
        type=values.utf8,
        help="pcap, pcapng, tcpdump's printed output, or a folder of captures; '-' reads standard "
        "input",
    )
    group.add_argument(
        "--merge",
        action="store_true",
        help="read all files as one capture (default: merge only files named like one rotation)",
    )
    add_filter(group)
    for name, dest, which in (
        ("--from", "since", "at or after this time"),
        ("--to", "until", "before this time"),
    ):
        also = ": '2026-11-23 12:00:00.5' (local; Z or +01:00 behind it for others), or seconds"
        group.add_argument(
            name,
            dest=dest,
            metavar="TIME",
            type=values.seconds,
            help=f"only packets {which}{also if dest == 'since' else ', as --from'}",
        )
    add_min_wait(group)


def _add_reports(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        type=values.output,
        help="also write the result, in the format of the suffix, listed below (may be repeated); "
        f"{', '.join(OF_MANY)} hold several captures; DIR/ gets the reports of each and an "
        "index.html; '-' is standard output, in the format of --format",
    )
    group.add_argument(
        "--format",
        metavar="FORMAT",
        choices=PRINTED,
        help="format on standard output: one of the text formats below (json, md ...); default: "
        "text, the report",
    )
    add_quiet(group)
    group.add_argument(
        "--names",
        metavar="FILE|ADDRESS=NAME",
        action="append",
        default=[],
        type=values.names,
        help="show names instead of IP addresses: of a file in the format of /etc/hosts, or a .csv "
        "with address and service, or one, as 10.0.0.5=payments (may be repeated); .json has both, "
        ".csv keeps the address",
    )
    group.add_argument(
        "--calls",
        metavar="TRACE",
        action="append",
        nargs="?",
        const="",
        default=[],
        type=values.utf8,
        help="what strace wrote of the program meanwhile (a file, the folder of -ff, '-'; may be "
        "repeated): names the calls that wrote what was held, and proves it; without a capture it "
        "looks for the pattern; without TRACE it prints the strace command to use",
    )
    group.add_argument(
        "--why",
        metavar="FRAME",
        type=values.frame,
        help="print only why the wait that this frame ended counts as held or not: the numbers "
        "from which its probability is computed",
    )
    group.add_argument(
        "--stream",
        metavar="N",
        type=values.connection,
        help="print only this connection (tcp.stream): its stalls, why the clearest is one, its "
        "other waits",
    )


def _add_comparing(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--baseline",
        metavar="FILE",
        action="append",
        default=[],
        type=values.utf8,
        help="compare with a capture of the same service from before a change (may be repeated for "
        "a rotated set); exit status: 1 stalls remain or got worse, 0 none left, 4 cannot tell, or "
        "the servers that stalled carry no data now",
    )
    group.add_argument(
        "--baseline-map",
        metavar="OLD=NEW",
        action="append",
        default=[],
        type=values.pair,
        help="server OLD of the baseline is now NEW: 10.0.0.5:8901=10.0.0.7:8902 (may be "
        "repeated; servers on the same port are paired automatically)",
    )


def _add_privacy(group: argparse._ArgumentGroup) -> None:
    add_key(group)
    group.add_argument(
        "--payload",
        action="store_true",
        help=f"keep the payload of the frames in {formats.with_option('payload')} "
        "(default: removed)",
    )


def _add_gates(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-lost",
        metavar="TIME",
        type=values.duration,
        help="exit 1 only if likely stalls cost more than TIME in one capture: 500ms, 1s",
    )
    add_exit_zero(group)


def _add_explanations(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-h",
        action=_Short,
        nargs=0,
        default=argparse.SUPPRESS,
        help="show the options most people need",
    )
    group.add_argument("--help", action="help", help="show this help message and exit")
    group.add_argument(
        "--explain",
        metavar="CAUSE",
        nargs="?",
        action=_Explain,
        default=argparse.SUPPRESS,
        help="explain a cause: what it is, how it is recognised, what to do; without CAUSE list "
        "them all",
    )
    add_version(group)


def add_filter(made: argparse._ActionsContainer, also: str = " (also in --baseline)") -> None:
    """`-f`."""
    made.add_argument(
        "-f",
        "--filter",
        metavar="BPF",
        type=values.utf8,
        help=f"only packets matching this capture filter{also}",
    )


def add_quiet(made: argparse._ActionsContainer) -> None:
    """`-q`."""
    made.add_argument(
        "-q",
        "--quiet",
        action="store_const",
        const=1,
        default=0,
        help="print only the verdict, in one line",
    )


def add_min_wait(made: argparse._ActionsContainer) -> None:
    """`--min-wait`."""
    made.add_argument(
        "--min-wait",
        metavar="MS",
        type=values.milliseconds,
        default=DEFAULT_MIN_WAIT_MS,
        help=f"list no wait shorter than this (default {DEFAULT_MIN_WAIT_MS:g}); below "
        f"{DEFAULT_MIN_WAIT_MS:g} it also searches for shorter stalls",
    )


def add_key(made: argparse._ActionsContainer, without_key: str = ", else it is random") -> None:
    """`--anonymize`; `without_key` says what happens without a key."""
    made.add_argument(
        "--anonymize",
        action="store_true",
        help="replace IP addresses in every output, prefix-preserving (ipcrypt-pfx), and remove "
        f"anything else that may contain one; {keys.VARIABLE} holds the key, as `openssl rand -hex "
        f"32` makes it{without_key}",
    )


def add_exit_zero(made: argparse._ActionsContainer) -> None:
    """`--exit-zero`."""
    made.add_argument("--exit-zero", action="store_true", help="exit 0 whatever the verdict")


def add_version(made: argparse._ActionsContainer) -> None:
    """`--version`."""
    made.add_argument("-V", "--version", action="version", version=f"nagle-scan {_core.VERSION}")
