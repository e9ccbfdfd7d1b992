"""A Dask cluster, which others have started, as executors of its hosts."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from distributed import Client

from nagle_scan.fleet.workers import ClusterError, Workers

CONNECT_S = 10
"""Time for a scheduler to answer."""
ASK_S = 30.0
"""Time for a worker to come."""
AHEAD = 4
"""Tasks of each thread at a time: those that wait are for workers that come later."""
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
    """Whatever workers its scheduler has: they may come and go."""

    tries_again = True

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self.shown = str(client.scheduler.address if client.scheduler else "")
        self._wait()
        self._executor: Executor = client.get_executor(pure=False, retries=1)

    def executor(self) -> Executor:
        """See `Workers.executor`."""
        return self._executor

    def room(self) -> int:
        """See `Workers.room`."""
        scheduler: Any = self._client.scheduler
        try:
            threads = self._client.sync(scheduler.ncores, callback_timeout=ASK_S)
        except (OSError, TimeoutError):
            raise ClusterError(f"lost the scheduler at {self.shown}") from None
        room: int = AHEAD * max(1, sum(threads.values()))
        return room

    def check(self) -> None:
        """See `Workers.check`. A worker that was killed is started anew within seconds."""
        if self._client.status != "running":
            raise ClusterError(f"lost the scheduler at {self.shown}")
        self._wait()

    def close(self) -> None:
        """See `Workers.close`: they go on without us."""

    def _wait(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=ASK_S)
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        except OSError as error:
            raise ClusterError(f"{self.shown}: {error}") from None


def _client(scheduler: str | None) -> Client:
    try:
        return Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, ImportError, RuntimeError):
        raise ClusterError(f"no scheduler at {scheduler}") from None
    except TypeError:
        # distributed raises this for `tls://` without a context.
        why = "no certificate for it in the settings of Dask (DASK_CONFIG)"
        raise ClusterError(f"{scheduler}: {why}") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences Dask's loggers: our own words tell once what went wrong."""
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
