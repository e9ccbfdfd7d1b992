"""The coordinator: from names to a dataset. It alone writes, and it writes whole sets only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.errors import OutputError
from nagle_scan.fleet import about, cluster, finding, identity, inputs, page, sets
from nagle_scan.fleet.cluster import ClusterError
from nagle_scan.fleet.dataset import Dataset
from nagle_scan.fleet.fleet import Fleet
from nagle_scan.fleet.scanning import Scanning, is_large
from nagle_scan.fleet.tally import Tally
from nagle_scan.fleet.work import Capture, Failure, Settings
from nagle_scan.system import files
from nagle_scan.system.progress import ProgressLine
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from typing import TextIO

    from distributed import Client

    from nagle_scan.fleet.cluster import Cluster
    from nagle_scan.fleet.finding import Found
    from nagle_scan.fleet.sets import Plan
    from nagle_scan.fleet.work import Job

LOCK = ".lock"
SCRATCH = ".scratch"


class Asked(NamedTuple):
    """What a run is to do."""

    named: Sequence[str]
    list_file: str | None
    output: str
    settings: Settings
    scheduler: str | None = None
    workers: int | None = None
    on_hosts: bool = False
    split_above: int = 0
    scratch: str | None = None


class Outcome(NamedTuple):
    """What it did."""

    tally: Tally
    known: int
    """Files that the dataset had before, and that were not scanned again."""
    known_sets: int
    """Captures that they are of."""
    failures: list[Failure]
    """What could not be read."""


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


def run(
    asked: Asked,
    tell: Callable[[str], None],
    stream: TextIO | None = None,
    client: Client | None = None,
) -> Outcome:
    """Adds what is new to the dataset. Notes go to `tell`, how far it is to `stream`.

    Raises `NagleScanError`, and `KeyboardInterrupt` with how far it came.
    """
    about.check(asked.output, asked.settings)
    if asked.scratch is not None:
        _check_scratch(asked.scratch)
    finding.check_filter(asked.settings.filter)
    notes: list[str] = []
    # What is named wrongly is told before anything starts.
    located = [] if asked.on_hosts else inputs.find(asked.named, asked.list_file, notes)
    with cluster.connected(asked.scheduler, asked.workers, client) as workers:
        if workers.dashboard is not None:
            notes.append(f"dashboard: {workers.dashboard}")
        notes += workers.notes
        with ProgressLine(lambda _: "looking for captures", stream):
            if asked.on_hosts:
                found = finding.on_hosts(asked.named, asked.list_file, workers)
            else:
                found = finding.identified(located)
        with _alone(asked.output):
            data = Dataset(asked.output, asked.settings)
            plan = _planned(found.captures, data, asked.settings.key)
            for note in (*notes, *plan.notes, *_not_shared(plan, asked, workers)):
                tell(note)
            return _scanned(asked, workers, plan, found, data, stream)


def _planned(captures: Sequence[Capture], data: Dataset, key: bytes | None) -> Plan:
    """With a key, the dataset tells contents under it, and so does what a set is called."""
    keyed = [identity.keyed(capture, key) for capture in captures]
    plan = sets.plan(keyed, data.ledger(captures))
    plain = {under.shown: capture for under, capture in zip(keyed, captures, strict=True)}
    jobs = [
        job._replace(captures=tuple(plain.get(one.shown, one) for one in job.captures))
        for job in plan.jobs
    ]
    return plan._replace(jobs=jobs)


def _scanned(
    asked: Asked,
    workers: Cluster,
    plan: Plan,
    found: Found,
    data: Dataset,
    stream: TextIO | None,
) -> Outcome:
    failures = [*found.failures, *plan.failures]
    scanned_now = {capture.shown for job in plan.jobs for capture in job.captures}
    known = {capture.shown for capture in found.captures} - scanned_now
    # When no host had it, a failure told of its name alone.
    known |= {capture.url for capture in found.captures if capture.host}
    data.forgive(known - {failure.path for failure in failures})
    data.forgive_gone(failure.path for failure in failures)
    for failure in failures:
        data.fail(failure)
    tally = Tally(plan.jobs)
    with (
        _accounted(data, tally),
        _scratch(asked, workers, plan) as scratch,
        ProgressLine(tally.line, stream),
    ):
        settings = asked.settings._replace(run=data.run.run)
        scanning = Scanning(workers, settings, asked.split_above, scratch)
        for scanned in scanning.of(plan.jobs):
            tally.add(scanned)
            failures += scanned.failures
            for failure in scanned.failures:
                data.fail(failure)
            if scanned.answer is not None:
                data.add(scanned.job, scanned.answer)
            data.flush_if_due()
        data.close()
    with ProgressLine(lambda _: "writing the page", stream):
        page.write(Fleet(data.path))
    return Outcome(tally, plan.known_count, plan.known_sets, failures)


def _not_shared(plan: Plan, asked: Asked, workers: Cluster) -> Iterator[str]:
    """Large sets that one worker reads, as there is no folder that all see."""
    large = _large(plan, asked)
    if large and asked.scratch is None and not workers.is_local:
        larger = f"{count(len(large), 'capture')} larger than --split-above"
        yield f"{larger}: each is read by one worker, unless --scratch names a folder that all see"


def _large(plan: Plan, asked: Asked) -> list[Job]:
    return [job for job in plan.jobs if is_large(job, asked.split_above)]


def _check_scratch(folder: str) -> None:
    """Raises `OutputError` unless a file can be made there; leaves none."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from None


@contextlib.contextmanager
def _scratch(asked: Asked, workers: Cluster, plan: Plan) -> Iterator[str]:
    """A folder for records of large sets that all workers see; empty where there may be none."""
    folder = os.path.join(asked.output, SCRATCH)
    # A run that was killed may have left it.
    shutil.rmtree(folder, ignore_errors=True)
    if not _large(plan, asked) or (asked.scratch is None and not workers.is_local):
        yield ""
        return
    try:
        if asked.scratch is None:
            os.mkdir(folder)
        else:
            folder = tempfile.mkdtemp(prefix=cluster.SCRATCH, dir=asked.scratch)
    except OSError as error:
        raise _cannot_write(asked.scratch or folder, error) from None
    folder = os.path.abspath(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _accounted(data: Dataset, tally: Tally) -> Iterator[None]:
    """Says how far it came if it has to stop; what was done until then is written."""
    # A run that was cut off before is gone on with.
    before = data.run.sets

    def account(why: object) -> str:
        done = tally.how_far(data.run.sets - before)
        stays = "is done and stays" if tally.of == 1 else "are done and stay"
        return f"{printable(str(why))}: {done} {stays}; the next run goes on"

    try:
        yield
    except OutputError as error:
        raise OutputError(account(error)) from None
    except ClusterError as error:
        data.flush()
        raise ClusterError(account(error)) from None
    except KeyboardInterrupt:
        data.flush()
        raise KeyboardInterrupt(account("interrupted")) from None


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    """No other run writes into the folder meanwhile, not even one on another host."""
    with contextlib.ExitStack() as held:
        try:
            os.makedirs(folder, exist_ok=True)
            lock = held.enter_context(open(os.path.join(folder, LOCK), "ab"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{folder}: another run writes into it") from None
        except OSError as error:
            raise _cannot_write(folder, error) from None
        yield


def _cannot_write(folder: str, error: OSError) -> OutputError:
    return OutputError(f"{folder}: cannot write: {files.reason_of(error)}")
