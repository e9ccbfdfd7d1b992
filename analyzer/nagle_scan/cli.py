"""The command `nagle-scan`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from nagle_scan import _core, compare, explain, interrupt, keys, outputs
from nagle_scan.progress import ProgressLine
from nagle_scan.report import comparison as beside
from nagle_scan.report import layout, text
from nagle_scan.results import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CLEAN, EXIT_STALLS, EXIT_UNUSABLE, EXIT_BUG = 0, 1, 2, 3
EXIT_INTERRUPTED = 130

EXAMPLES = """\
example:
  tcpdump -i eth0 -s 96 -w traffic.pcap tcp port 8888
  nagle-scan traffic.pcap
  nagle-scan traffic.pcap -f 'host 10.0.0.2' -o result.json -o stalls.csv

exit status: 0 no stalls, 1 stalls found, 2 the input or the call was unusable, 3 a bug,
130 interrupted (Ctrl-C): the report covers what was read until then
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    interrupt.end_at_once()
    try:
        return _run(_parser().parse_args(arguments))
    except _core.NagleScanError as error:
        print(f"nagle-scan: {layout.printable(str(error))}", file=sys.stderr)
        return EXIT_UNUSABLE
    except KeyboardInterrupt as error:
        print(f"nagle-scan: {layout.printable(str(error))}", file=sys.stderr)
        return EXIT_INTERRUPTED
    except SystemExit:
        raise
    except BaseException:
        # A panic of the engine is no `Exception`. Python's own status, 1, would mean 'stalls'.
        import traceback

        traceback.print_exc()
        return EXIT_BUG


def _run(options: argparse.Namespace) -> int:
    _refuse_to_overwrite([*options.capture, *options.baseline], options.output)
    _refuse_to_read_again(options.capture, options.output)
    if "-" in options.capture and "-" in options.baseline:
        raise _core.CaptureError("-: standard input can be read only once")
    if options.anonymize or options.key_file is not None:
        options.key = keys.find(options.key_file)
    baseline = _scan(options.baseline, options) if options.baseline else None
    progress = _core.Progress()
    scan = _scan(options.capture, options, progress)
    for path in options.output:
        chosen = outputs.Options(options.min_wait, baseline, options.payload)
        outputs.write(scan, path, chosen)
    compared = (baseline, compare.compare(baseline, scan)) if baseline else None
    _say(scan, compared)
    if progress.stopped:
        return EXIT_INTERRUPTED
    if compared and compared[1].verdict == "inconclusive":
        message = "cannot be compared: no server that stalled before has data in it"
        raise _core.CaptureError(f"{options.capture[0]}: {message}")
    if scan.core.summary().stalls and not options.exit_zero:
        return EXIT_STALLS
    return EXIT_CLEAN


def _scan(
    paths: list[str], options: argparse.Namespace, progress: _core.Progress | None = None
) -> Scan:
    progress = progress or _core.Progress()
    with interrupt.StoppedByInterrupt(progress), ProgressLine(progress, sys.stderr):
        core = _core.scan_captures(
            paths, options.filter, options.min_wait, exchanges=False, progress=progress
        )
    if progress.stopped and paths is not options.capture:
        # Half a baseline compares with nothing.
        raise KeyboardInterrupt
    if options.key is not None:
        core = core.anonymized(options.key)
    return Scan(paths, options.filter, core, options.key, options.min_wait)


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


def _say(scan: Scan, compared: tuple[Scan, compare.Comparison] | None) -> None:
    """Prints the report. A reader who has gone (head, less) is no error."""
    # None where the shell closed it (`>&-`).
    if sys.stdout is None:
        return
    style = layout.COLOURS if layout.wants_colours(sys.stdout) else layout.PLAIN
    report = text.render(scan, style)
    if compared is not None:
        report += "\n\n" + beside.render(*compared, style)
    _print(report)


def _print(report: str) -> None:
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


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse itself would import shutil and three decompressors."""

    def __init__(self, prog: str) -> None:
        try:
            columns = os.get_terminal_size().columns
        except OSError:
            columns = 80
        super().__init__(prog, width=columns - 2)


class _Explain(argparse.Action):
    """Prints what is documented of a cause, and ends as `--help` does."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option: str | None = None,
    ) -> None:
        """Lists the causes where none is named, and where there is no such cause."""
        del namespace, option
        if values is not None and values not in _core.CAUSES:
            print(explain.listing(layout.PLAIN), file=sys.stderr)
            parser.error(f"no such cause: {values!r}")
        if sys.stdout is not None:
            style = layout.COLOURS if layout.wants_colours(sys.stdout) else layout.PLAIN
            _print(explain.render(str(values), style) if values else explain.listing(style))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="nagle-scan",
        description="Finds Nagle and delayed-ACK stalls (40 ms, 200 ms) in packet captures, "
        "proves them frame by frame, and says which side must change what.",
        epilog=EXAMPLES,
        formatter_class=_HelpFormatter,
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
        "--baseline",
        metavar="FILE",
        action="append",
        default=[],
        type=_utf8,
        help="compare with a capture of the same service before a change (may be repeated for a "
        "rotated set); then 1 means that stalls remain or got worse, 0 that none is left, and 2 "
        "also that the servers which stalled before have no data now",
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
    parser.add_argument(
        "--explain",
        metavar="CAUSE",
        nargs="?",
        action=_Explain,
        help="say what a cause is, how it is recognised and what to do; without CAUSE list them",
    )
    parser.set_defaults(key=None)
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
