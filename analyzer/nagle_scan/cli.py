"""The command `nagle-scan`."""

from __future__ import annotations

import atexit
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from nagle_scan import _core, arguments, interrupt, keys, terminal
from nagle_scan.arguments import EXIT_UNUSABLE
from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.progress import Doing, ProgressLine, line_of
from nagle_scan.report import formats
from nagle_scan.report.formats import Options
from nagle_scan.result import NO_FRAMES
from nagle_scan.scan import Scan
from nagle_scan.wording import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from nagle_scan.background import Task
    from nagle_scan.result import Result

EXIT_CLEAN, EXIT_STALLS, EXIT_BUG = 0, 1, 3
EXIT_INTERRUPTED = 130


def command() -> NoReturn:
    """Runs the command and ends the process at once.

    To give memory back and to tear Python down takes time.
    """
    found: list[Scan] = []
    try:
        status = main(found=found)
    except SystemExit as ended:  # --help, --version, or a bad command line
        status = EXIT_UNUSABLE if ended.code else EXIT_CLEAN
    terminal.flush()
    atexit._run_exitfuncs()
    os._exit(status)


def main(words: Sequence[str] | None = None, found: list[Scan] | None = None) -> int:
    """Runs the command and returns its exit status; what it found is added to `found`."""
    interrupt.end_at_once()
    try:
        return _run(arguments.parser().parse_args(words), [] if found is None else found)
    except NagleScanError as error:
        print(f"nagle-scan: {printable(str(error))}", file=sys.stderr)
        return EXIT_UNUSABLE
    except KeyboardInterrupt as error:
        print(f"nagle-scan: {printable(str(error))}", file=sys.stderr)
        return EXIT_INTERRUPTED
    except SystemExit:
        raise
    except BaseException:
        # A panic in the engine is not an `Exception`. Python's own status, 1, would mean 'stalls'.
        import traceback

        traceback.print_exc()
        return EXIT_BUG


def _run(options: argparse.Namespace, found: list[Scan]) -> int:
    keys_read = [] if options.key_file is None else [options.key_file]
    _refuse_to_overwrite([*options.capture, *options.baseline, *keys_read], options.output)
    _refuse_to_read_again(options.capture, options.output)
    if [*options.capture, *options.baseline].count("-") > 1:
        raise CaptureError("-: standard input can be read only once")
    if options.anonymize or options.key_file is not None:
        options.key = keys.find(options.key_file)
    baseline = _scan(options.baseline, options) if options.baseline else None
    progress = _core.Progress()
    scan = _scan(options.capture, options, progress)
    found.append(scan)
    chosen = Options(baseline, options.payload)
    _refuse_frames_of_text(scan, options.output)
    _say_what_changes_nothing(options.output, chosen)
    _write_and_say(scan, options.output, chosen)
    if progress.stopped:
        return EXIT_INTERRUPTED
    if baseline is not None:
        _refuse_to_call_it_fixed(baseline, scan, options.capture[0])
    if scan.verdict == "stalls" and not options.exit_zero:
        return EXIT_STALLS
    return EXIT_CLEAN


def _scan(
    paths: list[str], options: argparse.Namespace, progress: _core.Progress | None = None
) -> Scan:
    progress = progress or _core.Progress()
    how_far = partial(line_of, progress)
    with interrupt.StoppedByInterrupt(progress), ProgressLine(how_far, sys.stderr):
        core = _core.scan_captures(
            paths,
            options.filter,
            options.min_wait,
            exchanges=False,
            progress=progress,
            threads=options.threads,
        )
    if progress.stopped and paths is not options.capture:
        # Half a baseline is useless.
        raise KeyboardInterrupt
    if options.key is not None:
        core = core.anonymized(options.key)
    return Scan(paths, options.filter, core, options.key, options.min_wait, threads=options.threads)


def _refuse_to_overwrite(captures: Sequence[str], outputs: Sequence[str]) -> None:
    """A result must not destroy a capture, a key or another result."""
    taken = {os.path.realpath(path): path for path in captures}
    for path in outputs:
        if os.path.realpath(path) in taken:
            raise OutputError(f"{path}: would overwrite what this call reads or writes")
        taken[os.path.realpath(path)] = path


def _refuse_to_read_again(captures: Sequence[str], outputs: Sequence[str]) -> None:
    """Fails before the scan rather than after it."""
    for path in outputs:
        if "-" in captures and formats.of(path).reads_again:
            raise OutputError(f"{path}: {formats.CANNOT_READ_AGAIN}")


def _refuse_frames_of_text(scan: Scan, outputs: Sequence[str]) -> None:
    """Fails before anything is written."""
    for path in outputs:
        if scan.core.summary().is_text and formats.of(path).reads_again:
            raise OutputError(f"{path}: {NO_FRAMES}")


def _say_what_changes_nothing(paths: Sequence[str], chosen: Options) -> None:
    """No format ignores an option silently."""
    for option in formats.given(chosen):
        same = [path for path in paths if option not in formats.of(path).takes]
        if same:
            names = printable(", ".join(same))
            print(f"nagle-scan: note: --{option} has no effect on {names}", file=sys.stderr)


def _refuse_to_call_it_fixed(baseline: Scan, scan: Scan, path: str) -> None:
    from nagle_scan.compare import compare

    comparison = compare(baseline, scan)
    if comparison.outcome != "inconclusive":
        return
    states = {server.state for server in comparison.servers}
    why = "cannot be compared: no server that stalled before has data in it"
    if "hidden" in states:
        why = "cannot be compared: a stall would not show in it"
    if "slow" in states:
        why = "no stall is left, but the latency is not as short as predicted"
    raise CaptureError(f"{path}: {why}")


def _write_and_say(scan: Scan, paths: Sequence[str], chosen: Options) -> None:
    """Writes all results, then prints the report, so that its reader finds the files."""
    by_engine = [path for path in paths if formats.of(path).by_engine]
    doing = Doing()
    scan.doing = doing.begin
    with ProgressLine(doing.line, sys.stderr):
        for path in paths:
            if path not in by_engine:
                doing.begin(f"writing {printable(path)}")
                formats.write(scan, path, formats.of(path), chosen)

    writing = _begin(scan, by_engine, chosen) if by_engine else None
    try:
        report = None if sys.stdout is None else _report(scan, chosen.baseline)
    finally:
        if writing is not None:
            writing.join()
    if report is not None:
        terminal.say(report)


def _begin(scan: Scan, paths: Sequence[str], chosen: Options) -> Task:
    """Starts to write the results in `paths`."""
    from nagle_scan.background import Task

    def write() -> None:
        for path in paths:
            formats.write(scan, path, formats.of(path), chosen)

    return Task(write)


def _report(scan: Scan, baseline: Result | None) -> str:
    # Imported while the engine writes; --help and --version do not need it.
    from nagle_scan.report import text

    return text.render(scan, terminal.style_of(sys.stdout), baseline)
