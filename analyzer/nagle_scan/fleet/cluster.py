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
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent import futures
from typing import Any

from distributed import Client, Future, KilledWorker
from distributed.comm.addressing import get_address_host

from nagle_scan import _core
from nagle_scan.fleet.pool import ClusterError, LostError, Pool, Task, Worker

CONNECT_S = 10
"""A scheduler that does not answer until then is not there."""
ASK_S = 30.0
"""For a short answer: of all workers together, or of the scheduler."""
VERSION_NAME = "nagle_scan.__version__"
LOGGERS = ("distributed", "tornado", "asyncio")
HOST = "NAGLE_SCAN_HOST"
"""In the environment of a worker: the name of its host, where a container has another one."""


@contextlib.contextmanager
def connected(scheduler: str | None, client: Client | None = None) -> Iterator[Pool]:
    """The workers of `client`, which stays open, or of a scheduler. Raises `ClusterError`."""
    with _quiet(), _own(scheduler) if client is None else contextlib.nullcontext(client) as used:
        cluster = Cluster(used)
        cluster.check()
        yield cluster


class Cluster(Pool):
    """Each task is given to one worker, so that we know which one hangs or dies."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._names: dict[str, str] = {}
        """Of hosts, by their addresses."""
        self._given_up: set[str] = set()
        self.shown = str(client.scheduler.address if client.scheduler else "")

    def look(self) -> None:
        """See `Pool.look`."""
        scheduler: Any = self._client.scheduler
        try:
            if self._client.status != "running":
                raise OSError
            there = set(_begun(self._client, scheduler.ncores()).result(ASK_S))
        except (OSError, TimeoutError):
            raise ClusterError(f"lost the scheduler at {self.shown}") from None
        for address in set(self.workers) - there:
            self.workers.pop(address).stop("died")
        for address in there - set(self.workers) - self._given_up:
            name = self._names.get(get_address_host(address), "")
            self.workers[address] = _Remote(self._client, address, name)

    def give_up(self, worker: Worker) -> None:
        """See `Pool.give_up`."""
        super().give_up(worker)
        self._given_up.add(worker.name)
        self.workers.pop(worker.name, None)

    def check(self) -> None:
        """Raises `ClusterError` where there is no worker, or another version."""
        try:
            self._client.wait_for_workers(1, timeout=ASK_S)
            self.look()
            # By name: a function of our own could not be sent to whoever lacks it.
            version = self._client.run_on_scheduler(pydoc.locate, VERSION_NAME)
            if version != _core.VERSION:
                raise RuntimeError(f"it has nagle-scan {version}, this is {_core.VERSION}")
            self._name_hosts()
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        except ImportError:
            raise ClusterError(f"{self.shown}: a worker lacks nagle-scan {_core.VERSION}") from None
        except (ClusterError, OSError, RuntimeError) as error:
            raise ClusterError(f"{self.shown}: {error}") from None

    def _name_hosts(self) -> None:
        asked = {name: worker.begin(Task(own_name)) for name, worker in self.workers.items()}
        futures.wait(asked.values(), ASK_S)
        for address in [name for name, answer in asked.items() if not answer.done()]:
            self._given_up.add(address)
            self.workers.pop(address).stop("did not answer")
            self.silent.append(get_address_host(address))
        names = {get_address_host(name): asked[name].result() for name in self.workers}
        every = list(names.values())
        self._names = {at: at if every.count(name) > 1 else name for at, name in names.items()}
        for worker in self.workers.values():
            worker.host = self._names[get_address_host(worker.name)]
        self.hosts = tuple(self._names.values())


class _Remote(Worker):
    """A worker of the cluster."""

    def __init__(self, client: Client, address: str, host: str) -> None:
        super().__init__(address, host)
        self._client = client
        self._answer: futures.Future[Any] = futures.Future()

    def begin(self, task: Task) -> futures.Future[Any]:
        """See `Worker.begin`."""
        future = self._client.submit(
            call,
            _core.VERSION,
            *task[:2],
            key=f"nagle-scan-{uuid.uuid4().hex}",
            pure=False,
            workers=[self.name],
            allow_other_workers=False,
        )
        self._answer = _begun(self._client, _answer(self._client, future))
        return self._answer

    def stop(self, why: str) -> None:
        """See `Worker.stop`."""
        self.why_lost = why
        self._answer.cancel()


def _begun(client: Client, wanted: Coroutine[Any, Any, Any]) -> futures.Future[Any]:
    loop: Any = client.loop
    return asyncio.run_coroutine_threadsafe(wanted, loop.asyncio_loop)


async def _answer(client: Client, future: Future[Any]) -> Any:  # noqa: ANN401
    """Its result. The client fetches several at once: none is cancelled with another one."""
    try:
        return await asyncio.shield(client.gather(future, asynchronous=True))
    except KilledWorker:
        raise LostError from None
    except asyncio.CancelledError:
        with contextlib.suppress(Exception):
            await client.cancel([future], asynchronous=True, force=True)
        raise


def call(version: str, function: Callable[..., Any], given: Sequence[Any]) -> Any:  # noqa: ANN401
    """Runs on a worker, which may have come later, with another version."""
    if version != _core.VERSION:
        raise ClusterError(f"a worker has nagle-scan {_core.VERSION}, this is {version}")
    return function(*given)


def own_name() -> str:
    """Of this host: captures are known by it, so it must stay the same."""
    return os.environ.get(HOST) or socket.gethostname()


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
