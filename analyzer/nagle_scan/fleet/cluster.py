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
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
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
        try:
            cluster.check()
            yield cluster
        finally:
            for worker in cluster.workers.values():
                worker.close()


class Cluster(Pool):
    """Each task is given to one worker, so that we know which one hangs or dies."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._remotes: dict[str, _Remote] = {}
        self._names: dict[str, str] = {}
        """Of hosts, by their addresses."""
        self._given_up: set[str] = set()
        self.shown = str(client.scheduler.address if client.scheduler else "")

    @property
    def workers(self) -> Mapping[str, Worker]:
        """See `Pool.workers`."""
        return self._remotes

    def look(self) -> None:
        """See `Pool.look`."""
        scheduler: Any = self._client.scheduler
        try:
            if self._client.status != "running":
                raise OSError
            threads = _begun(self._client, scheduler.ncores()).result(ASK_S)
        except (OSError, TimeoutError):
            raise ClusterError(f"lost the scheduler at {self.shown}") from None
        for address in set(self._remotes) - set(threads):
            self._leave(address, "died")
        for address in set(threads) - set(self._remotes) - self._given_up:
            name = self._names.get(get_address_host(address), "")
            self._remotes[address] = _Remote(self._client, address, threads[address], name)

    def give_up(self, worker: Worker) -> None:
        """See `Pool.give_up`."""
        super().give_up(worker)
        self._given_up.add(worker.name)
        self._leave(worker.name, "did not answer")

    def check(self) -> None:
        """Raises `ClusterError` where there is no worker, or another version."""
        try:
            self._client.wait_for_workers(1, timeout=ASK_S)
            self.look()
            # By name: a function of our own could not be sent to whoever lacks it.
            versions = self._of_each(pydoc.locate, VERSION_NAME)
            versions["scheduler"] = self._client.run_on_scheduler(pydoc.locate, VERSION_NAME)
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        except (OSError, RuntimeError) as error:
            raise ClusterError(f"{self.shown}: {error}") from None
        for where, version in versions.items():
            if version != _core.VERSION:
                has = "lacks nagle-scan" if version is None else f"has nagle-scan {version}"
                raise ClusterError(f"{self.shown}: {where} {has}, this is {_core.VERSION}")
        self._name_hosts()

    def _name_hosts(self) -> None:
        names = {get_address_host(at): name for at, name in self._of_each(own_name).items()}
        every = list(names.values())
        self._names = {at: at if every.count(name) > 1 else name for at, name in names.items()}
        for worker in self._remotes.values():
            worker.host = self._names[get_address_host(worker.name)]
        self.hosts = tuple(self._names.values())

    def _of_each(self, function: Callable[..., Any], *given: object) -> dict[str, Any]:
        """What each worker answers. Those that do not are left out."""
        asked = {worker.name: worker.begin(function, *given) for worker in self._remotes.values()}
        futures.wait(asked.values(), ASK_S)
        told = {}
        for address, answer in asked.items():
            if answer.done() and not answer.cancelled():
                told[address] = answer.result()
            else:
                answer.cancel()
                self._given_up.add(address)
                self._leave(address, "did not answer")
                self.silent.append(get_address_host(address))
        return told

    def _leave(self, address: str, why: str) -> None:
        worker = self._remotes.pop(address)
        worker.has_gone = True
        worker.stop(why)


class _Remote(Worker):
    """A worker of the cluster."""

    def __init__(self, client: Client, address: str, threads: int, host: str) -> None:
        super().__init__(address, threads, host)
        self._client = client
        self._asked: set[futures.Future[Any]] = set()
        self._why = "died"
        self.has_gone = False

    def begin(self, function: Callable[..., Any], *given: object) -> futures.Future[Any]:
        """Its answer; cancelling it cancels the task."""
        future = self._client.submit(
            function,
            *given,
            key=f"nagle-scan-{uuid.uuid4().hex}",
            pure=False,
            workers=[self.name],
            allow_other_workers=False,
        )
        return _begun(self._client, _answer(self._client, future))

    def ask(self, task: Task) -> Any:  # noqa: ANN401
        """See `Worker.ask`."""
        if self.has_gone:
            raise LostError("had gone", 0)
        answer = self.begin(call, _core.VERSION, task.function, task.arguments)
        self._asked.add(answer)
        if self.has_gone:
            answer.cancel()
        try:
            return answer.result()
        except KilledWorker as error:
            raise LostError("died", error.allowed_failures + 1) from None
        except futures.CancelledError:
            raise LostError(self._why) from None
        finally:
            self._asked.discard(answer)

    def stop(self, why: str) -> None:
        """See `Worker.stop`."""
        self._why = why
        for answer in list(self._asked):
            answer.cancel()


def _begun(client: Client, wanted: Coroutine[Any, Any, Any]) -> futures.Future[Any]:
    loop: Any = client.loop
    return asyncio.run_coroutine_threadsafe(wanted, loop.asyncio_loop)


async def _answer(client: Client, future: Future[Any]) -> Any:  # noqa: ANN401
    """Its result. The client fetches several at once: none is cancelled with another one."""
    try:
        return await asyncio.shield(client.gather(future, asynchronous=True))
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
