"""A Dask cluster, which others have started, as an executor."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from distributed import Client

from nagle_scan.fleet.workers import ClusterError, Workers

CONNECT_S = 10
"""A scheduler that does not answer until then is not there."""
ASK_S = 30.0
"""For a short answer, and for a worker to come."""
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
    """Its workers."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self.shown = str(client.scheduler.address if client.scheduler else "")
        try:
            client.wait_for_workers(1, timeout=ASK_S)
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {ASK_S:g} s") from None
        except OSError as error:
            raise ClusterError(f"{self.shown}: {error}") from None

    def executor(self) -> Executor:
        """Dask tries a task again whose worker died."""
        made: Executor = self._client.get_executor(pure=False, retries=1)
        return made

    @property
    def room(self) -> int:
        """Tasks in flight."""
        threads: dict[str, int] = self._client.ncores()
        return AHEAD * max(1, sum(threads.values()))

    def check(self) -> None:
        """See `Workers.check`."""
        try:
            # A worker that died may be on its way back.
            self._client.wait_for_workers(1, timeout=ASK_S)
            is_there = self._client.status == "running"
        except (OSError, TimeoutError):
            is_there = False
        if not is_there:
            raise ClusterError(f"lost the scheduler at {self.shown}, or all its workers")

    def close(self) -> None:
        """See `Workers.close`: they go on without us."""


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
