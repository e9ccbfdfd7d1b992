"""A Dask cluster, which others have started, as executors of its hosts."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from typing import Any

from distributed import Client
from distributed.comm.addressing import get_address_host

from nagle_scan import _core
from nagle_scan.fleet.workers import ClusterError, Workers

CONNECT_S = 10
"""A scheduler that does not answer until then is not there."""
ASK_S = 30.0
"""For a short answer, and for a worker to come."""
AHEAD = 4
"""Tasks of each thread at a time: those that wait are for workers that come later."""
HOST = "NAGLE_SCAN_HOST"
"""In the environment of a worker: the name of its host, where a container has another one."""
LOGGERS = ("distributed", "tornado", "asyncio")


@contextmanager
def connected(scheduler: str | None, client: Client | None = None) -> Iterator[Workers]:
    """The workers of `client`, which stays open, or of a scheduler. Raises `ClusterError`."""
    with _quiet():
        used = _client(scheduler) if client is None else client
        try:
            yield Cluster(used)
        finally:
            if client is None:
                used.close(timeout=1)


class Cluster(Workers):
    """Its workers, by host."""

    tries_again = True

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self.shown = str(client.scheduler.address if client.scheduler else "")
        try:
            client.wait_for_workers(1, timeout=ASK_S)
            self._ask_hosts()
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        except ImportError:
            raise ClusterError(f"{self.shown}: a worker lacks nagle-scan {_core.VERSION}") from None
        except OSError as error:
            raise ClusterError(f"{self.shown}: {error}") from None

    def executor(self, host: str) -> Executor:
        """See `Workers.executor`."""
        return self._executors[host]

    def room(self, host: str = "") -> int:
        """See `Workers.room`."""
        return self._room[host]

    def check(self) -> None:
        """See `Workers.check`."""
        scheduler: Any = self._client.scheduler
        try:
            is_there = self._client.status == "running" and self._client.sync(
                scheduler.ncores, callback_timeout=ASK_S
            )
        except (OSError, TimeoutError):
            is_there = False
        if not is_there:
            raise ClusterError(f"lost the scheduler at {self.shown}, or all its workers")

    def close(self) -> None:
        """See `Workers.close`: they go on without us."""

    def _ask_hosts(self) -> None:
        """Those that do not answer get no work."""
        threads: Counter[str] = Counter()
        for address, number in self._client.ncores().items():
            threads[get_address_host(address)] += number
        asked = {host: self._of([host]).submit(_about) for host in threads}
        wait(asked.values(), ASK_S)
        told = {host: answer.result() for host, answer in asked.items() if answer.done()}
        for version, _ in told.values():
            if version != _core.VERSION:
                raise ClusterError(
                    f"{self.shown}: a worker has nagle-scan {version}, this is {_core.VERSION}"
                )
        every = [name for _, name in told.values()]
        names = {at: at if every.count(name) > 1 else name for at, (_, name) in told.items()}
        self.hosts = tuple(names.values())
        self.silent = sorted(set(threads) - set(told))
        self._room = {name: AHEAD * threads[at] for at, name in names.items()}
        self._room[""] = sum(self._room.values())
        self._executors = {name: self._of([at]) for at, name in names.items()}
        self._executors[""] = self._of(list(told) if self.silent else None)

    def _of(self, where: list[str] | None) -> Executor:
        pinned = {} if where is None else {"workers": where, "allow_other_workers": False}
        made: Executor = self._client.get_executor(pure=False, retries=1, **pinned)
        return made


def _about() -> tuple[str, str]:
    """The version of a worker, and the name of its host: captures are known by it."""
    return _core.VERSION, os.environ.get(HOST) or socket.gethostname()


def _client(scheduler: str | None) -> Client:
    try:
        return Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, ImportError, RuntimeError):
        raise ClusterError(f"no scheduler at {scheduler}") from None
    except TypeError:
        # So says distributed of `tls://` without a context.
        told = "no certificate for it in the settings of Dask (DASK_CONFIG)"
        raise ClusterError(f"{scheduler}: {told}") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """What went wrong is told in our own words, once."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOGGERS]
    before = {logger: logger.disabled for logger in map(logging.getLogger, names)}
    try:
        for logger in before:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed|tornado|asyncio")
            yield
    finally:
        for logger, was_disabled in before.items():
            logger.disabled = was_disabled
