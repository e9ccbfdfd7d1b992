"""The command `nagle-scan`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from nagle_scan import _core, keys, outputs
from nagle_scan.report import layout, text
from nagle_scan.results import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CLEAN, EXIT_STALLS, EXIT_UNUSABLE, EXIT_BUG = 0, 1, 2, 3

EXAMPLES = """\
example:
  tcpdump -i eth0 -s 96 -w traffic.pcap tcp port 8888
  nagle-scan traffic.pcap
  nagle-scan traffic.pcap -f 'host 10.0.0.2' -o result.json -o stalls.csv

exit status: 0 no stalls, 1 stalls found, 2 the input or the call was unusable, 3 a bug
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    # The engine does not come back to the interpreter before it is done: let Ctrl-C end it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except _core.NagleScanError as error:
        print(f"nagle-scan: {layout.printable(str(error))}", file=sys.stderr)
        return EXIT_UNUSABLE
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException:
        # A panic of the engine is no `Exception`. Python's own status, 1, would mean 'stalls'.
        traceback.print_exc()
        return EXIT_BUG


def _run(options: argparse.Namespace) -> int:
    _refuse_to_overwrite(options.capture, options.output)
    _refuse_to_read_again(options.capture, options.output)
    core = _core.scan_captures(options.capture, options.filter, options.min_wait, exchanges=False)
    key = None
    if options.anonymize or options.key_file is not None:
        key = keys.find(options.key_file)
        core = core.anonymized(key)
    scan = Scan(options.capture, options.filter, core, key, options.min_wait)
    for path in options.output:
        outputs.write(scan, path, outputs.Options(options.min_wait, options.payload))
    _say(scan, options)
    if core.summary().stalls and not options.exit_zero:
        return EXIT_STALLS
    return EXIT_CLEAN


def _refuse_to_overwrite(captures: Sequence[str], outputs: Sequence[str]) -> None:
    """A result must not destroy a capture, nor another result."""
    taken = {os.path.realpath(path): path for path in captures}
    for path in outputs:
        if os.path.realpath(path) in taken:
            raise _core.OutputError(f"{path}: would overwrite what this call reads or writes")
        taken[os.path.realpath(path)] = path


def _refuse_to_read_again(captures: Sequence[str], paths: Sequence[str]) -> None:
    """Says before any work what would fail after it."""
    for path in paths:
        if "-" in captures and outputs.suffix(path) in outputs.READ_AGAIN:
            raise _core.OutputError(f"{path}: {outputs.CANNOT_READ_AGAIN}")


def _say(scan: Scan, options: argparse.Namespace) -> None:
    """Prints the report. A reader who has gone (head, less) is no error."""
    # None where the shell closed it (`>&-`).
    if sys.stdout is None:
        return
    style = layout.COLOURS if layout.wants_colours(sys.stdout) else layout.PLAIN
    report = text.render(scan.core, scan.names, options.min_wait, style)
    try:
        encoding = sys.stdout.encoding
        print(report.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        _give_up_stdout()
        if not isinstance(error, BrokenPipeError):
            message = f"standard output: cannot write: {error.strerror}"
            raise _core.OutputError(message) from None


def _give_up_stdout() -> None:
    """Lets nothing complain at exit about what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, which cannot steer a terminal."""

    def error(self, message: str) -> NoReturn:
        """Exits, like all input that cannot be used."""
        hint = "see nagle-scan --help"
        self.exit(EXIT_UNUSABLE, f"nagle-scan: {layout.printable(message)} ({hint})\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Exits, also where nobody reads the help any more."""
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:
            _give_up_stdout()
        super().exit(status, message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="nagle-scan",
        description="Finds Nagle and delayed-ACK stalls (40 ms, 200 ms) in packet captures, "
        "proves them frame by frame, and says which side must change what.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "capture", nargs="+", type=_utf8, help="pcap or pcapng file; '-' reads standard input"
    )
    parser.add_argument(
        "-f",
        "--filter",
        metavar="BPF",
        type=_utf8,
        help="analyse only what this capture filter lets through",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        type=_output,
        help="also write the result; the suffix tells the format: "
        + ", ".join(outputs.FORMATS)
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
        "--payload",
        action="store_true",
        help="keep the payload of the frames in -o evidence.pcapng (default: cut it)",
    )
    parser.add_argument(
        "--anonymize",
        action="store_true",
        help="replace IP and MAC addresses in every output, prefix-preserving (ipcrypt-pfx); "
        f"the key comes from --key-file or {keys.VARIABLE}, else it is random",
    )
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        type=_utf8,
        help="anonymize with the key in this file (openssl rand -hex 32 > FILE)",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 for stalls too, for scripts"
    )
    parser.add_argument("--version", action="version", version=f"nagle-scan {_core.VERSION}")
    return parser


def _output(path: str) -> str:
    if outputs.suffix(path) not in outputs.FORMATS:
        raise argparse.ArgumentTypeError(
            f"{layout.printable(path)!r} has no known suffix ({', '.join(outputs.FORMATS)})"
        )
    return _utf8(path)


def _utf8(argument: str) -> str:
    """The engine takes UTF-8 only; Python hands on other bytes as lone surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(
            f"{layout.printable(argument)!r} is not UTF-8: rename the file, or read it with '-'"
        ) from None
    return argument


def _milliseconds(value: str) -> float:
    try:
        milliseconds = float(value)
    except ValueError:
        milliseconds = -1.0
    if not 0 < milliseconds <= 3_600_000:
        raise argparse.ArgumentTypeError("expected milliseconds, more than 0")
    return milliseconds
