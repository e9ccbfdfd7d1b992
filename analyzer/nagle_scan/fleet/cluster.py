"""A Dask cluster, which others have started."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pydoc
import socket
import uuid
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent import futures
from typing import Any

from distributed import Client, Future, KilledWorker
from distributed.comm.addressing import get_address_host

from nagle_scan import _core
from nagle_scan.fleet.pool import ClusterError, LostError, NotBegunError, Pool, Task, Worker

CONNECT_S = 10
"""A scheduler that does not answer until then is not there."""
ASK_S = 30.0
"""For a short answer of all workers together, and of the scheduler."""
VERSION_NAME = "nagle_scan.__version__"
LOGGERS = ("distributed", "tornado", "asyncio")
HOST = "NAGLE_SCAN_HOST"
"""In the environment of a worker: the name of its host, where a container has another one."""


@contextlib.contextmanager
def connected(scheduler: str | None, client: Client | None = None) -> Iterator[Pool]:
    """The workers of `client`, which stays open, or of a scheduler. Raises `ClusterError`."""
    with _quiet(), _own(scheduler) if client is None else contextlib.nullcontext(client) as used:
        cluster = Cluster(used)
        try:
            cluster.check()
            yield cluster
        finally:
            for worker in cluster.workers.values():
                worker.close()


class Cluster(Pool):
    """Each task is given to one worker, so that what hangs or dies is known."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._names: dict[str, str] = {}
        """Of hosts, by their addresses."""
        self._given_up: set[str] = set()
        self.shown = str(client.scheduler.address if client.scheduler else "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """See `Pool.hosts`. The workers are asked once."""
        if not self._names:
            self._name_hosts()
        return tuple(self._names.values())

    def look(self) -> None:
        """See `Pool.look`."""
        lost = ClusterError(f"lost the scheduler at {self.shown}")
        if self._client.status != "running":
            raise lost
        try:
            threads = self._told(self._client.scheduler.ncores())
        except (OSError, TimeoutError):
            raise lost from None
        for address in set(self.workers) - set(threads):
            self.workers.pop(address).stop("died")
        for address in set(threads) - set(self.workers) - self._given_up:
            name = self._names.get(get_address_host(address), "")
            self.workers[address] = _Remote(self._client, address, threads[address], name)

    def give_up(self, worker: Worker) -> None:
        """See `Pool.give_up`."""
        del self.workers[worker.name]
        self._given_up.add(worker.name)
        self.late.append(worker.host or worker.name)
        super().give_up(worker)

    def check(self) -> None:
        """Raises `ClusterError` where there is no worker, or another version."""
        try:
            self._client.wait_for_workers(1, timeout=ASK_S)
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        self.look()
        # By name: a function of our own could not be sent to whoever lacks it.
        versions = self._of_each(pydoc.locate, VERSION_NAME)
        versions["scheduler"] = self._client.run_on_scheduler(pydoc.locate, VERSION_NAME)
        for where, version in versions.items():
            if version != _core.VERSION:
                raise self._has_other(where, version)

    def lacks(self, error: ImportError) -> ClusterError:
        """See `Pool.lacks`."""
        return (
            self._has_other("a worker", None)
            if error.name == "nagle_scan"
            else super().lacks(error)
        )

    def _has_other(self, where: str, version: object) -> ClusterError:
        has = "lacks nagle-scan" if version is None else f"has nagle-scan {version}"
        return ClusterError(f"{self.shown}: {where} {has}, this is {_core.VERSION}")

    def _name_hosts(self) -> None:
        names = {get_address_host(at): name for at, name in self._of_each(own_name).items()}
        every = list(names.values())
        self._names = {at: at if every.count(name) > 1 else name for at, name in names.items()}
        for worker in self.workers.values():
            worker.host = self._names[get_address_host(worker.name)]

    def _of_each(self, function: Callable[..., Any], *given: object) -> dict[str, Any]:
        """What each worker answers. Those that do not are given up."""
        asked = {address: futures.Future for address in self.workers}
        return asked
