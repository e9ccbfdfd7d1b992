"""Which captures there are: seen from here, or from each host of a cluster."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core
from nagle_scan.errors import CaptureError
from nagle_scan.fleet import identity, inputs
from nagle_scan.fleet.work import Capture, Failure, on_host

if TYPE_CHECKING:
    from nagle_scan.fleet.cluster import Cluster
    from nagle_scan.fleet.identity import Located

EMPTY = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
"""A pcap file of Ethernet without frames."""


class Found(NamedTuple):
    """What is there."""

    captures: list[Capture]
    failures: list[Failure]


class _Name(NamedTuple):
    """As a user gave it."""

    text: str
    is_listed: bool


class _Looked(NamedTuple):
    """What a host has of one name; its files are still to be read."""

    is_there: bool
    """Is there anything of that name, even if it cannot be read?"""
    located: list[Located]
    error: Failure | None = None
    """Why there are no files."""


class _Named(NamedTuple):
    """What a host has of one name."""

    is_there: bool
    found: list[Capture | Failure]
    error: Failure | None


def check_filter(expression: str | None) -> None:
    """Raises `FilterError`: one call that is wrong is no failure of each capture."""
    if expression is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(EMPTY)
        file.flush()
        _core.scan_captures([file.name], expression, 1.0, False, _core.Progress(), threads=1)


def identified(located: Sequence[Located]) -> Found:
    """Files that this process can read, and those that it cannot."""
    return _parted(identity.of_all(located))


def on_hosts(named: Sequence[str], list_file: str | None, cluster: Cluster) -> Found:
    """The same, as each host of the cluster finds them. One worker of each looks.

    A host need not have what another has. If it has it and cannot read it, that is a failure.
    Raises `CaptureError` for a name that stands for nothing on any host, as `inputs.find` does.
    """
    names = [_Name(name, is_listed=False) for name in named]
    if list_file is not None:
        names += (_Name(name, is_listed=True) for name in inputs.listed(list_file))
    first: dict[str, str] = {}
    for worker, host in cluster.name_hosts().items():
        first.setdefault(host, worker)
    by_worker = cluster.client.run(_look, names, workers=list(first.values()))
    every: dict[str, Capture | Failure] = {}
    for number in range(len(names)):
        of_hosts = {host: by_worker[worker][number] for host, worker in first.items()}
        for one in _of_name(of_hosts):
            every.setdefault(one.path if isinstance(one, Failure) else one.shown, one)
    return _parted(every.values())


def _of_name(of_hosts: Mapping[str, _Named]) -> Iterator[Capture | Failure]:
    """What all hosts have of one name."""
    there = {host: named for host, named in of_hosts.items() if named.is_there}
    host, named = next(iter((there or of_hosts).items()))
    if named.error is not None and not any(each.found for each in there.values()):
        raise CaptureError(f"{on_host(host, named.error.path)}: {named.error.reason}")
    if not there:
        # A list names it: one failure is enough, whoever might have it.
        yield from named.found
    for host, named in there.items():
        for one in (*named.found, *filter(None, [named.error])):
            yield _of_host(one, host)


def _look(names: Sequence[_Name]) -> list[_Named]:
    """Runs on a worker. Reads each file once: it may grow meanwhile."""
    looked = [_look_for(name) for name in names]
    every = {one.url: one for each in looked for one in each.located}
    found = dict(zip(every, identity.of_all(list(every.values())), strict=True))
    return [
        _Named(each.is_there, [found[one.url] for one in each.located], each.error)
        for each in looked
    ]


def _look_for(name: _Name) -> _Looked:
    try:
        located = list(inputs.of_name(name.text, [], name.is_listed))
    except CaptureError as error:
        is_there = not isinstance(error, inputs.NothingError)
        return _Looked(is_there, [], identity.failed(inputs.place(name.text), str(error)))
    return _Looked(not all(inputs.is_gone(one.url) for one in located), located)


def _of_host(one: Capture | Failure, host: str) -> Capture | Failure:
    if isinstance(one, Failure):
        return one._replace(path=on_host(host, one.path))
    return one._replace(host=host)


def _parted(found: Iterable[Capture | Failure]) -> Found:
    parted = Found([], [])
    for one in found:
        if isinstance(one, Failure):
            parted.failures.append(one)
        else:
            parted.captures.append(one)
    return parted
