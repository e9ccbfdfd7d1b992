"""A run: from names to a fleet. It alone writes its batches, and it writes whole sets only."""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import changes, inputs, mend, scanning, sets, turns
from nagle_scan.fleet.changes import Change
from nagle_scan.fleet.fields import CHANGES, COMMIT
from nagle_scan.fleet.folder import Folder, name_of_content
from nagle_scan.fleet.table import Scope, Table
from nagle_scan.fleet.work import Failure, Place, Scanned, Set, Settings
from nagle_scan.fleet.workers import ClusterError, Task, Workers
from nagle_scan.result.options import ScanOptions
from nagle_scan.system.progress import ProgressLine, quantity, time_left
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from typing import TextIO

    from distributed import Client

MOST_SETS, MOST_BYTES = 32, 4 << 20
"""A task has no more sets, and no more bytes of captures unless one set has."""
EACH_WORKER = 8
"""Tasks that each worker gets at least, so that all end at the same time."""
BYTES_OF_WORKER = 8 << 20
"""Bytes that are read in the time in which a process starts."""
MOST_TURNS = 100
"""Runs that may tell something before this one."""
TRIES = 3
"""Attempts at a step that fails where a file is damaged, or deleted by another run meanwhile."""
NO_FRAMES = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
"""A pcap file of Ethernet without frames."""


class RunRequest(NamedTuple):
    """A run as it was asked for."""

    named: Sequence[str]
    list_file: str | None
    output: str
    settings: Settings
    scheduler: str | None = None
    workers: int | None = None
    keep_days: float | None = None
    """Details of older days go; sums stay."""


class Outcome:
    """The state of a run so far."""

    def __init__(self) -> None:
        self.sets_total, self.bytes_total = 0, 0
        """Sets that are new or grew, and their bytes as stored."""
        self.done, self.bytes, self.packets = 0, 0, 0
        self.known, self.no_captures, self.incomplete = 0, 0, 0
        """Numbers of files; incomplete ones were read in part."""
        self.verdicts: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.changes: list[Change] = []
        self.page = False
        """A page was written."""

    def add(self, task: Task, scanned: Scanned) -> None:
        """Sets are done."""
        self.done += len(task.items)
        self.bytes += task.size
        self.failures += scanned.failures
        if captures := scanned.rows.get(COMMIT):
            self.packets += sum(captures["packets"])
            self.incomplete += captures["complete"].count(False)
            # Each file of a set has the verdict of all.
            self.verdicts.update(
                dict(zip(captures["set"], captures["verdict"], strict=True)).values()
            )

    @property
    def how_far(self) -> str:
        """Sets that are done, of all."""
        return f"{self.done:,} of {count(self.sets_total, 'capture')}"

    def account(self, error: BaseException) -> str:
        """Why a run stopped, and how far it came; what was done until then is written."""
        why = printable(str(error) or "interrupted")
        stays = "is done and stays" if self.sets_total == 1 else "are done and stay"
        return f"{why}: {self.how_far} {stays}; the next run goes on"

    def line(self, elapsed_s: float) -> str:
        """Progress for a terminal."""
        failed = f", {count(len(self.failures), 'file')} failed" if self.failures else ""
        left = ""
        if self.bytes:
            left = f", {time_left(elapsed_s * (self.bytes_total - self.bytes) / self.bytes)} left"
        return (
            f"{self.how_far}, {quantity(self.bytes)}B of {quantity(self.bytes_total)}B, "
            f"{quantity(self.packets / elapsed_s)}packets/s{failed}{left}"
        )


def check(request: RunRequest, client: Client | None = None) -> None:
    """Refuses what contradicts itself. Raises `ValueError`."""
    has_cluster = client is not None or request.scheduler is not None
    wrong: Mapping[str, object] = {
        "no capture given": not request.named and request.list_file is None,
        "a scheduler beside a client, which has its own": client and request.scheduler is not None,
        "workers of this machine beside a cluster, which has its own": has_cluster
        and request.workers,
    }
    for why, is_so in wrong.items():
        if is_so:
            raise ValueError(why)


