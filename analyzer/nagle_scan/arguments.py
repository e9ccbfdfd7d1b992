"""The command line: options, their help, and errors in one line."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from nagle_scan import _core, keys, terminal
from nagle_scan.report import formats
from nagle_scan.report.formats import FORMATS, SUFFIXES
from nagle_scan.result import DEFAULT_MIN_WAIT_MS, MAX_MIN_WAIT_MS, MAX_THREADS
from nagle_scan.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_UNUSABLE = 2


def _formats() -> str:
    """The formats, one a line."""
    suffixes = [" ".join(format.suffixes) for format in FORMATS]
    width = max(map(len, suffixes))
    lines = zip(suffixes, FORMATS, strict=True)
    return "\n".join(f"  {suffix:<{width}}  {format.about}" for suffix, format in lines)


EXAMPLES = f"""\
formats of -o, by suffix:
{_formats()}

example:
  tcpdump -i eth0 -s 256 -w traffic.pcap tcp port 8888
  nagle-scan traffic.pcap
  nagle-scan traffic.pcap -f 'host 10.0.0.2' -o result.json -o stalls.csv

exit status: 0 no stall is likely (verdict possible, clean or inconclusive), 1 stalls, 2 the input
or the call was unusable, 3 a bug, 130 interrupted (Ctrl-C): the report covers what was read until
then
"""


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line without control characters."""

    def error(self, message: str) -> NoReturn:
        """Exits with the status of unusable input."""
        hint = "see nagle-scan --help"
        self.exit(EXIT_UNUSABLE, f"nagle-scan: {printable(message)} ({hint})\n")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse itself would import shutil and three decompressors."""

    def __init__(self, prog: str) -> None:
        try:
            columns = os.get_terminal_size().columns
        except OSError:
            columns = 80
        super().__init__(prog, width=columns - 2)


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
        from nagle_scan import explain

        del namespace, option
        if values is not None and values not in _core.CAUSES:
            print(explain.listing(terminal.PLAIN), file=sys.stderr)
            parser.error(f"no such cause: {values!r}")
        if sys.stdout is not None:
            style = terminal.style_of(sys.stdout)
            terminal.say(explain.render(str(values), style) if values else explain.listing(style))
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = _Parser(
        prog="nagle-scan",
        description="Finds Nagle and delayed-ACK stalls (40 ms, 200 ms) in packet captures, "
        "proves them frame by frame, and says which side must change what.",
        epilog=EXAMPLES,
        formatter_class=_HelpFormatter,
    )
    made.add_argument(
        "capture",
        nargs="+",
        type=_utf8,
        help="pcap, pcapng, or tcpdump's text; '-' reads standard input",
    )
    made.add_argument(
        "-f",
        "--filter",
        metavar="BPF",
        type=_utf8,
        help="analyse only what this capture filter lets through",
    )
    made.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        type=_output,
        help=f"also write the result; the suffix tells the format: {', '.join(SUFFIXES)} "
        "(may be repeated)",
    )
    made.add_argument(
        "--min-wait",
        metavar="MS",
        type=_milliseconds,
        default=DEFAULT_MIN_WAIT_MS,
        help=f"ignore waits shorter than this (default {DEFAULT_MIN_WAIT_MS:g})",
    )
    made.add_argument(
        "--threads",
        metavar="N",
        type=_threads,
        help="use so many threads (default: one for each processor, at most 16); no result depends "
        "on it",
    )
    made.add_argument(
        "--baseline",
        metavar="FILE",
        action="append",
        default=[],
        type=_utf8,
        help="compare with a capture of the same service before a change (may be repeated for a "
        "rotated set); then 1 means that stalls remain or got worse, 0 that none is left, and 2 "
        "also that the servers which stalled before have no data now; shown by the report and "
        f"{formats.with_option('baseline')}",
    )
    made.add_argument(
        "--payload",
        action="store_true",
        help=f"keep the payload of the frames in {formats.with_option('payload')} "
        "(default: cut it)",
    )
    made.add_argument(
        "--anonymize",
        action="store_true",
        help="replace IP and MAC addresses in every output, prefix-preserving (ipcrypt-pfx); "
        f"the key comes from --key-file or {keys.VARIABLE}, else it is random",
    )
    made.add_argument(
        "--key-file",
        metavar="FILE",
        type=_utf8,
        help="anonymize with the key in this file (openssl rand -hex 32 > FILE)",
    )
    made.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 for stalls too, for scripts"
    )
    made.add_argument(
        "--explain",
        metavar="CAUSE",
        nargs="?",
        action=_Explain,
        help="say what a cause is, how it is recognised and what to do; without CAUSE list them",
    )
    made.set_defaults(key=None)
    made.add_argument("--version", action="version", version=f"nagle-scan {_core.VERSION}")
    return made


def _output(path: str) -> str:
    if formats.suffix(path) not in SUFFIXES:
        raise argparse.ArgumentTypeError(
            f"{printable(path)!r} has no known suffix ({', '.join(SUFFIXES)})"
        )
    return _utf8(path)


def _utf8(argument: str) -> str:
    """The engine takes UTF-8 only; Python passes other bytes as lone surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(
            f"{printable(argument)!r} is not UTF-8: rename the file, or read it with '-'"
        ) from None
    return argument


def _threads(value: str) -> int:
    threads = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 0
    if not 0 < threads <= MAX_THREADS:
        raise argparse.ArgumentTypeError(f"expected a number of threads, 1 to {MAX_THREADS}")
    return threads


def _milliseconds(value: str) -> float:
    try:
        milliseconds = float(value)
    except ValueError:
        milliseconds = -1.0
    if not 0 < milliseconds <= MAX_MIN_WAIT_MS:
        raise argparse.ArgumentTypeError("expected milliseconds, more than 0")
    return milliseconds
