"""The coordinator: from names to a fleet. It alone writes, and it writes whole sets only."""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import OutputError
from nagle_scan.fleet import hosts, inputs, scanning, sets
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.table import Scope
from nagle_scan.fleet.work import Failure, File, Place, Scanned, Set, Settings
from nagle_scan.fleet.workers import ClusterError, Task, Workers
from nagle_scan.fleet.writer import Writer
from nagle_scan.system.progress import ProgressLine, quantity, time_left
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from typing import TextIO

    from distributed import Client

    from nagle_scan.fleet.batch import Batch

MOST_SETS, MOST_BYTES, EACH_WORKER = 32, 4 << 20, 8
"""Of a task; and tasks that each worker should get at least, so that all end at the same time."""
BYTES_OF_WORKER = 8 << 20
"""A process takes as long to start as these to read."""
FILES_IN_TASK, AT_ONCE = 256, 32
NO_FRAMES = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
"""A pcap file of Ethernet without frames."""


class RunRequest(NamedTuple):
    """What a run is to do."""

    named: Sequence[str]
    list_file: str | None
    output: str
    settings: Settings
    scheduler: str | None = None
    workers: int | None = None
    on_hosts: bool = False
    hosts_file: str | None = None
    """Lists the hosts that should answer."""
    keep_days: float | None = None
    """Older days go; sums stay."""
    again: bool = False
    """Also what is known; and lets go of what is gone from the table."""


class Outcome:
    """What it did so far."""

    def __init__(self) -> None:
        self.of, self.of_bytes = 0, 0
        """Sets that are new or grew, and their bytes as stored."""
        self.done, self.bytes, self.packets = 0, 0, 0
        self.known, self.no_captures, self.incomplete = 0, 0, 0
        """Files, the last ones read in part."""
        self.verdicts: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.coverage = ""
        self.page = False
        """Was it written?"""

    def add(self, task: Task, scanned: Scanned) -> None:
        """Sets are done."""
        self.done += len(task.items)
        self.bytes += task.size
        self.failures += scanned.failures
        self.packets += scanned.packets
        self.incomplete += scanned.incomplete
        self.verdicts.update(scanned.verdicts)

    @property
    def how_far(self) -> str:
        """The done ones of all."""
        return f"{self.done:,} of {count(self.of, 'capture')}"

    def line(self, elapsed_s: float) -> str:
        """For a terminal."""
        failed = f", {count(len(self.failures), 'file')} failed" if self.failures else ""
        left = ""
        if self.bytes:
            left = f", {time_left(elapsed_s * (self.of_bytes - self.bytes) / self.bytes)} left"
        return (
            f"{self.how_far}, {quantity(self.bytes)}B of {quantity(self.of_bytes)}B, "
            f"{quantity(self.packets / elapsed_s)}packets/s{failed}{left}"
        )


def check(request: RunRequest, client: Client | None = None) -> None:
    """Refuses what contradicts itself. Raises `ValueError`."""
    has_cluster = client is not None or request.scheduler is not None
    wrong: Mapping[str, object] = {
        "no capture given": not request.named and request.list_file is None and not request.again,
        "a scheduler beside a client, which has its own": client and request.scheduler is not None,
        "workers of this machine beside a cluster, which has its own": has_cluster
        and request.workers,
        "captures on hosts need the scheduler of these hosts": request.on_hosts and not has_cluster,
        "hosts are expected only where each reads its own captures": request.hosts_file is not None
        and not request.on_hosts,
    }
    for why, is_so in wrong.items():
        if is_so:
            raise ValueError(why)


def run(
    request: RunRequest,
    tell: Callable[[str], None],
    stream: TextIO | None = None,
    client: Client | None = None,
) -> Outcome:
    """Adds what is new to the fleet. Notes go to `tell`, how far it is to `stream`.

    Raises `NagleScanError`, and `KeyboardInterrupt` with how far it came.
    """
    _check_filter(request.settings.filter)
    expected = [] if request.hosts_file is None else inputs.names_in(request.hosts_file)
    listed = [] if request.list_file is None else inputs.names_in(request.list_file)
    table, scope = Writer(request.output), Scope.of(request.settings)
    table.check(scope, may_lack=request.again)
    with ExitStack() as opened:
        cluster = None
        if request.scheduler is not None or client is not None:
            # A cluster that is not there is told before anything is written.
            from nagle_scan.fleet.cluster import connected

            cluster = opened.enter_context(connected(request.scheduler, client))
        doing = _Run(request, table, cluster, tell, stream, Outcome())
        return doing.run(listed, expected, scope)


