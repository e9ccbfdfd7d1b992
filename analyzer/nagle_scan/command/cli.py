"""The command `nagle-scan`."""

from __future__ import annotations

import atexit
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.api import captures, keys
from nagle_scan.api.scan import scan_two, scan_with
from nagle_scan.command.chosen import Chosen, is_plain
from nagle_scan.command.gate import (
    EXIT_BUG,
    EXIT_CANNOT_TELL,
    EXIT_INTERRUPTED,
    EXIT_PASSED,
    EXIT_STALLS,
    EXIT_UNUSABLE,
    Gate,
)
from nagle_scan.command.outputs import Outputs
from nagle_scan.errors import CaptureError, NagleScanError, OutputError
from nagle_scan.report import formats
from nagle_scan.report.formats import STANDARD_OUTPUT, TEXT
from nagle_scan.report.options import Options
from nagle_scan.system import interrupt, terminal
from nagle_scan.system.progress import ProgressLine, line_of
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from nagle_scan.api.captures import CaptureSet
    from nagle_scan.result import Result

OTHERS = (["fleet"], ["mcp"])
"""Commands of their own; a capture of this name is `./fleet`."""


def command() -> NoReturn:
    """Runs the command and ends the process at once.

    To give memory back and to tear Python down takes time.
    """
    # Where OpenBLAS finds no room for a thread per processor, it ends the process with 1: stalls.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os._exit(_status())


def _status() -> int:
    found: list[Result] = []
    try:
        if sys.argv[1:2] not in OTHERS:
            interrupt.watch()
        status = main(found=found)
    except MemoryError:
        status = _out_of_memory()
    except SystemExit as ended:  # --help, --version, or a bad command line
        status = EXIT_UNUSABLE if ended.code else EXIT_PASSED
    terminal.flush()
    atexit._run_exitfuncs()
    return status


def main(words: Sequence[str] | None = None, found: list[Result] | None = None) -> int:
    """Runs the command and returns its exit status; what it found is added to `found`."""
    try:
        words = sys.argv[1:] if words is None else words
        if words[:1] in OTHERS:
            from importlib import import_module

            status: int = import_module(f"nagle_scan.command.{words[0]}").run(words[1:])
            return status
        return _run(_chosen(words), [] if found is None else found)
    except NagleScanError as error:
        terminal.note(printable(str(error)))
        return EXIT_UNUSABLE
    except KeyboardInterrupt as error:
        terminal.note(printable(str(error)) or "interrupted")
        return EXIT_INTERRUPTED
    except SystemExit:
        raise
    except MemoryError:
        return _out_of_memory()
    except BaseException as error:
        if isinstance(error, FileNotFoundError) and _is_folder_gone():
            terminal.note("the current folder is gone: change to another")
            return EXIT_UNUSABLE
        # A panic in the engine is not an `Exception`. Python's own status, 1, would mean 'stalls'.
        import traceback

        traceback.print_exc()
        return EXIT_BUG


def _out_of_memory() -> int:
    terminal.note("not enough memory")
    return EXIT_UNUSABLE


def _is_folder_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _chosen(words: Sequence[str]) -> Chosen:
    if is_plain(words):
        return Chosen(words)
    from nagle_scan.command import arguments

    return arguments.chosen(words)


