"""Captures that only the hosts of a cluster have: each finds its own."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from nagle_scan.errors import CaptureError
from nagle_scan.fleet import inputs
from nagle_scan.fleet.inputs import Found, NothingError
from nagle_scan.fleet.work import Failure, File
from nagle_scan.fleet.workers import ClusterError, Task, Workers
from nagle_scan.words.wording import count

MOST_NAMED = 10
NOWHERE = "no host has such a capture"


def find(named: Sequence[str], listed: Sequence[str], cluster: Workers) -> Found:
    """What each host has. A name that none has is an error, one of a list is a failure."""
    names = [*((name, True) for name in named), *((name, False) for name in listed)]
    tasks = [Task(find_here, names, host=host) for host in cluster.hosts]
    there = {done.task.host: done.result for done in cluster.run(tasks) if not done.error}
    if not there:
        raise ClusterError(f"{cluster.shown}: no host answers")
    every = Found({}, [], [])
    for name in set.intersection(*(missing for _, missing in there.values())):
        if (name, True) in names:
            raise CaptureError(f"{name}: {NOWHERE}")
        every.failures.append(Failure(File(name), NOWHERE))
    for host, (found, _) in there.items():
        for path, one in found.files.items():
            every.files[f"{host}:{path}"] = one._replace(host=host)
        for failure in found.failures:
            every.failures.append(failure._replace(file=failure.file._replace(host=host)))
        every.notes.extend(f"{host}:{note}" for note in found.notes)
    return every


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


def find_here(names: Sequence[tuple[str, bool]]) -> tuple[Found, set[str]]:
    """Runs on a host: what it has, and the names of which it has nothing; false is of a list. What
    it has and cannot read is a failure."""
    every, missing = Found({}, [], []), set()
    for name, is_named in names:
        try:
            found = inputs.find([name] if is_named else [], [] if is_named else [name])
        except NothingError:
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
