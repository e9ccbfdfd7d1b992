"""Which captures there are: seen from here, or from each host of a cluster."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Sequence
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


class _Named(NamedTuple):
    """What a host has of one name."""

    found: list[Capture | Failure]
    error: str


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

    Raises `CaptureError` for a name that stands for nothing on any host.
    """
    names = [*named, *(inputs.listed(list_file) if list_file is not None else ())]
    first: dict[str, str] = {}
    for worker, host in cluster.name_hosts().items():
        first.setdefault(host, worker)
    by_worker = cluster.client.run(_look, names, workers=list(first.values()))
    every: list[Capture | Failure] = []
    for number in range(len(names)):
        of_name = {host: by_worker[worker][number] for host, worker in first.items()}
        if all(each.error for each in of_name.values()):
            host, each = next(iter(of_name.items()))
            raise CaptureError(f"{host}: {each.error}")
        for host, each in of_name.items():
            every += (_of_host(one, host) for one in each.found)
    return _parted(dict.fromkeys(every))


def _look(names: Sequence[str]) -> list[_Named]:
    """Runs on a worker."""
    return [_look_for(name) for name in names]


def _look_for(name: str) -> _Named:
    try:
        return _Named(list(identity.of_all(inputs.find([name]))), "")
    except CaptureError as error:
        return _Named([], str(error))


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