def _run(options: Chosen, found: list[Result]) -> int:
    if "" in options.calls or not options.capture:
        from nagle_scan.command import calls as trace

        return trace.command() if "" in options.calls else trace.alone(options)
    options = options.in_range
    outputs = _outputs(options)
    also_read = [name for name in options.names if isinstance(name, str)]
    if [*options.capture, *options.baseline, *options.calls].count("-") > 1:
        raise CaptureError("-: standard input can be read only once")
    sets, notes = captures.grouped(options.capture, options.merge)
    files = [path for capture in sets for path in capture.paths]
    is_plain_scan = options.why is None and options.stream is None and not options.calls
    # A pipe can be read but once: what a second capture spoils would be lost.
    may_be_ends = len(sets) == 2 and is_plain_scan and all(map(os.path.isfile, files))
    if len(sets) > 1 and not may_be_ends:
        _check_several(sets, outputs, options)
    if options.anonymize:
        sets = captures.numbered(sets)
    outputs.check([*files, *options.baseline, *also_read, *options.calls], sets)
    for note in notes:
        terminal.note(f"note: {note}")
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        terminal.note("reading standard input: paste what tcpdump printed, then Ctrl-D")
    if options.anonymize:
        key = keys.find()
        options = options._replace(key=key or keys.random(), key_is_random=key is None)
    _check_map(options)
    options = options._replace(named=_names(options))
    if options.calls:
        from nagle_scan.api import calls

        options = options._replace(trace=calls.read(options.calls, _core.Progress()))
    if options.why is not None:
        return _why(sets, options, options.why)
    gate = Gate(options.max_lost)
    if options.stream is not None:
        status = _stream(sets, options, options.stream, gate)
    elif len(sets) == 1:
        status = _run_one(sets[0], options, outputs, gate, found)
    elif may_be_ends:
        status = _run_two(sets, options, outputs, gate, found)
    else:
        status = _run_several(sets, options, outputs, gate)
    is_verdict = status in (EXIT_STALLS, EXIT_CANNOT_TELL)
    return EXIT_PASSED if options.exit_zero and is_verdict else status


def _why(sets: Sequence[CaptureSet], options: Chosen, frame: int) -> int:
    from nagle_scan.api.why import case_of

    _check_single("--why", "frames", sets, options)
    case = case_of(sets[0].paths, options.scan_options, frame)
    # Lines of a trace hold addresses.
    terminal.say(str(case if options.key is None else case._replace(calls=[])))
    return EXIT_PASSED


def _check_single(option: str, what: str, sets: Sequence[CaptureSet], options: Chosen) -> None:
    """Refuses what an option that prints a text of its own would ignore."""
    if options.output or options.format != TEXT or options.baseline:
        raise OutputError(f"{option} prints text: leave out -o, --format and --baseline")
    if len(sets) > 1:
        instead = "use --merge" if captures.are_one_rotation(sets) else "name one"
        raise CaptureError(f"{option}: {what} are counted in one capture: {instead}")


def _stream(sets: Sequence[CaptureSet], options: Chosen, number: int, gate: Gate) -> int:
    from nagle_scan.report import stream

    _check_single("--stream", "streams", sets, options)
    scan = _scan(sets[0].paths, options)
    try:
        row = scan.row_of(number)
    except KeyError as error:
        raise CaptureError(f"--stream: {error.args[0]}") from None
    style = terminal.style()
    terminal.say(stream.in_one_line(row) if options.quiet else stream.render(scan, number, style))
    if row.stalls and gate.fails(row):
        return EXIT_STALLS
    return EXIT_CANNOT_TELL if row.verdict == "inconclusive" else EXIT_PASSED


def _names(options: Chosen) -> dict[str, str]:
    """Names of addresses: those of the command line come before those of a file."""
    if not options.names:
        return {}
    from nagle_scan.api import names

    named: dict[str, str] = {}
    for given in options.names:
        if isinstance(given, str):
            named = names.read(given) | named
    named |= dict(given for given in options.names if not isinstance(given, str))
    if options.key is None:
        return named
    kept = names.without_addresses(named)
    if len(kept) < len(named):
        left = count(len(named) - len(kept), "name")
        terminal.note(f"note: {left} left out: an address in it")
    return kept


def _outputs(options: Chosen) -> Outputs:
    folders = [path for path in options.output if formats.is_folder(path)]
    if len(folders) > 1:
        raise OutputError(f"{folders[1]}: reports go to one folder")
    return Outputs(
        [path for path in options.output if path not in (*folders, STANDARD_OUTPUT)],
        folders[0] if folders else None,
        options.format,
        options.quiet,
    )


def _check_several(sets: Sequence[CaptureSet], outputs: Outputs, options: Chosen) -> None:
    from nagle_scan.command import several

    several.check(sets, outputs, bool(options.baseline))


