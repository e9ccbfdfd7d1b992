"""From sets to tasks, and what became of each; what the hosts of a cluster have; coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from nagle_scan.errors import CaptureError
from nagle_scan.fleet import identity, inputs
from nagle_scan.fleet.pool import ClusterError, Done, Pool, Task
from nagle_scan.fleet.work import Capture, Failure, Job, Located, Scanned, Settings, on_host
from nagle_scan.words.wording import count

MOST_SETS_IN_TASK = 32
MOST_BYTES_IN_TASK = 4 << 20
"""Of several sets."""
EACH_WORKER = 8
"""Tasks that each worker should get at least, so that all end at about the same time."""
FILES_IN_TASK = 256
MOST_NAMED = 10


def scan(jobs: Sequence[Job], settings: Settings, pool: Pool) -> Iterator[Scanned]:
    """Each set, as soon as it is scanned: small ones together, large ones alone.

    Those of a task whose worker died are tried one by one. Raises `ClusterError`.
    """
    alone: list[tuple[Job, ...]] = []
    for done in _scanned(_batches(jobs, pool.slots), settings, pool):
        batch = done.task.arguments[0]
        if done.error and len(batch) > 1 and done.attempts > 1:
            alone += ((job,) for job in batch)
        else:
            yield from _sets(done)
    for done in _scanned(alone, settings, pool):
        yield from _sets(done)


def _scanned(batches: Iterable[tuple[Job, ...]], settings: Settings, pool: Pool) -> Iterator[Done]:
    from nagle_scan.fleet.task import scan_sets

    return pool.run(
        Task(
            scan_sets, (batch, settings), batch[0].captures[0].host, sum(job.size for job in batch)
        )
        for batch in batches
    )


def _sets(done: Done) -> Iterable[Scanned]:
    if done.error:
        return (_failed(job, done) for job in done.task.arguments[0])
    scanned: list[Scanned] = done.result
    return scanned


def _failed(job: Job, done: Done) -> Scanned:
    return Scanned(
        job._replace(captures=()),
        None,
        tuple(
            Failure(one.url, done.error, one.host, one.size, one.modified, job.id, done.attempts)
            for one in job.captures
        ),
    )


def _batches(jobs: Sequence[Job], slots: int) -> Iterator[tuple[Job, ...]]:
    """Those of different hosts take turns, so that none waits for another."""
    most_sets = min(MOST_SETS_IN_TASK, max(1, len(jobs) // (EACH_WORKER * slots)))
    of_hosts: dict[str, list[Job]] = {}
    for job in jobs:
        of_hosts.setdefault(job.captures[0].host, []).append(job)
    return _in_turns(_batched(own, most_sets) for own in of_hosts.values())


def _batched(jobs: Sequence[Job], most_sets: int) -> Iterator[tuple[Job, ...]]:
    batch: list[Job] = []
    size = 0
    for job in jobs:
        if batch and (len(batch) == most_sets or size + job.size > MOST_BYTES_IN_TASK):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(job)
        size += job.size
    if batch:
        yield tuple(batch)


def _in_turns(every: Iterable[Iterable[Any]]) -> Iterator[Any]:
    return (one for one in chain.from_iterable(zip_longest(*every)) if one is not None)


class Looked(NamedTuple):
    """What the hosts of a cluster have."""

    located: dict[str, list[Located]]
    """By host."""
    failures: list[Failure]
    """Names that a host has and cannot read."""


class _Named(NamedTuple):
    """What a host has of one name."""

    is_there: bool
    """Is there anything of that name, even if it cannot be read?"""
    located: list[Located]
    notes: list[str]
    error: Failure | None = None
    """Why there are no files."""


def look(named: Sequence[str], list_file: str | None, pool: Pool) -> Looked:
    """As `inputs.find`, on each host of the cluster; nothing is opened.

    A host need not have what another has. If it has it and cannot read it, that is a failure; so
    is a file of a list that no host has. Raises `CaptureError` for a name that stands for nothing
    on any host.
    """
    names = [(name, False) for name in named]
    if list_file is not None:
        names += ((name, True) for name in inputs.listed(list_file))
    of_hosts: dict[str, list[_Named]] = {}
    for done in pool.run(Task(_look, (names,), host) for host in pool.hosts):
        if done.error:
            pool.late.append(done.task.host)
        else:
            of_hosts[done.task.host] = done.result
    if not of_hosts:
        raise ClusterError(f"{pool.shown}: no host answers")
    looked = Looked({host: [] for host in of_hosts}, [])
    for number in range(len(names)):
        _add(looked, {host: each[number] for host, each in of_hosts.items()})
        pool.notes += (
            on_host(host, note) for host, each in of_hosts.items() for note in each[number].notes
        )
    for found in looked.located.values():
        found[:] = {one.url: one for one in found}.values()
    return looked


def _add(looked: Looked, of_hosts: Mapping[str, _Named]) -> None:
    """What all hosts have of one name."""
    there = {host: named for host, named in of_hosts.items() if named.is_there}
    if not any(named.located for named in there.values()):
        for host, named in (there or of_hosts).items():
            if named.error is not None:
                raise CaptureError(f"{on_host(host, named.error.path)}: {named.error.reason}")
    if not there:
        # A list names it: one failure is enough, whoever might have it.
        one = next(one for named in of_hosts.values() for one in named.located)
        looked.failures.append(identity.failed(one, "no such file or directory"))
    for host, named in there.items():
        looked.located[host] += named.located
        if named.error is not None:
            looked.failures.append(named.error._replace(host=host))


def _look(names: Sequence[tuple[str, bool]]) -> list[_Named]:
    """Runs on a worker."""
    return [_look_for(*name) for name in names]


def _look_for(name: str, is_listed: bool) -> _Named:
    notes: list[str] = []
    try:
        located = inputs.of_name(name, notes, is_listed)
    except CaptureError as error:
        is_there = not isinstance(error, inputs.NothingError)
        return _Named(is_there, [], notes, identity.failed(Located(inputs.place(name)), str(error)))
    return _Named(not all(inputs.is_gone(one.url) for one in located), located, notes)


def identified(wanted: Mapping[str, Sequence[Located]], pool: Pool) -> Iterator[Capture | Failure]:
    """What `identity.of` tells of files, by host; nothing of a host that answers no longer."""
    for done in _on_hosts(_identify, wanted, pool):
        yield from (one._replace(host=done.task.host) for one in done.result)


def grown(
    wanted: Mapping[str, Sequence[tuple[Capture, Located]]], pool: Pool, key: bytes | None = None
) -> Iterator[tuple[Capture, Located]]:
    """Those that `identity.grew`, by host."""
    given = {host: [(*pair, key) for pair in pairs] for host, pairs in wanted.items()}
    for done in _on_hosts(_grown, given, pool):
        yield from (
            pair[:2] for pair, has in zip(done.task.arguments[0], done.result, strict=True) if has
        )


def _identify(located: Sequence[Located]) -> list[Capture | Failure]:
    return list(identity.of_all(located))


def _grown(pairs: Sequence[tuple[Capture, Located, bytes | None]]) -> list[bool]:
    return [identity.grew(*pair) for pair in pairs]


def _on_hosts(
    function: Callable[[Sequence[Any]], list[Any]], given: Mapping[str, Sequence[Any]], pool: Pool
) -> Iterator[Done]:
    """Each part of what is given, by host; what could not be done is left out."""
    parts = (
        [
            Task(function, (each[at : at + FILES_IN_TASK],), host)
            for at in range(0, len(each), FILES_IN_TASK)
        ]
        for host, each in given.items()
    )
    return (done for done in pool.run(_in_turns(parts)) if not done.error)


class Coverage(NamedTuple):
    """Which hosts a run reached, by name."""

    expected: tuple[str, ...]
    seen: tuple[str, ...]
    """They answered, and were not given up."""
    late: tuple[str, ...]
    """Given up during a task."""
    silent: tuple[str, ...]
    """They have no worker, or none that answered."""

    @property
    def sentence(self) -> str:
        """For the end of a run; without a full stop."""
        told = f"{len(self.seen):,} of {count(len(self.expected), 'host')} seen"
        for name, hosts in (("late", self.late), ("silent", self.silent)):
            if hosts:
                more = f" and {len(hosts) - MOST_NAMED:,} more" * (len(hosts) > MOST_NAMED)
                told += f"; {name}: {', '.join(hosts[:MOST_NAMED])}{more}"
        return told


def coverage(pool: Pool, hosts_file: str | None = None) -> Coverage:
    """Of the hosts in a file (one a line, `#` begins a comment), or those of the cluster.

    Raises `CaptureError` for a file that cannot be read or names none.
    """
    known = (*pool.hosts, *pool.silent)
    names = known if hosts_file is None else map(str.strip, inputs.listed(hosts_file))
    expected = tuple(dict.fromkeys(names))
    answered = {host for host in pool.hosts if host not in pool.silent}
    late = tuple(host for host in expected if host in pool.late)
    seen = tuple(host for host in expected if host in answered and host not in late)
    silent = tuple(host for host in expected if host not in {*seen, *late})
    return Coverage(expected, seen, late, silent)
