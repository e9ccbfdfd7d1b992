"""The command `nagle-scan`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.report import text

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CLEAN, EXIT_STALLS, EXIT_UNUSABLE = 0, 1, 2

WRITERS: dict[str, Callable[[_core.Scan, str], None]] = {
    ".json": _core.Scan.write_json,
    ".csv": _core.Scan.write_csv,
}
"""How to write a result, by the suffix of its file."""

EXAMPLES = """\
example:
  tcpdump -i eth0 -s 96 -w traffic.pcap tcp port 8888
  nagle-scan traffic.pcap
  nagle-scan traffic.pcap -f 'host 10.0.0.2' -o result.json -o stalls.csv

exit status: 0 no stalls, 1 stalls found, 2 the input or the call was unusable
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    # The engine does not come back to the interpreter before it is done: let Ctrl-C end it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except _core.NagleScanError as error:
        print(f"nagle-scan: {text.printable(str(error))}", file=sys.stderr)
        return EXIT_UNUSABLE
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLEAN


def _run(options: argparse.Namespace) -> int:
    scan = _core.scan_captures(options.capture, options.filter, options.min_wait, exchanges=False)
    for path in options.output:
        WRITERS[_suffix(path)](scan, path)
    style = text.COLOURS if text.wants_colours(sys.stdout) else text.PLAIN
    print(text.render(scan, options.capture, options.min_wait, style), flush=True)
    if scan.summary().stalls and not options.exit_zero:
        return EXIT_STALLS
    return EXIT_CLEAN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nagle-scan",
        description="Finds Nagle and delayed-ACK stalls (40 ms, 200 ms) in packet captures, "
        "proves them frame by frame, and says which side must change what.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "capture", nargs="+", help="pcap or pcapng file; '-' reads standard input"
    )
    parser.add_argument(
        "-f", "--filter", metavar="BPF", help="analyse only what this capture filter lets through"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        type=_output,
        help="also write the result; the suffix tells the format: "
        + ", ".join(WRITERS)
        + " (may be repeated)",
    )
    parser.add_argument(
        "--min-wait",
        metavar="MS",
        type=_milliseconds,
        default=10.0,
        help="ignore waits shorter than this (default 10)",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 for stalls too, for scripts"
    )
    parser.add_argument("--version", action="version", version=f"nagle-scan {_core.VERSION}")
    return parser


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _output(path: str) -> str:
    if _suffix(path) not in WRITERS:
        raise argparse.ArgumentTypeError(
            f"{text.printable(path)!r} has no known suffix ({', '.join(WRITERS)})"
        )
    return path


def _milliseconds(value: str) -> float:
    try:
        milliseconds = float(value)
    except ValueError:
        milliseconds = -1.0
    if not 0 < milliseconds <= 3_600_000:
        raise argparse.ArgumentTypeError("expected milliseconds, more than 0")
    return milliseconds