def _run_two(
    sets: Sequence[CaptureSet],
    options: Chosen,
    outputs: Outputs,
    gate: Gate,
    found: list[Result],
) -> int:
    """Two captures are one scan if they were taken at both ends of the same connections."""
    try:
        scans = _scan_two([capture.paths for capture in sets], options)
    except CaptureError:
        # One that cannot be read costs no other.
        scans = []
    if len(scans) == 1:
        return _run_one(sets[0], options, outputs, gate, found, scans[0])
    _check_several(sets, outputs, options)
    return _run_several(sets, options, outputs, gate, scans)


def _run_one(
    capture: CaptureSet,
    options: Chosen,
    outputs: Outputs,
    gate: Gate,
    found: list[Result],
    scanned: Result | None = None,
) -> int:
    outputs.make_folder()
    before = options._replace(trace=None, filter=options.baseline_filter)
    baseline = _scan(options.baseline, before) if options.baseline else None
    progress = _core.Progress()
    scan = scanned or _scan(capture.paths, options, progress)
    found.append(scan)
    chosen = Options(baseline, options.payload, tuple(options.baseline_map))
    outputs.say_what_changes_nothing(chosen)
    if not outputs.of_one_capture(capture.stem).write(scan, chosen):
        return EXIT_UNUSABLE
    if progress.stopped:
        if options.quiet or options.format != TEXT:
            terminal.note(f"interrupted after {count(progress.packets, 'packet')}")
        return EXIT_INTERRUPTED
    if not _is_comparable(chosen, scan, capture.name):
        return EXIT_CANNOT_TELL
    return gate.status(scan)


def _check_map(options: Chosen) -> None:
    """Refuses a map that would be ignored, or that contradicts itself."""
    pairs = options.baseline_map
    if not pairs:
        return
    if not options.baseline:
        raise CaptureError("--baseline-map: there is no --baseline")
    if options.key is not None:
        raise CaptureError("--baseline-map names addresses that --anonymize replaces")
    from nagle_scan.moves import checked

    try:
        checked(pairs)
    except ValueError as error:
        raise CaptureError(f"--baseline-map: {error}") from None


def _run_several(
    sets: Sequence[CaptureSet],
    options: Chosen,
    outputs: Outputs,
    gate: Gate,
    scanned: Sequence[Result] = (),
) -> int:
    from nagle_scan.command import several

    ready = iter(scanned)

    def scan(capture: CaptureSet) -> Result:
        return next(ready, None) or _scan(capture.paths, options)

    return several.scan_each(sets, scan, outputs, Options(payload=options.payload), gate)


def _scan(paths: Sequence[str], options: Chosen, progress: _core.Progress | None = None) -> Result:
    """With a `progress`, what was read until Ctrl-C; else half a capture is useless."""
    seen = progress or _core.Progress()
    how_far = partial(line_of, seen)
    with interrupt.StoppedByInterrupt(seen), ProgressLine(how_far, sys.stderr):
        result = scan_with(paths, options.scan_options, options.key, seen)._result
    if seen.stopped and progress is None:
        raise KeyboardInterrupt
    result.key_is_random = options.key_is_random
    return result


def _scan_two(two: list[list[str]], options: Chosen) -> list[Result]:
    """Scans of two captures: one, if they were taken at both ends of the same connections."""
    seen = _core.Progress()
    with interrupt.StoppedByInterrupt(seen), ProgressLine(partial(line_of, seen), sys.stderr):
        scans = [scan._result for scan in scan_two(two, options.scan_options, options.key, seen)]
    if seen.stopped:
        raise KeyboardInterrupt
    for result in scans:
        result.key_is_random = options.key_is_random
    return scans


def _is_comparable(chosen: Options, scan: Result, path: str) -> bool:
    """Does the comparison tell anything? Says why not."""
    if chosen.baseline is None:
        return True
    from nagle_scan.compare import compare

    comparison = compare(chosen.baseline, scan, chosen.baseline_map)
    if comparison.outcome != "inconclusive":
        return True
    states = {server.state for server in comparison.servers}
    why = "cannot be compared: a server that stalled before has no data in it"
    if "hidden" in states:
        why = "cannot be compared: a stall would not show in it"
    if "untested" in states:
        why = "no stall is left, but hardly anything in it could have stalled"
    if "slow" in states:
        why = "no stall is left, but the latency is not as short as predicted"
    terminal.note(f"{printable(path)}: {why}")
    return False