class _Run(NamedTuple):
    request: RunRequest
    table: Writer
    cluster: Workers | None
    tell: Callable[[str], None]
    stream: TextIO | None
    outcome: Outcome

    @property
    def hosts(self) -> Workers | None:
        """The cluster, if its hosts have the captures."""
        return self.cluster if self.request.on_hosts else None

    def run(self, listed: Sequence[str], expected: Sequence[str], scope: Scope) -> Outcome:
        request, table, stream, outcome = self.request, self.table, self.stream, self.outcome
        with ProgressLine(lambda _: "looking for captures", stream):
            if self.hosts:
                found = hosts.find(request.named, listed, self.hosts)
            else:
                found = inputs.find(request.named, listed)
            table.begin(scope)
            if request.again and (lost := table.repair()):
                self.tell(f"{count(lost, 'capture')} may have lost rows: to be read again")
            known = sets.Known(table.query(sets.KNOWN))
            plan = sets.plan(
                found.files.values(), known, request.settings, self._open, request.again
            )
        for note in (*found.notes, *plan.notes):
            self.tell(note)
        outcome.failures += [*found.failures, *plan.failures]
        outcome.known, outcome.no_captures = plan.known, plan.no_captures
        outcome.of, outcome.of_bytes = len(plan.sets), sum(one.size for one in plan.sets)
        over = [at for at, row in known.failed.items() if row.attempts and _is_gone(at)]
        if plan.sets or outcome.failures or over:
            # Arrow takes longer to load than a run that finds nothing new.
            from nagle_scan.fleet.batch import Batch

            batch = Batch(table, request.settings, known)
            batch.add(Scanned(failures=tuple(outcome.failures)), over)
            with ProgressLine(outcome.line, stream), self._accounted(batch):
                self._scan(plan.sets, batch)
                batch.write()
        with ProgressLine(lambda _: "writing the page", stream):
            if request.keep_days is not None:
                table.drop(_days_ago(request.keep_days))
            table.end()
            if self.hosts:
                outcome.coverage = hosts.coverage(self.hosts, expected)
            self._write_page()
        return outcome

    def _open(self, function: Any, every: Sequence[File]) -> Iterable[tuple[File, Any]]:  # noqa: ANN401
        """See `sets.Open`."""
        if self.hosts:
            tasks = _tasks(every, attrgetter("host"), function, (), FILES_IN_TASK)
            done = (one for one in self.hosts.run(tasks) if not one.error)
            return [pair for one in done for pair in zip(one.task.items, one.result, strict=True)]
        if not any(is_url(file.path) for file in every):
            return zip(every, function(every), strict=True)
        # A file of a network takes some round trips.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(AT_ONCE) as pool:
            told = pool.map(lambda file: function([file])[0], every)
            return list(zip(every, told, strict=True))

    def _scan(self, wanted: Sequence[Set], batch: Batch) -> None:
        most = min(len(wanted), 1 + self.outcome.of_bytes // BYTES_OF_WORKER)
        workers = self.cluster or Workers(min(self.request.workers or processors(), most))
        at_once = min(MOST_SETS, max(1, len(wanted) // (EACH_WORKER * max(1, workers.room()))))
        rest = (self.request.settings,)
        tasks = _tasks(wanted, attrgetter("host"), scanning.scan, rest, at_once, MOST_BYTES)
        try:
            for task, result, error in workers.run(tasks, batch.write_if_due):
                scanned = scanning.failed(task.items, error) if error else result
                self.outcome.add(task, scanned)
                batch.add(scanned)
        finally:
            workers.close()

    def _write_page(self) -> None:
        if self.table.is_older("index.html") or self.outcome.coverage:
            from nagle_scan.fleet import page

            page.write(self.table, self.outcome.coverage)
            self.table.sync_page(page.NAME)
            self.outcome.page = True

    @contextmanager
    def _accounted(self, batch: Batch) -> Iterator[None]:
        """Says how far it came if it has to stop; what was done until then is written."""

        def account(why: object) -> str:
            stays = "is done and stays" if self.outcome.of == 1 else "are done and stay"
            return f"{printable(str(why))}: {self.outcome.how_far} {stays}; the next run goes on"

        try:
            yield
        except OutputError as error:
            raise OutputError(f"{error}; the next run goes on") from None
        except ClusterError as error:
            batch.write()
            raise ClusterError(account(error)) from None
        except KeyboardInterrupt:
            batch.write()
            raise KeyboardInterrupt(account("interrupted")) from None


def _tasks(
    every: Iterable[Any],
    host: Callable[[Any], str],
    function: Callable[..., Any],
    rest: tuple[Any, ...],
    most: int,
    most_bytes: float = float("inf"),
) -> Iterator[Task]:
    """Small items together, large ones alone; those of a host on it."""
    for at, own in groupby(sorted(every, key=host), host):
        part: list[Any] = []
        size = 0
        for one in own:
            if part and (len(part) >= most or size + one.size > most_bytes):
                yield Task(function, part, rest, at, size)
                part, size = [], 0
            part.append(one)
            size += one.size
        yield Task(function, part, rest, at, size)


def processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_gone(at: Place) -> bool:
    """Of a failure: is there nothing at its place any more? Nobody can tell of other hosts."""
    host, path = at
    return not host and os.path.isabs(path) and inputs.is_gone(path)


def _days_ago(days: float) -> date:
    return datetime.fromtimestamp(max(0.0, time.time() - days * 86_400), UTC).date()


def _check_filter(expression: str | None) -> None:
    """Raises `FilterError`: one call that is wrong is no failure of each capture."""
    if expression is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(NO_FRAMES)
        file.flush()
        _core.scan_captures([file.name], expression, 1.0, False, _core.Progress(), threads=1)
