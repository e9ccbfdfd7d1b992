"""The coordinator: from names to a fleet. It alone writes, and it writes whole sets only."""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import OutputError
from nagle_scan.fleet import identity, inputs, page, scanning, sets, workers, writer
from nagle_scan.fleet.batch import Batch
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.lake import Scope
from nagle_scan.fleet.work import Capture, Failure, Located, Settings
from nagle_scan.fleet.workers import ClusterError
from nagle_scan.system.progress import ProgressLine, quantity, time_left
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from typing import TextIO

    from distributed import Client

    from nagle_scan.fleet.scanning import Coverage
    from nagle_scan.fleet.work import Job, Scanned
    from nagle_scan.fleet.workers import Pool

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


class Outcome:
    """What it did so far."""

    def __init__(self) -> None:
        self.of = 0
        """Sets that are new or grew, and"""
        self.of_bytes = 0
        """their bytes as stored."""
        self.done = 0
        self.bytes = 0
        self.packets = 0
        self.known = 0
        """Files that were known."""
        self.no_captures = 0
        """Files that are known to be no captures: told by the run that found them."""
        self.incomplete = 0
        """Files that were read in part."""
        self.verdicts: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.coverage: Coverage | None = None

    def add(self, scanned: Scanned) -> None:
        """A set is done."""
        self.done += 1
        self.failures += scanned.failures
        self.bytes += scanned.job.size
        if scanned.answer is not None:
            self.packets += scanned.answer.packets
            self.incomplete += scanned.answer.incomplete
            self.verdicts[scanned.answer.verdict] += 1

    @property
    def how_far(self) -> str:
        """So many of all."""
        return f"{self.done:,} of {count(self.of, 'capture')}"

    def line(self, elapsed_s: float) -> str:
        """For a terminal."""
        failed = f", {count(len(self.failures), 'file')} failed" if self.failures else ""
        left = ""
        if self.bytes:
            left_s = elapsed_s * (self.of_bytes - self.bytes) / self.bytes
            left = f", {time_left(left_s)} left"
        return (
            f"{self.how_far}, {quantity(self.bytes)}B of {quantity(self.of_bytes)}B, "
            f"{quantity(self.packets / elapsed_s)}packets/s{failed}{left}"
        )


def check(asked: Asked, client: Client | None = None) -> None:
    """Refuses what contradicts itself. Raises `ValueError`."""
    if not asked.named and asked.list_file is None:
        raise ValueError("no capture given")
    if client is not None and asked.scheduler is not None:
        raise ValueError("a scheduler beside a client, which has its own")
    has_cluster = client is not None or asked.scheduler is not None
    if has_cluster and asked.workers is not None:
        raise ValueError("workers of this machine beside a cluster, which has its own")
    if asked.on_hosts and not has_cluster:
        raise ValueError("captures on hosts need the scheduler of these hosts")
    if asked.hosts_file is not None and not asked.on_hosts:
        raise ValueError("hosts are expected only where each reads its own captures")


def run(
    asked: Asked,
    tell: Callable[[str], None],
    stream: TextIO | None = None,
    client: Client | None = None,
) -> Outcome:
    """Adds what is new to the fleet. Notes go to `tell`, how far it is to `stream`.

    Raises `NagleScanError`, and `KeyboardInterrupt` with how far it came.
    """
    scope = Scope.of(asked.settings)
    writer.check(asked.output, scope)
    _check_filter(asked.settings.filter)
    expected = [] if asked.hosts_file is None else inputs.listed(asked.hosts_file)
    with contextlib.ExitStack() as opened:
        return _Run(asked, tell, stream, client, opened, expected).run(scope)


