"""The command `nagle-scan fleet`: its options, and errors in one line."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nagle_scan import fleet
from nagle_scan.api import keys, names
from nagle_scan.command import arguments, table, values
from nagle_scan.command.gate import EXIT_CANNOT_TELL, EXIT_PASSED, EXIT_STALLS, EXIT_UNUSABLE
from nagle_scan.command.parser import of_command
from nagle_scan.errors import CaptureError, NagleScanError, UnknownConnectionError
from nagle_scan.fleet.work import Settings
from nagle_scan.system import terminal
from nagle_scan.words.wording import count, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nagle_scan.fleet.run import Outcome, RunRequest

MOST_FAILURES = 10
"""Printed; the fleet has them all."""
REASON_LEN = 100
"""Some reasons are long lists."""
ALONE = {
    "report": {"report", "output", "scheduler", "quiet", "exit_zero"},
    "tidy": {"tidy", "output", "quiet"},
    "verify": {"verify", "output", "quiet"},
}
"""What does not scan, and the options allowed with it."""
DESCRIPTION = f"""\
Scans thousands of captures on all cores, or on a Dask cluster. Sums, stalls and the worst
connections go into a Delta table with a summary page; the next run scans only what is new.
Needs {fleet.EXTRA}. To scan a file named fleet, write ./fleet.
"""
EXAMPLES = """\
nagle-scan fleet 'captures/**/*.pcap*' -o fleet/
nagle-scan fleet s3://captures/today/ -o s3://results/fleet --names services.csv --keep 90d
nagle-scan fleet '/var/captures/*.pcap*' -o fleet/ --on-hosts --scheduler tls://head:8786
nagle-scan fleet -o fleet/ --report 5c0f3a9be1d2/7
"""
EXIT_STATUS = """\
0 clean or possible, 1 stalls in new captures, 2 unusable call or damaged table, or nothing could be
read and nothing was known, 3 a bug, 4 all inconclusive, 130 interrupted (Ctrl-C, SIGTERM): results
so far are kept, and the next run continues; with --exit-zero 0 instead of 1 and 4
"""


FLAG: Mapping[str, Any] = {"action": "store_true"}
FILE: Mapping[str, Any] = {"metavar": "FILE", "type": values.utf8}
LIST = "also the captures listed in this file, one per line; '-' is standard input"
OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "names": (
        FILE,
        "names of servers: a .csv with address, service, owner and pod, or like /etc/hosts",
    ),
    "all": (FLAG, "also keep clean connections, possible stalls, and waits with other causes"),
    "keep": (
        {"metavar": "DAYS", "type": values.days},
        "remove stalls, connections and waits of older days (90d); sums stay",
    ),
    "workers": (
        {"metavar": "N", "type": values.threads},
        "number of processes on this machine (default: one per core)",
    ),
    "scheduler": (
        {"metavar": "ADDRESS", "type": values.utf8},
        "use the Dask cluster at this address (tls://10.0.0.5:8786) instead of this machine",
    ),
    "on-hosts": (
        FLAG,
        "captures are on the cluster's hosts: each host finds and reads its own",
    ),
    "hosts": (FILE, "with --on-hosts: the hosts that should answer, one per line"),
    "again": (
        FLAG,
        "scan the captures named again, known or not; of a damaged table, first let go of what is "
        "gone",
    ),
    "verify": (FLAG, "do not scan: read the whole table"),
    "tidy": (FLAG, "do not scan: delete files that the table has not used for 7 days"),
    "report": (
        {"metavar": "SET/STREAM", "type": values.stream},
        "do not scan: write the report of one connection of the fleet, from its captures, to "
        "DIR/reports/",
    ),
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = of_command("fleet", DESCRIPTION, EXAMPLES, EXIT_STATUS)
    made.add_argument(
        "capture",
        nargs="*",
        type=values.utf8,
        help="file, folder, pattern ('captures/**/*.pcap*') or URL that fsspec opens (s3://, "
        "ssh://, https://); files named like one rotation are one capture",
    )
    made.add_argument("--list", help=LIST, **FILE)
    made.add_argument(
        "-o",
        "--output",
        metavar="DIR/",
        required=True,
        type=values.utf8,
        help="folder of the fleet (also s3://, gs://, az://); later runs add to it",
    )
    arguments.add_filter(made, also="")
    arguments.add_min_wait(made)
    arguments.add_key(made, "; required: all runs into a folder need the same key")
    for name, (kind, told) in OPTIONS.items():
        made.add_argument(f"--{name}", help=told, **kind)
    arguments.add_quiet(made)
    arguments.add_exit_zero(made)
    arguments.add_version(made)
    return made


def run(words: Sequence[str]) -> int:
    """Runs the command and returns its exit status.

    Raises `NagleScanError`, and `KeyboardInterrupt` with the progress made.
    """
    made = parser()
    options = made.parse_args(words)
    alone = next((name for name in ALONE if getattr(options, name)), None)
    if alone is not None:
        _check_alone(options, made, alone)
    try:
        from nagle_scan.fleet import run
    except ImportError as error:
        raise NagleScanError(fleet.missing(error)) from None
    _end_as_by_interrupt()
    if alone is not None:
        return (_report if alone == "report" else _maintain)(options)
    request = _request(options)
    try:
        run.check(request)
    except ValueError as error:
        raise CaptureError(f"{error} (see nagle-scan fleet --help)") from None
    outcome = run.run(request, terminal.note, sys.stderr)
    if options.quiet < 2:
        terminal.say("\n".join(told(outcome, options.output, bool(options.quiet))))
    return _status(outcome, options.exit_zero)


def _check_alone(options: argparse.Namespace, made: argparse.ArgumentParser, alone: str) -> None:
    """Refuses options without effect: the table records how it was scanned."""
    for name, value in vars(options).items():
        if name not in ALONE[alone] and (value or None) != (made.get_default(name) or None):
            only = " and --scheduler" if alone == "report" else ""
            raise CaptureError(f"--{alone} does not scan: it takes only -o{only}")


def _maintain(options: argparse.Namespace) -> int:
    """Reads all of the table, or deletes what it does not use."""
    from nagle_scan.fleet.writer import Writer

    table = Writer(options.output)
    table.check(table.scope)
    if options.verify:
        files, rows = table.verify()
        told = f"{count(files, 'file')}, {count(rows, 'row')}: whole"
    else:
        told = f"{count(table.tidy(), 'file')} deleted"
    if not options.quiet:
        terminal.say(told)
    return EXIT_PASSED


def _request(options: argparse.Namespace) -> RunRequest:
    from nagle_scan.fleet.run import RunRequest

    key = None
    if options.anonymize:
        key = keys.find()
        if key is None:
            raise NagleScanError(
                f"--anonymize: a fleet needs one key for all runs: {keys.VARIABLE}"
            )
    labels = {} if options.names is None else names.labels(options.names)
    return RunRequest(
        options.capture,
        options.list,
        options.output,
        Settings.of(options.filter, options.min_wait, key, options.all, labels),
        options.scheduler,
        options.workers,
        options.on_hosts,
        options.hosts,
        options.keep,
        options.again,
    )


def _status(outcome: Outcome, exits_zero: bool) -> int:
    verdicts = outcome.verdicts
    if outcome.failures and not verdicts and not outcome.known:
        return EXIT_UNUSABLE
    if exits_zero:
        return EXIT_PASSED
    if verdicts["stalls"]:
        return EXIT_STALLS
    is_told = not verdicts or sum(verdicts.values()) > verdicts["inconclusive"]
    return EXIT_PASSED if is_told else EXIT_CANNOT_TELL


def told(outcome: Outcome, output: str, is_brief: bool) -> Iterator[str]:
    """The run's results."""
    failures = outcome.failures
    yield _headline(outcome)
    if is_brief:
        return
    if outcome.incomplete:
        yield f"  {count(outcome.incomplete, 'file')} read in part: damaged or cut off"
    for failure in failures[:MOST_FAILURES]:
        reason = shortened(printable(failure.reason), REASON_LEN)
        yield f"  {printable(failure.file.shown)}: {reason}"
    if len(failures) > MOST_FAILURES:
        yield f"  ... and {len(failures) - MOST_FAILURES:,} more: Fleet.failures"
    if outcome.coverage:
        yield f"  {printable(outcome.coverage)}"
    if outcome.page:
        yield f"wrote {printable(output.rstrip('/'))}/index.html, and the table beside it"


def _headline(outcome: Outcome) -> str:
    found = [table.counted(outcome.verdicts)] if outcome.verdicts else []
    if outcome.failures:
        found.append(f"{count(len(outcome.failures), 'file')} {table.UNUSABLE}")
    known = [f"{count(outcome.known, 'file')} known"] if outcome.known else []
    if outcome.no_captures:
        known.append(f"{count(outcome.no_captures, 'file')} known to be no capture")
    shown = f" ({', '.join(known)})" if known else ""
    return f"{count(outcome.of, 'new capture')}{shown}: {', '.join(found) or 'nothing to do'}"


def _end_as_by_interrupt() -> None:
    """Other signals also keep results and leave no workers or temporary files behind."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup ignores SIGHUP, and must keep doing so.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _report(options: argparse.Namespace) -> int:
    from nagle_scan.fleet.fleet import Fleet

    set_id, stream = options.report
    path = f"{options.output.rstrip('/')}/reports/{set_id}-{stream}.html"
    try:
        Fleet(options.output).report(set_id, stream, path, scheduler=options.scheduler)
    except UnknownConnectionError as error:
        raise CaptureError(f"{set_id}: {error}") from None
    terminal.say(f"wrote {printable(path)}")
    return EXIT_PASSED
