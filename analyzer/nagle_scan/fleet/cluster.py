"""The workers: a cluster on this machine for the time of a run, or one that is there already."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import math
import os
import pydoc
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import dask
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster
from distributed.comm.addressing import get_address_host

from nagle_scan import _core
from nagle_scan.errors import NagleScanError
from nagle_scan.fleet.local import LOOPBACK, Processes

if TYPE_CHECKING:
    from distributed import Future

CONNECT_S = 10
"""A scheduler that does not answer until then is not there."""
NO_WORKER_S = 30
"""Workers may start after their scheduler, or anew after they died."""
LOOK_S = 5
"""So often is looked whether there are workers."""
CLOSE_S = 1
ALLOWED_FAILURES = {"distributed.scheduler.allowed-failures": 2}
"""A task whose worker died more often on a cluster of our own is given back."""
VERSION_NAME = "nagle_scan.__version__"
CARRIERS = ("python", "dask", "distributed")
"""Their versions should be the same here and there, but for the last part."""
LOGGERS = ("distributed", "tornado", "asyncio")
SCRATCH = "nagle-scan-"
HOST = "NAGLE_SCAN_HOST"
"""In the environment of a worker: the name of its host, where a container has another one."""


class ClusterError(NagleScanError):
    """There is no scheduler, no worker, one that cannot do the work, or no longer one."""


class Cluster:
    """Workers that can be given tasks."""

    def __init__(self, client: Client, processes: Processes | None = None) -> None:
        self.client = client
        self.threads = 1
        """As many tasks are done at a time."""
        self.hosts: dict[str, str] = {}
        """The addresses of hosts by name, for captures that only one has."""
        self.processes = processes
        self.notes: list[str] = []
        """What a user must know of them; printable, without full stops."""
        self._address = client.scheduler.address if client.scheduler else ""
        self._looked_s = -math.inf
        self._seen_s: dict[str, float] = {}

    @property
    def is_local(self) -> bool:
        """Has it the disks of this machine?"""
        return self.processes is not None

    @property
    def shown(self) -> str:
        """As the user is told of it."""
        return "the workers of this machine" if self.is_local else str(self._address)

    @property
    def dashboard(self) -> str | None:
        """Its address, where there is one."""
        # Without bokeh there is a server, but it has no pages.
        if self.client.run_on_scheduler(pydoc.locate, "bokeh.__version__") is None:
            return None
        services = self.client.scheduler_info(n_workers=0)["services"]
        return str(self.client.dashboard_link) if "dashboard" in services else None

    @property
    def window(self) -> int:
        """So many tasks are given out at a time at least: no worker waits for the next."""
        return 3 * self.threads + 2

    def name_hosts(self) -> dict[str, str]:
        """Of each worker, the name of its host, or its address if another has the same name."""
        names = self.client.run(own_name)
        of_address = {get_address_host(worker): name for worker, name in names.items()}
        every = list(of_address.values())
        self.hosts = {at if every.count(name) > 1 else name: at for at, name in of_address.items()}
        shown = {at: host for host, at in self.hosts.items()}
        return {worker: shown[get_address_host(worker)] for worker in names}

    def submit(
        self, function: Callable[..., Any], *given: object, key: str, host: str = ""
    ) -> Future[Any]:
        """Gives out a task, to a worker of `host` if that is told. Raises `ClusterError`."""
        where = {"workers": [self.hosts[host]], "allow_other_workers": False} if host else {}
        with self._lost_if_closed():
            return self.client.submit(function, *given, key=key, pure=False, **where)

    def forget(self, futures: Sequence[Future[Any]]) -> None:
        """Tasks that nobody waits for are not begun."""
        if futures and self.client.status == "running":
            with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                self.client.cancel(list(futures), force=True)

    def look(self) -> None:
        """Is everything still there? Raises `ClusterError`. Asks every few seconds only."""
        if self.client.status != "running":
            raise self.lost()
        if self.processes is not None:
            self.processes.start_again()
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return
        with self._lost_if_closed():
            threads = self.client.nthreads()
        self._looked_s = now_s
        self.threads = max(1, sum(threads.values()))
        self._seen_s |= dict.fromkeys(map(get_address_host, threads), now_s)
        if now_s - max(self._seen_s.values(), default=now_s) > NO_WORKER_S:
            raise ClusterError(f"{self.shown}: no worker for {NO_WORKER_S} s")

    def has_gone(self, host: str) -> bool:
        """Has a host had no worker for a while?"""
        seen_s = self._seen_s.get(self.hosts[host], -math.inf)
        return self._looked_s - seen_s > NO_WORKER_S

    def lost(self) -> ClusterError:
        """The scheduler has gone."""
        return ClusterError(f"lost the scheduler at {self._address}")

    def has_other(self, where: str, version: str | None) -> ClusterError:
        """A worker or the scheduler has another version of nagle-scan, or none."""
        has = "lacks nagle-scan" if version is None else f"has nagle-scan {version}"
        return ClusterError(f"{self.shown}: {where} {has}, this is {_core.VERSION}")

    def lacks_package(self, error: ImportError) -> ClusterError:
        """A worker cannot begin."""
        return ClusterError(f"{self.shown}: a worker lacks a package: {error}")

    def wait_for_worker(self) -> None:
        """Raises `ClusterError` if none comes."""
        try:
            self.client.wait_for_workers(1, timeout=NO_WORKER_S)
        except TimeoutError:
            raise ClusterError(f"{self.shown}: no worker for {NO_WORKER_S} s") from None

    @contextlib.contextmanager
    def _lost_if_closed(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self.client.status == "running" and not isinstance(error, OSError):
                raise
            raise self.lost() from error


def own_name() -> str:
    """Of this host: captures are known by it, so it must stay the same."""
    return os.environ.get(HOST) or socket.gethostname()


@contextlib.contextmanager
def connected(
    scheduler: str | None, workers: int | None = None, client: Client | None = None
) -> Iterator[Cluster]:
    """The workers of `client`, which stays open, of a scheduler, or so many of this machine.

    Raises `ClusterError`.
    """
    if client is not None:
        yield _checked(Cluster(client))
        return
    with _quiet(), _local(workers) if scheduler is None else _client(scheduler) as own:
        yield own


@contextlib.contextmanager
def _local(workers: int | None) -> Iterator[Cluster]:
    """One worker for each processor, each a process with one thread."""
    with (
        tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as folder,
        dask.config.set({**ALLOWED_FAILURES, "temporary-directory": folder}),
        _scheduler() as cluster,
        # Results that pass the scheduler are sent twice: measured, a quarter of a run.
        Client(cluster, set_as_default=False, direct_to_workers=True) as client,
    ):
        processes = Processes(cluster.scheduler_address, workers or CPU_COUNT, folder)
        try:
            own = Cluster(client, processes)
            own.wait_for_worker()
            yield own
        finally:
            processes.end()


def _scheduler() -> LocalCluster:
    try:
        return LocalCluster(
            n_workers=0,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0" if _has_pages() else None,
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError, ValueError) as error:
        # As if the settings of Dask name certificates that are not there.
        told = str(error).partition("\n")[0]
        raise ClusterError(f"no workers on this machine: {told}") from None


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Cluster]:
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, ImportError, RuntimeError):
        raise ClusterError(f"no scheduler at {scheduler}") from None
    except TypeError:
        # So says distributed of `tls://` without a context.
        if not scheduler.startswith("tls://"):
            raise
        told = "no certificate for it in the settings of Dask (DASK_CONFIG)"
        raise ClusterError(f"{scheduler}: {told}") from None
    try:
        yield _checked(Cluster(client))
    finally:
        client.close(timeout=CLOSE_S)


def _has_pages() -> bool:
    return importlib.util.find_spec("bokeh") is not None


def _checked(cluster: Cluster) -> Cluster:
    """Raises `ClusterError` where there is no worker, or another version."""
    client = cluster.client
    try:
        cluster.wait_for_worker()
        # By name: a function of our own could not be sent to whoever lacks it.
        versions = client.run(pydoc.locate, VERSION_NAME, on_error="return")
        versions["scheduler"] = client.run_on_scheduler(pydoc.locate, VERSION_NAME)
        carriers = client.get_versions()
    except (OSError, RuntimeError) as error:
        raise ClusterError(f"{cluster.shown}: {error}") from None
    for where, version in versions.items():
        if version != _core.VERSION:
            raise cluster.has_other(where, version if isinstance(version, str) else None)
    cluster.notes += islice(_differences(carriers), 1)
    return cluster


def _differences(told: Any) -> Iterator[str]:  # noqa: ANN401
    """In what carries tasks, as `Client.get_versions` tells it. They may do no harm.

    Its own check only warns, and of NumPy and pandas, too, which no worker needs.
    """
    here = told["client"]
    for where, there in {"the scheduler": told["scheduler"], **told["workers"]}.items():
        for name in CARRIERS:
            own, other = (str(told["packages"].get(name)) for told in (here, there))
            if own.split(".")[:2] != other.split(".")[:2]:
                yield f"{where} has {name} {other}, here is {own}: tasks may fail for that"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What went wrong is told in our own words, once."""
    loggers = [
        logging.getLogger(name)
        for name in logging.root.manager.loggerDict
        if name.partition(".")[0] in LOGGERS
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed|tornado|asyncio")
            yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled
