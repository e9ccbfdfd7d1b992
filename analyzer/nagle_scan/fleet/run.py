"""The coordinator: from names to a fleet. It alone writes, and it writes whole sets only."""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError, OutputError
from nagle_scan.fleet import inputs, scanning, sets
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
MOST_NAMED = 10
NOWHERE = "no host has such a capture"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""No capture is older."""
NO_FRAMES = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
"""A pcap file of Ethernet without frames."""


class Asked(NamedTuple):
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
    keep: timedelta | None = None
    """Days that are older go; sums stay."""
    again: bool = False
    """Also what is known; and lets go of what is gone from the table."""


class Outcome:
    """What it did so far."""

    def __init__(self) -> None:
        self.of, self.of_bytes = 0, 0
        """Sets that are new or grew, and their bytes as stored."""
        self.done, self.bytes, self.packets = 0, 0, 0
        self.known, self.no_captures = 0, 0
        """Files."""
        self.incomplete = 0
        """Files that were read in part."""
        self.verdicts: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.coverage = ""
        self.page = False
        """Was it written?"""

    def add(self, scanned: Scanned, task: Task) -> None:
        """Sets are done."""
        self.done += len(task.items)
        self.bytes += task.size
        self.failures += scanned.failures
        self.packets += scanned.packets
        self.incomplete += scanned.incomplete
        self.verdicts.update(scanned.verdicts)

    @property
    def how_far(self) -> str:
        """So many of all."""
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


def check(asked: Asked, client: Client | None = None) -> None:
    """Refuses what contradicts itself. Raises `ValueError`."""
    has_cluster = client is not None or asked.scheduler is not None
    wrong = {
        "no capture given": not asked.named and asked.list_file is None and not asked.again,
        "a scheduler beside a client, which has its own": client and asked.scheduler is not None,
        "workers of this machine beside a cluster, which has its own": has_cluster
        and asked.workers,
        "captures on hosts need the scheduler of these hosts": asked.on_hosts and not has_cluster,
        "hosts are expected only where each reads its own captures": asked.hosts_file is not None
        and not asked.on_hosts,
    }
    for why, is_so in wrong.items():
        if is_so:
            raise ValueError(why)


def run(
    asked: Asked,
    tell: Callable[[str], None],
    stream: TextIO | None = None,
    client: Client | None = None,
) -> Outcome:
    """Adds what is new to the fleet. Notes go to `tell`, how far it is to `stream`.

    Raises `NagleScanError`, and `KeyboardInterrupt` with how far it came.
    """
    _check_filter(asked.settings.filter)
    expected = [] if asked.hosts_file is None else inputs.names_in(asked.hosts_file)
    listed = [] if asked.list_file is None else inputs.names_in(asked.list_file)
    table = Writer(asked.output)
    scope = Scope.of(asked.settings)
    table.check(scope, may_lack=asked.again)
    with contextlib.ExitStack() as opened:
        cluster = None
        if asked.scheduler is not None or client is not None:
            # A cluster that is not there is told before anything is written.
            from nagle_scan.fleet.cluster import connected

            cluster = opened.enter_context(connected(asked.scheduler, client))
        return _Run(asked, table, cluster, tell, stream).run(listed, expected, scope)


class _Run:
    def __init__(
        self,
        asked: Asked,
        table: Writer,
        cluster: Workers | None,
        tell: Callable[[str], None],
        stream: TextIO | None,
    ) -> None:
        self._asked, self._settings, self._table = asked, asked.settings, table
        self._cluster, self._tell, self._stream = cluster, tell, stream
        self._outcome = Outcome()

    def run(self, listed: Sequence[str], expected: Sequence[str], scope: Scope) -> Outcome:
        outcome, table = self._outcome, self._table
        with ProgressLine(lambda _: "looking for captures", self._stream):
            found = self._found(listed)
            table.begin(scope)
            if self._asked.again and (lost := table.repair()):
                self._tell(f"{count(lost, 'capture')} may have lost rows: to be read again")
            known = sets.Known(table.query(sets.KNOWN))
            plan = sets.plan(
                found.files.values(), known, self._settings, self._open, self._asked.again
            )
        outcome.failures += [*found.failures, *plan.failures]
        outcome.known, outcome.no_captures = plan.known, plan.no_captures
        outcome.of, outcome.of_bytes = len(plan.sets), sum(one.size for one in plan.sets)
        for note in (*found.notes, *plan.notes):
            self._tell(note)
        over = [at for at, row in known.failed.items() if row.attempts and _is_gone(at)]
        if plan.sets or outcome.failures or over:
            # Arrow takes longer to load than a run that finds nothing new.
            from nagle_scan.fleet.batch import Batch

            batch = Batch(table, self._settings, known)
            batch.forgive(over)
            batch.add(Scanned(failures=tuple(outcome.failures)))
            with ProgressLine(outcome.line, self._stream), self._accounted(batch):
                self._scan(plan.sets, batch)
                batch.write()
        with ProgressLine(lambda _: "writing the page", self._stream):
            if self._asked.keep is not None:
                now = datetime.now(UTC)
                table.drop((now - min(self._asked.keep, now - EPOCH)).date())
            table.end()
            if self._asked.on_hosts and self._cluster is not None:
                outcome.coverage = coverage(self._cluster, expected)
            self._write_page()
        return outcome

    def _found(self, listed: Sequence[str]) -> inputs.Found:
        """With a cluster's hosts, what each of them has."""
        if not self._asked.on_hosts or self._cluster is None:
            return inputs.find(self._asked.named, listed)
        names = [
            (name, number < len(self._asked.named))
            for number, name in enumerate((*self._asked.named, *listed))
        ]
        tasks = (Task(find_here, names, host=host) for host in self._cluster.hosts)
        every_host = [done for done in self._cluster.run(tasks) if not done.error]
        there = {done.task.host: done.result for done in every_host}
        if not there:
            raise ClusterError(f"{self._cluster.shown}: no host answers")
        every = inputs.Found({}, [], [])
        for name in set.intersection(*(missing for _, missing in there.values())):
            if (name, True) in names:
                raise CaptureError(f"{name}: {NOWHERE}")
            every.failures.append(Failure(File(name), NOWHERE))
        for host, (found, _) in there.items():
            every.files.update(
                (f"{host}:{path}", one._replace(host=host)) for path, one in found.files.items()
            )
            every.failures.extend(
                one._replace(file=one.file._replace(host=host)) for one in found.failures
            )
            every.notes.extend(f"{host}:{note}" for note in found.notes)
        return every

    def _open(self, function: Any, every: Sequence[File]) -> Iterable[tuple[File, Any]]:  # noqa: ANN401
        """See `sets.Open`."""
        if self._asked.on_hosts and self._cluster is not None:
            by_host = groupby(sorted(every, key=attrgetter("host")), attrgetter("host"))
            tasks = (
                Task(function, part, host=host)
                for host, own in by_host
                for part in _parts(list(own), FILES_IN_TASK)
            )
            return [
                both
                for done in self._cluster.run(tasks)
                if not done.error
                for both in zip(done.task.items, done.result, strict=True)
            ]
        if not any(is_url(file.path) for file in every):
            return zip(every, function(every), strict=True)
        # A file of a network takes some round trips.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            told = pool.map(lambda file: function([file])[0], every)
            return list(zip(every, told, strict=True))

    def _scan(self, wanted: Sequence[Set], batch: Batch) -> None:
        if not wanted:
            return
        size = sum(one.size for one in wanted)
        most = min(len(wanted), 1 + size // BYTES_OF_WORKER)
        workers = self._cluster or Workers(min(self._asked.workers or processors(), most))
        many = max(1, sum(workers.room().values()))
        tasks = _tasks(wanted, self._settings, len(wanted) // (EACH_WORKER * many))
        try:
            for done in workers.run(tasks, batch.write_if_due):
                task = done.task
                scanned = scanning.failed(task.items, done.error) if done.error else done.result
                self._outcome.add(scanned, task)
                batch.add(scanned)
        finally:
            workers.close()

    def _write_page(self) -> None:
        if self._table.is_older("index.html") or self._outcome.coverage:
            from nagle_scan.fleet import page

            page.write(self._table, self._outcome.coverage)
            self._table.sync_page(page.NAME)
            self._outcome.page = True

    @contextlib.contextmanager
    def _accounted(self, batch: Batch) -> Iterator[None]:
        """Says how far it came if it has to stop; what was done until then is written."""

        def account(why: object) -> str:
            stays = "is done and stays" if self._outcome.of == 1 else "are done and stay"
            return f"{printable(str(why))}: {self._outcome.how_far} {stays}; the next run goes on"

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


def _tasks(wanted: Sequence[Set], settings: Settings, most: int) -> Iterator[Task]:
    """Small sets together, large ones alone."""
    part: list[Set] = []
    for one in sorted(wanted, key=_host):
        size = sum(each.size for each in (*part, one))
        if part and (
            len(part) >= min(most, MOST_SETS) or size > MOST_BYTES or _host(part[0]) != _host(one)
        ):
            yield _task(part, settings)
            part = []
        part.append(one)
    yield _task(part, settings)


def _task(part: Sequence[Set], settings: Settings) -> Task:
    size = sum(one.size for one in part)
    return Task(scanning.scan, list(part), (settings,), _host(part[0]), size)


def _host(wanted: Set) -> str:
    return wanted.files[0].host


def _parts(every: Sequence[File], most: int) -> Iterator[Sequence[File]]:
    return (every[at : at + most] for at in range(0, len(every), most))


def processors() -> int:
    """So many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def find_here(names: Sequence[tuple[str, bool]]) -> tuple[inputs.Found, set[str]]:
    """Runs on a host: what it has, and the names of which it has nothing. What it has and cannot
    read is a failure."""
    every, missing = inputs.Found({}, [], []), set()
    for name, is_named in names:
        try:
            found = inputs.find([name] if is_named else [], [] if is_named else [name])
        except inputs.NothingError:
            missing.add(name)
            continue
        except CaptureError as error:
            file = File(os.path.abspath(name))
            every.failures.append(Failure(file, str(error).removeprefix(f"{file.path}: ")))
            continue
        there = {path: one for path, one in found.files.items() if not inputs.is_gone(path)}
        if not there and not found.failures:
            missing.add(name)
        every.files.update(there)
        every.failures.extend(found.failures)
        every.notes.extend(found.notes)
    return every, missing


def coverage(cluster: Workers, names: Collection[str] = ()) -> str:
    """How many of the hosts named, or of those of the cluster, a run reached. A host is late if it
    was given up during a task, silent if no worker there answered."""
    expected = list(dict.fromkeys(map(str.strip, names or (*cluster.hosts, *cluster.silent))))
    late = [host for host in expected if host in cluster.late]
    silent = [host for host in expected if host not in cluster.hosts]
    seen = len(expected) - len(late) - len(silent)
    told = f"{seen:,} of {count(len(expected), 'host')} seen"
    for name, hosts in (("late", late), ("silent", silent)):
        if hosts:
            more = f" and {len(hosts) - MOST_NAMED:,} more" * (len(hosts) > MOST_NAMED)
            told += f"; {name}: {', '.join(hosts[:MOST_NAMED])}{more}"
    return told


def _is_gone(at: Place) -> bool:
    """Of a failure: is there nothing at its place any more? Nobody can tell of other hosts."""
    host, path = at
    return not host and os.path.isabs(path) and inputs.is_gone(path)


def _check_filter(expression: str | None) -> None:
    """Raises `FilterError`: one call that is wrong is no failure of each capture."""
    if expression is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(NO_FRAMES)
        file.flush()
        _core.scan_captures([file.name], expression, 1.0, False, _core.Progress(), threads=1)
