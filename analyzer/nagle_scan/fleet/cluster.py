"""A Dask cluster, which others have started, as executors of its hosts."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import pydoc
import socket
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, wait
from typing import Any

from distributed import Client
from distributed.comm.addressing import get_address_host

from nagle_scan import _core
from nagle_scan.fleet.workers import ASK_S, LOOK_S, ClusterError, Workers, call

CONNECT_S = 10
"""A scheduler that does not answer until then is not there."""
VERSION_NAME = "nagle_scan.__version__"
HOST = "NAGLE_SCAN_HOST"
"""In the environment of a worker: the name of its host, where a container has another one."""
LOGGERS = ("distributed", "tornado", "asyncio")


@contextlib.contextmanager
def connected(scheduler: str | None, client: Client | None = None) -> Iterator[Workers]:
    """The workers of `client`, which stays open, or of a scheduler. Raises `ClusterError`."""
    with _quiet(), _own(scheduler) if client is None else contextlib.nullcontext(client) as used:
        yield Cluster(used)


class Cluster(Workers):
    """Its workers, by host. Dask itself tries again what a worker died of."""

    is_pool = False

    def __init__(self, client: Client) -> None:
        super().__init__(0)
        self._client = client
        self._executors: dict[str, Executor] = {}
        self._names: dict[str, str] = {}
        """Of hosts, by their addresses."""
        self._room: dict[str, int] = {}
        self._looked_s = -math.inf
        self.shown = str(client.scheduler.address if client.scheduler else "")
        try:
            client.wait_for_workers(1, timeout=ASK_S)
            # By name: a function of our own could not be sent to whoever lacks it.
            version = client.run_on_scheduler(pydoc.locate, VERSION_NAME)
            if version != _core.VERSION:
                raise RuntimeError(f"it has nagle-scan {version}, this is {_core.VERSION}")
            self._name_hosts()
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        except ImportError:
            raise ClusterError(f"{self.shown}: a worker lacks nagle-scan {_core.VERSION}") from None
        except (OSError, RuntimeError) as error:
            raise ClusterError(f"{self.shown}: {error}") from None

    def executor(self, host: str) -> Executor:
        """See `Workers.executor`."""
        return self._executors[host]

    def room(self) -> dict[str, int]:
        """See `Workers.room`."""
        if time.monotonic() - self._looked_s < LOOK_S:
            return self._room
        found: dict[str, int] = dict.fromkeys(["", *self.hosts], 0)
        for address, threads in self._threads().items():
            if (name := self._names.get(get_address_host(address))) is not None:
                found[name] += threads
            if get_address_host(address) not in self._silent_at:
                found[""] += threads
        self._room, self._looked_s = found, time.monotonic()
        return found

    def close(self) -> None:
        """See `Workers.close`: they go on without us."""

    def _threads(self) -> dict[str, int]:
        """Of each worker, by its address."""
        scheduler: Any = self._client.scheduler
        try:
            if self._client.status != "running":
                raise OSError
            threads: dict[str, int] = self._client.sync(scheduler.ncores, callback_timeout=ASK_S)
        except (OSError, TimeoutError):
            raise ClusterError(f"lost the scheduler at {self.shown}") from None
        return threads

    def _name_hosts(self) -> None:
        asked = {
            address: self._of([address]).submit(call, _core.VERSION, _own_name, [None], ())
            for address in self._threads()
        }
        wait(asked.values(), ASK_S)
        told: dict[str, str] = {}
        for address, answer in asked.items():
            if answer.done():
                told[get_address_host(address)] = answer.result()[0]
        self._silent_at = {get_address_host(one) for one in asked} - set(told)
        self.silent += sorted(self._silent_at)
        every = list(told.values())
        self._names = {at: at if every.count(name) > 1 else name for at, name in told.items()}
        self.hosts = tuple(self._names.values())
        self._executors = {name: self._of([at]) for at, name in self._names.items()}
        self._executors[""] = self._of(list(told)) if self._silent_at else self._of(None)

    def _of(self, where: list[str] | None) -> Executor:
        pinned = {} if where is None else {"workers": where, "allow_other_workers": False}
        made: Executor = self._client.get_executor(pure=False, retries=1, **pinned)
        return made


def _own_name(items: Sequence[None]) -> list[str]:
    """Of this host: captures are known by it, so it must stay the same."""
    return [os.environ.get(HOST) or socket.gethostname() for _ in items]


@contextlib.contextmanager
def _own(scheduler: str | None) -> Iterator[Client]:
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, ImportError, RuntimeError):
        raise ClusterError(f"no scheduler at {scheduler}") from None
    except TypeError:
        # So says distributed of `tls://` without a context.
        told = "no certificate for it in the settings of Dask (DASK_CONFIG)"
        raise ClusterError(f"{scheduler}: {told}") from None
    try:
        yield client
    finally:
        client.close(timeout=1)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What went wrong is told in our own words, once."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOGGERS]
    before = {logger: logger.disabled for logger in map(logging.getLogger, names)}
    for logger in before:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed|tornado|asyncio")
            yield
    finally:
        for logger, was_disabled in before.items():
            logger.disabled = was_disabled
