"""A set that is too large for one stream: its captures, then its shards, are shared among workers.

Records of segments go to a scratch folder that all workers see. Nobody needs them afterwards.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nagle_scan.errors import OutputError
from nagle_scan.fleet import passes
from nagle_scan.fleet.passes import FileRecords
from nagle_scan.fleet.task import (
    BadCaptureError,
    Scanned,
    answer,
    check_version,
    failed,
    read,
    told,
    without,
)
from nagle_scan.fleet.work import Capture, Failure, Job, Settings

if TYPE_CHECKING:
    from distributed import Future

    Submit = Callable[..., Future[Any]]
    """Gives a function and what it takes to a worker."""


class Records(NamedTuple):
    """What a worker made of a capture."""

    capture: Capture
    records: FileRecords | None
    failure: Failure | None = None
    is_of_all: bool = False
    """The capture may be good, but there was no room: without it the set would stay torn."""


class Large:
    """A set whose captures are being read."""

    def __init__(self, job: Job, settings: Settings, folder: str) -> None:
        self.job = job
        self.settings = settings
        self._folder = folder
        self._made: dict[Capture, Records] = {}

    def parts(self) -> list[Part]:
        """The tasks of the first pass."""
        return [Part(self, number) for number in range(len(self.job.captures))]

    def place(self, number: int) -> str:
        """Where the records of a capture go."""
        return os.path.join(self._folder, f"{self.job.id}-{number}.parquet")

    def add(self, made: Records) -> Iterator[Scanned | Judgement]:
        """A capture is read, or cannot be; after the last one all are judged."""
        self._made[made.capture] = made
        if len(self._made) < len(self.job.captures):
            return
        for one in self._made.values():
            if one.is_of_all and one.failure is not None:
                self._made.clear()
                yield self.end(failed(self.job, one.failure.reason, 1))
                return
        bad = [one.capture for one in self._made.values() if one.records is None]
        rest = without(self.job, bad)
        if rest.captures and not (bad and rest.replaces):
            yield Judgement(self, rest, [self._records(capture) for capture in rest.captures])
        else:
            yield self.end(Scanned(rest, None))

    def end(self, scanned: Scanned) -> Scanned:
        """With the failures of all captures; nobody needs the records any more."""
        for number in range(len(self.job.captures)):
            with contextlib.suppress(OSError):
                os.unlink(self.place(number))
        others = tuple(one.failure for one in self._made.values() if one.failure is not None)
        return scanned._replace(failures=(*others, *scanned.failures))

    def _records(self, capture: Capture) -> FileRecords:
        records = self._made[capture].records
        assert records is not None
        return records


class Part(NamedTuple):
    """A capture of such a set that is to be read."""

    large: Large
    number: int

    @property
    def capture(self) -> Capture:
        """The one."""
        return self.large.job.captures[self.number]

    @property
    def host(self) -> str:
        """The only one that has it, if any."""
        return self.capture.host

    @property
    def size(self) -> int:
        """Bytes that it reads."""
        return self.capture.size

    def give(self, submit: Submit) -> Future[Any]:
        """Gives out the task."""
        job, settings = self.large.job, self.large.settings
        return submit(records_of, self.capture, job.id, settings, self.large.place(self.number))

    def took(self, result: Records) -> Iterator[Scanned | Judgement]:
        """What follows from what a worker found."""
        return self.large.add(result)

    def alone(self) -> list[Part]:
        """What is tried again after its worker died."""
        return [self]

    def give_up(self, reason: str, attempts: int) -> Iterator[Scanned | Judgement]:
        """The set is judged without it."""
        failure = Failure(self.capture.shown, self.large.job.id, reason, attempts)
        return self.large.add(Records(self.capture, None, failure))


class Judgement(NamedTuple):
    """Such a set, of which all captures were read."""

    large: Large
    job: Job
    records: list[FileRecords]

    @property
    def host(self) -> str:
        """The only one that has the records, if any."""
        return self.job.captures[0].host

    @property
    def size(self) -> int:
        """Bytes of the captures."""
        return self.job.size

    def give(self, submit: Submit) -> Future[Any]:
        """Gives out a task for each shard, and one that takes what they saw from their workers."""
        settings = self.large.settings
        shards = [
            submit(passes.track, shard, self.records, settings.min_wait_ms)
            for shard in range(passes.SHARDS)
        ]
        return submit(judge, self.job, settings, self.records, shards)

    def took(self, result: Scanned) -> Iterator[Scanned]:
        """What became of the set."""
        yield self.large.end(result)

    def alone(self) -> list[Judgement]:
        """What is tried again after a worker died."""
        return [self]

    def give_up(self, reason: str, attempts: int) -> Iterator[Scanned]:
        """None of its captures counts as read."""
        yield self.large.end(failed(self.job, reason, attempts))


def records_of(capture: Capture, set_id: str, settings: Settings, into: str) -> Records:
    """The first pass, over one capture. What goes wrong is returned. Raises `VersionError`."""
    check_version(settings)

    def write(paths: dict[str, str]) -> FileRecords:
        ((path, label),) = paths.items()
        return passes.records_of(path, label, settings.filter, into)

    try:
        return Records(capture, read([capture], write))
    except BadCaptureError as bad:
        return Records(capture, None, bad.failure(set_id))
    except OutputError as error:
        return Records(capture, None, Failure(capture.shown, set_id, str(error), 1), is_of_all=True)
    except BaseException as error:
        return Records(capture, None, Failure(capture.shown, set_id, told(error), 1))


def judge(
    job: Job, settings: Settings, captures: Sequence[FileRecords], shards: Sequence[bytes]
) -> Scanned:
    """The last pass: what all shards saw."""
    try:
        return Scanned(job, answer(passes.combine(captures, shards, threads=1), job, settings))
    except BaseException as error:
        return failed(job, told(error), 1)
