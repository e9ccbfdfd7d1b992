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
from nagle_scan.errors import CaptureError, NagleScanError, OutputError, UnknownConnectionError
from nagle_scan.fleet.work import Settings
from nagle_scan.result.options import MAX_THREADS, ScanOptions
from nagle_scan.system import terminal
from nagle_scan.words import certainty
from nagle_scan.words.wording import count, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nagle_scan.fleet.changes import Change
    from nagle_scan.fleet.run import Outcome, RunRequest
    from nagle_scan.fleet.table import Table

MOST_FAILURES = MOST_CHANGES = 10
"""Failures and changes that are printed; the fleet has them all."""
REASON_LEN = 100
"""Characters of a reason that are printed: some are long lists."""
ALONE = {
    "report": {"report", "output", "quiet", "exit_zero"},
    "check": {"check", "output", "quiet"},
}
"""Calls that do not scan, and the options allowed with them."""
DESCRIPTION = f"""\
Scans thousands of captures on all cores, or on a Dask cluster. Sums, stalls and the worst
connections go into Parquet files with a summary page; the next run scans only what is new. Any
number of hosts may write into one folder or bucket at the same time.
Needs {fleet.EXTRA}. To scan a file named fleet, write ./fleet.
"""
EXAMPLES = """\
nagle-scan fleet 'captures/**/*.pcap*' -o fleet/
nagle-scan fleet s3://captures/today/ -o s3://results/fleet --names services.csv --keep 90d
nagle-scan fleet '/var/captures/*.pcap*' -o s3://results/fleet -o alert.xml
nagle-scan fleet -o fleet/ --report 5c0f3a9be1d2/7
"""
EXIT_STATUS = """\
0 nothing new, 1 a service loses time and did not, or loses more, or a host is silent (with
--all-stalls: any service loses time), 2 unusable call, or nothing could be read and nothing was
known, 3 a bug, 4 all inconclusive, 130 interrupted (Ctrl-C, SIGTERM): results so far are kept, and
the next run continues; with --exit-zero 0 instead of 1 and 4
"""


OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "capture": (
        arguments.OPTIONS["capture"][0],
        "file, folder, pattern ('captures/**/*.pcap*') or URL that fsspec opens (s3://, ssh://, "
        "https://); files named like one rotation are one capture",
    ),
    "--list": (
        arguments.FILE,
        "also the captures listed in this file, one per line; '-' is standard input",
    ),
    "-o --output": (
        {"metavar": "DIR/", "required": True, "type": values.utf8, "action": "append"},
        "folder of the fleet (also s3://, gs://, az://), to which later runs add; and files for "
        "what this run has noticed: JSON (alert.json) or JUnit, a test per service (alert.xml)",
    ),
    "-f --filter": (arguments.OPTIONS["-f --filter"][0], arguments.FILTER),
    "--anonymize": (
        arguments.FLAG,
        f"{arguments.ANONYMIZE}; required: all runs into a folder need the same key",
    ),
    "--names": (
        arguments.FILE,
        "names of servers: a .csv with address, service, owner and pod, or like /etc/hosts",
    ),
    "--all": (
        arguments.FLAG,
        "also keep clean connections, possible stalls, and waits with other causes",
    ),
    "--keep": (
        {"metavar": "DAYS", "type": values.days},
        "remove stalls, connections and waits of older days (90d); sums stay",
    ),
    "--workers": (
        {"metavar": "N", "type": values.number(f"a number, 1 to {MAX_THREADS}", 1, MAX_THREADS)},
        "number of processes on this machine (default: one per core)",
    ),
    "--scheduler": (
        {"metavar": "ADDRESS", "type": values.utf8},
        "use the Dask cluster at this address (tls://10.0.0.5:8786) instead of this machine",
    ),
    "--all-stalls": (
        arguments.FLAG,
        "exit status 1 while any service of the fleet loses time, new or not",
    ),
    "--check": (
        arguments.FLAG,
        "do not scan: read all files; what is damaged is put aside, to be read again by later runs",
    ),
    "--report": (
        {"metavar": "SET/STREAM", "type": values.stream},
        "do not scan: write the report of one connection of the fleet, from its captures, to "
        "DIR/reports/",
    ),
}
"""Options of this command alone, in the form of `arguments.OPTIONS`."""
ORDER = (
    "capture --list -o -f --min-wait --anonymize --names --all --keep --workers --scheduler "
    "--all-stalls --check --report -q --exit-zero -V"
)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = of_command("fleet", DESCRIPTION, EXAMPLES, EXIT_STATUS)
    arguments.add(made, ORDER, OPTIONS)
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
    output, *wanted = _outputs(options.output)
    if alone is not None:
        return _report(options, output) if alone == "report" else _check(options, output)
    request = _request(options, output)
    try:
        run.check(request)
    except ValueError as error:
        raise CaptureError(f"{error} (see nagle-scan fleet --help)") from None
    told: list[Change] = []

    def tell(outcome: Outcome) -> None:
        for path in wanted:
            from nagle_scan.fleet import results

            results.write(path, _table(output), outcome.changes, options.all_stalls)
        lines = list(report(outcome, output, wanted, bool(options.quiet)))
        more = [f"  {printable(one.sentence)}" for one in outcome.changes[len(told) :]]
        terminal.say("\n".join(more if told else lines))
        told[:] = outcome.changes

    outcome = run.run(request, terminal.note, sys.stderr, report=tell)
    return _status(outcome, output, options)