def run(
    request: RunRequest,
    tell: Callable[[str], None],
    stream: TextIO | None = None,
    client: Client | None = None,
    report: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Adds what is new to the fleet. Notes go to `tell`, how far it is to `stream`; `report` tells
    the outcome, once more if there is more to tell.

    Raises `NagleScanError`, and `KeyboardInterrupt` with how far it came.
    """
    _check_filter(request.settings.options.filter)
    listed = [] if request.list_file is None else inputs.names_in(request.list_file)
    folder = Folder(request.output)
    folder.check()
    with ExitStack() as opened:
        cluster = None
        if request.scheduler is not None or client is not None:
            # A cluster that is not there is reported before anything is written.
            from nagle_scan.fleet.cluster import connected

            cluster = opened.enter_context(connected(request.scheduler, client))
        return _Run(request, folder, cluster, tell, stream, report).run(listed)


class _Run:
    def __init__(
        self,
        request: RunRequest,
        folder: Folder,
        cluster: Workers | None,
        tell: Callable[[str], None],
        stream: TextIO | None,
        report: Callable[[Outcome], None],
    ) -> None:
        self._request, self._folder, self._cluster = request, folder, cluster
        self._note, self._stream, self._report = tell, stream, report
        self._scope = Scope.of(request.settings)
        self._outcome = Outcome()

    def run(self, listed: Sequence[str]) -> Outcome:
        request, outcome = self._request, self._outcome
        with ProgressLine(lambda _: "looking for captures", self._stream):
            found = inputs.find(request.named, listed)
            table = mend.mend(self._folder, self._note)
            if table.is_there and (difference := table.scope.differs(self._scope)):
                place = self._folder.path
                raise OutputError(f"{place}: scanned with {difference}: name a new folder")
            known = sets.Known(table, self._scope)
            plan = sets.plan(found.files.values(), known, request.settings)
        for note in (*found.notes, *plan.notes):
            self._note(note)
        outcome.failures += [*found.failures, *plan.failures]
        outcome.known, outcome.no_captures = plan.known, plan.no_captures
        outcome.sets_total, outcome.bytes_total = len(plan.sets), sum(one.size for one in plan.sets)
        over = [at for at in known.failed if at in plan.copies or _is_gone(at)]
        if plan.sets or outcome.failures or over:
            self._add(plan.sets, known, table, over)
        table.close()
        self._end(table.state())
        return outcome

    def _add(
        self, wanted: Sequence[Set], known: sets.Known, table: Table, over: Sequence[Place]
    ) -> None:
        # Arrow takes longer to load than a run that finds nothing new.
        from nagle_scan.fleet.batch import Batch

        batch = Batch(self._folder, self._request.settings, known, table.next_batch)
        table.close()
        batch.add(Scanned(failures=tuple(self._outcome.failures)), over)
        with ProgressLine(self._outcome.line, self._stream):
            try:
                self._scan(wanted, batch)
                batch.write()
            except OutputError as error:
                raise OutputError(f"{error}; the next run goes on") from None
            except (ClusterError, KeyboardInterrupt) as error:
                batch.write()
                raise type(error)(self._outcome.account(error)) from None

    def _scan(self, wanted: Sequence[Set], batch: Any) -> None:  # noqa: ANN401
        most = min(len(wanted), 1 + self._outcome.bytes_total // BYTES_OF_WORKER)
        workers = self._cluster or Workers(min(self._request.workers or processors(), most))
        at_once = min(MOST_SETS, max(1, len(wanted) // (EACH_WORKER * max(1, workers.room()))))
        work = partial(scanning.scan, settings=self._request.settings)
        tasks = _tasks(wanted, at_once)
        try:
            for task, result, error in workers.run(work, tasks, batch.write_if_due):
                scanned = scanning.failed(task.items, error) if error else result
                self._outcome.add(task, scanned)
                batch.add(scanned)
        finally:
            workers.close()

    def _end(self, state: str) -> None:
        """Tidies, and tells what nobody has told, until the page shows all there is: other runs
        write, too."""
        from nagle_scan.fleet import page

        table = Table(self._folder)
        if not table.is_there or (state == table.state() and page.state(self._folder) == state):
            self._report(self._outcome)
            return
        # Arrow takes longer to load than a run that finds nothing new.
        from nagle_scan.fleet import tidy

        keep_days = self._request.keep_days
        before = None if keep_days is None else _days_ago(keep_days)
        table = self._patiently(lambda now: tidy.tidy(now, before), table)
        for _ in range(MOST_TURNS):
            is_told = self._tell(table)
            table.close()
            table = Table(self._folder)
            if is_told and page.state(self._folder) == table.state():
                break
        if not self._outcome.page:
            self._report(self._outcome)

    def _tell(self, table: Table) -> bool:
        """Tells what nobody has told: on the page, in the report, and last of all in the table,
        so that what could not be told is told by the next run. False if another run tells now."""
        from nagle_scan.fleet import page, parquet

        news = self._patiently(changes.untold, table)
        content, names, turn = b"", [], ""
        if news:
            if not (turn := turns.taken(table, self._request.settings.key)):
                return False
            rows = parquet.rows(CHANGES, changes.columns(news))
            content = parquet.content(CHANGES, [rows])
            names = [name_of_content(CHANGES, content)]
        try:
            with ProgressLine(lambda _: "writing the page", self._stream):
                self._patiently(lambda now: page.write(now, news, table.state(names)), table)
            if news or not self._outcome.page:
                self._outcome.page = True
                self._outcome.changes += news
                self._report(self._outcome)
            if news:
                self._folder.put(CHANGES, content)
        except BaseException:
            if turn:
                self._folder.remove(turn)
            raise
        return True

    def _patiently(self, does: Callable[[Table], Any], table: Table) -> Any:  # noqa: ANN401
        """Does it with a table that is mended if a file of it cannot be read."""
        for _ in range(TRIES):
            try:
                return does(table)
            except CaptureError:
                table.close()
                table = mend.mend(self._folder, self._note, reads_all=True)
        return does(table)


def _tasks(every: Iterable[Set], most: int) -> Iterator[Task]:
    """Small sets together, large ones alone."""
    part: list[Set] = []
    size = 0
    for one in every:
        if part and (len(part) >= most or size + one.size > MOST_BYTES):
            yield Task(part, size)
            part, size = [], 0
        part.append(one)
        size += one.size
    if part:
        yield Task(part, size)


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_gone(at: Place) -> bool:
    """Is nothing left at the place of a failure? Nobody can tell of other hosts."""
    host, path = at
    return host == inputs.host() and os.path.isabs(path) and inputs.is_gone(path)


def _days_ago(days: float) -> date:
    return datetime.fromtimestamp(max(0.0, time.time() - days * 86_400), UTC).date()


def _check_filter(expression: str | None) -> None:
    """Raises `FilterError`: one wrong call is not a failure of each capture."""
    if expression is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(NO_FRAMES)
        file.flush()
        options = ScanOptions(expression, threads=1)
        _core.scan_captures([file.name], options, _core.Progress())