class _Run:
    def __init__(
        self,
        asked: Asked,
        tell: Callable[[str], None],
        stream: TextIO | None,
        client: Client | None,
        opened: contextlib.ExitStack,
        expected: Sequence[str],
    ) -> None:
        self._asked = asked
        self._settings = asked.settings
        self._tell = tell
        self._stream = stream
        self._client = client
        self._opened = opened
        self._expected = expected
        self._pool: Pool | None = None
        self.outcome = Outcome()

    def run(self, scope: Scope) -> Outcome:
        if self._asked.scheduler is not None or self._client is not None:
            # A cluster that is not there is told before anything is written.
            self._workers()
        with ProgressLine(lambda _: "looking for captures", self._stream):
            found = self._located()
            adding = self._opened.enter_context(writer.writing(self._asked.output, scope))
            known = sets.Known(adding, self._settings.key)
            there = {known.place(host, one.url): (host, one) for host, one in found}
            plan = self._planned(there, known)
        self.outcome.of = len(plan.jobs)
        self.outcome.of_bytes = sum(job.size for job in plan.jobs)
        for note in plan.notes:
            self._tell(note)
        batch = Batch(adding, self._settings, known)
        batch.fail(self.outcome.failures)
        batch.forgive(at for at in known.failures if _is_gone(at, there))
        with ProgressLine(self.outcome.line, self._stream), self._accounted(batch):
            self._scan(plan.jobs, batch)
            batch.write()
        with ProgressLine(lambda _: "writing the page", self._stream):
            adding.end(self._asked.keep)
            self.outcome.coverage = self._coverage()
            told = self.outcome.coverage.sentence if self.outcome.coverage else None
            page.write(Fleet(self._asked.output), told)
        for note in self._pool.notes if self._pool else ():
            self._tell(note)
        return self.outcome

    def _located(self) -> list[sets.Found]:
        """Files, and the host of each; empty if all workers have it."""
        asked = self._asked
        if asked.on_hosts:
            found = scanning.look(asked.named, asked.list_file, self._workers())
            self.outcome.failures += found.failures
            return [(host, one) for host, every in found.located.items() for one in every]
        notes: list[str] = []
        located = inputs.find(asked.named, asked.list_file, notes)
        for note in notes:
            self._tell(note)
        return [("", one) for one in located]

    def _planned(
        self, there: Mapping[sets.Place, tuple[str, Located]], known: sets.Known
    ) -> sets.Plan:
        unknown = []
        for at, (host, one) in there.items():
            if not known.is_known(at, one):
                unknown.append((host, one))
            elif known.is_no_capture(at):
                self.outcome.no_captures += 1
            else:
                self.outcome.known += 1
        fresh: list[Capture] = []
        for found in self.identified(unknown):
            if isinstance(found, Failure):
                self.outcome.failures.append(found)
            else:
                fresh.append(found)
        plan = sets.plan(fresh, known, there, self)
        self.outcome.failures += plan.failures
        self.outcome.known += plan.known
        return plan

    def identified(self, found: Sequence[sets.Found]) -> Iterator[Capture | Failure]:
        """See `sets.Opener`."""
        if not self._asked.on_hosts:
            return identity.of_all([one for _, one in found])
        calls = ((host, (one,)) for host, one in found)
        told = scanning.on_hosts(identity.of, calls, self._workers())
        return (each._replace(host=host) for host, _, each in told)

    def grown(
        self, pairs: Sequence[tuple[sets.Place, Capture, sets.Found]]
    ) -> Iterator[sets.Place]:
        """See `sets.Opener`."""
        key = self._settings.key
        if not self._asked.on_hosts:
            return (at for at, before, (_, one) in pairs if identity.grew(before, one, key))
        # Two hosts may have the same file.
        calls = {(host, (before, one, key)): at for at, before, (host, one) in pairs}
        told = scanning.on_hosts(identity.grew, calls, self._workers())
        return (calls[host, asked] for host, asked, grew in told if grew)

    def _scan(self, jobs: Sequence[Job], batch: Batch) -> None:
        if not jobs:
            return
        pool = self._workers(len(jobs))
        pool.on_look = batch.write_if_due
        for scanned in scanning.scan(jobs, self._settings, pool):
            self.outcome.add(scanned)
            batch.add(scanned)
            batch.write_if_due()

    def _workers(self, most: int | None = None) -> Pool:
        """They start when there is something to do."""
        if self._pool is None:
            asked = self._asked
            number = asked.workers or workers.processors()
            few = min(number, most or number)
            connected = workers.connected(asked.scheduler, few, self._client)
            self._pool = self._opened.enter_context(connected)
        return self._pool

    def _coverage(self) -> Coverage | None:
        if not self._asked.on_hosts:
            return None
        return scanning.coverage(self._workers(), self._expected)

    @contextlib.contextmanager
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


def _is_gone(at: sets.Place, there: Mapping[sets.Place, object]) -> bool:
    """Of a failure: is there nothing at its place any more? Nobody can tell of other hosts."""
    host, path = at
    is_here = not host and os.path.isabs(path)
    return at not in there and is_here and not os.path.lexists(path)


def _check_filter(expression: str | None) -> None:
    """Raises `FilterError`: one call that is wrong is no failure of each capture."""
    if expression is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(NO_FRAMES)
        file.flush()
        _core.scan_captures([file.name], expression, 1.0, False, _core.Progress(), threads=1)