def _table(output: str) -> Table:
    """The fleet after the run; nobody lists its folder again for a run that asks nothing of it."""
    from nagle_scan.fleet.folder import Folder
    from nagle_scan.fleet.table import Table

    return Table(Folder(output))


def _outputs(named: Sequence[str]) -> list[str]:
    """The folder, and files for other programs. Raises `OutputError`."""
    wanted = [path for path in named if path.lower().endswith((".json", ".xml"))]
    folders = [path for path in named if path not in wanted]
    if len(folders) != 1:
        raise OutputError("-o: name one folder, and files that end with .json or .xml")
    return [*folders, *wanted]


def _check_alone(options: argparse.Namespace, made: argparse.ArgumentParser, alone: str) -> None:
    """Refuses options without effect: a fleet records how it was scanned."""
    for name, value in vars(options).items():
        if name not in ALONE[alone] and (value or None) != (made.get_default(name) or None):
            raise CaptureError(f"--{alone} does not scan: it takes only -o")


def _check(options: argparse.Namespace, output: str) -> int:
    """Reads all files, and mends what it can."""
    from nagle_scan.fleet import mend
    from nagle_scan.fleet.folder import Folder

    notes: list[str] = []
    table = mend.mend(Folder(output), notes.append, reads_all=True)
    table.scope  # noqa: B018
    for note in notes:
        terminal.note(printable(note))
    if not options.quiet:
        whole = f"{count(len(table.files), 'file')} whole"
        terminal.say(f"{whole}, {len(notes):,} told above" if notes else whole)
    return EXIT_UNUSABLE if notes else EXIT_PASSED


def _request(options: argparse.Namespace, output: str) -> RunRequest:
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
        output,
        Settings.of(ScanOptions(options.filter, options.min_wait), key, options.all, labels),
        options.scheduler,
        options.workers,
        options.keep,
    )


def _status(outcome: Outcome, output: str, options: argparse.Namespace) -> int:
    verdicts = outcome.verdicts
    if outcome.failures and not verdicts and not outcome.known:
        return EXIT_UNUSABLE
    if options.exit_zero:
        return EXIT_PASSED
    if any(one.is_failure for one in outcome.changes):
        return EXIT_STALLS
    if options.all_stalls:
        from nagle_scan.fleet import services

        if certainty.loses_time(services.of_all(_table(output))):
            return EXIT_STALLS
    can_tell = not verdicts or sum(verdicts.values()) > verdicts["inconclusive"]
    return EXIT_PASSED if can_tell else EXIT_CANNOT_TELL


def report(outcome: Outcome, output: str, files: Sequence[str], is_brief: bool) -> Iterator[str]:
    """The run's results."""
    failures = outcome.failures
    yield _headline(outcome)
    for change in outcome.changes[:MOST_CHANGES]:
        yield f"  {printable(change.sentence)}"
    if len(outcome.changes) > MOST_CHANGES:
        yield f"  ... and {len(outcome.changes) - MOST_CHANGES:,} more: Fleet.changes"
    if is_brief:
        return
    if outcome.incomplete:
        yield f"  {count(outcome.incomplete, 'file')} read in part: damaged or cut off"
    for failure in failures[:MOST_FAILURES]:
        reason = shortened(printable(failure.reason), REASON_LEN)
        yield f"  {printable(failure.file.path)}: {reason}"
    if len(failures) > MOST_FAILURES:
        yield f"  ... and {len(failures) - MOST_FAILURES:,} more: Fleet.failures"
    if outcome.page:
        yield f"wrote {printable(output.rstrip('/'))}/index.html, and the tables beside it"
    yield from (f"wrote {printable(path)}" for path in files)


def _headline(outcome: Outcome) -> str:
    found = [table.counted(outcome.verdicts)] if outcome.verdicts else []
    if outcome.failures:
        found.append(f"{count(len(outcome.failures), 'file')} {table.UNUSABLE}")
    known = [f"{count(outcome.known, 'file')} known"] if outcome.known else []
    if outcome.no_captures:
        known.append(f"{count(outcome.no_captures, 'file')} known to be no capture")
    shown = f" ({', '.join(known)})" if known else ""
    return (
        f"{count(outcome.sets_total, 'new capture')}{shown}: {', '.join(found) or 'nothing to do'}"
    )


def _end_as_by_interrupt() -> None:
    """Other signals also keep results and leave no workers or temporary files behind."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup ignores SIGHUP, and must keep doing so.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _report(options: argparse.Namespace, output: str) -> int:
    from nagle_scan.fleet.fleet import Fleet

    set_id, stream = options.report
    path = f"{output.rstrip('/')}/reports/{set_id}-{stream}.html"
    try:
        Fleet(output).report(set_id, stream, path)
    except UnknownConnectionError as error:
        raise CaptureError(f"{set_id}: {error}") from None
    terminal.say(f"wrote {printable(path)}")
    return EXIT_PASSED
