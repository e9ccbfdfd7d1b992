"""Where tasks are done: by processes of this machine, or by a Dask cluster.

The processes talk with this one over a pair of sockets without a name: nothing listens, so no other
user of the machine can reach them. They do not run the caller's script.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from nagle_scan.api import keys
from nagle_scan.fleet.pool import ClusterError, Done, LostError, Pool, Task, Worker

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterError", "Done", "Pool", "Task", "connected"]

STARTS = 3
SERVE = "import sys; from nagle_scan.fleet.workers import serve; serve(int(sys.argv[1]))"


@contextmanager
def connected(
    scheduler: str | None = None, workers: int | None = None, client: Client | None = None
) -> Iterator[Pool]:
    """The workers of `client`, which stays open, of a scheduler, or so many of this machine.

    One for each processor unless told. Raises `ClusterError`.
    """
    if scheduler is not None or client is not None:
        from nagle_scan.fleet import cluster

        with cluster.connected(scheduler, client) as far:
            yield far
        return
    here = _Machine(workers or processors())
    try:
        yield here
    finally:
        here.close()


def processors() -> int:
    """So many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Machine(Pool):
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._processes = [
            _Process(f"worker {number} of this machine") for number in range(1, count + 1)
        ]
        self._failed = 0
        """Starts, one after the other."""
        self.workers.update((one.name, one) for one in self._processes)

    def look(self) -> None:
        """See `Pool.look`."""
        for number, old in enumerate(self._processes):
            if old.has_ended:
                self._failed = 0 if old.has_started else self._failed + 1
                if self._failed == STARTS:
                    raise ClusterError("a worker does not start on this machine")
                self.workers[old.name] = self._processes[number] = _Process(old.name)

    def close(self) -> None:
        """Nothing stays."""
        for one in self._processes:
            one.close()


class _Process(Worker):
    """A process."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.has_started = False
        self._is_stopped = False
        self._asker = ThreadPoolExecutor(1)
        self._connection, there = Pipe()
        # They must find what this process has found. The key goes to them with their tasks.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        env.pop(keys.VARIABLE, None)
        with there:
            # In a session of their own they do not hear Ctrl-C.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", SERVE, str(there.fileno())],
                pass_fds=[there.fileno()],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def has_ended(self) -> bool:
        """It takes no more tasks."""
        return self._is_stopped or self._process.poll() is not None

    def begin(self, task: Task) -> Future[Any]:
        """See `Worker.begin`."""
        return self._asker.submit(self._ask, pickle.dumps((task.function, task.arguments)))

    def _ask(self, asked: bytes) -> Any:  # noqa: ANN401
        try:
            if not self.has_started:
                self._connection.recv_bytes()
                self.has_started = True
            self._connection.send_bytes(asked)
            told = self._connection.recv_bytes()
        except (EOFError, OSError):
            self.close()
            raise LostError from None
        result, error = pickle.loads(told)
        if error is not None:
            raise error
        return result

    def stop(self, why: str) -> None:
        """See `Worker.stop`."""
        self.why_lost = why
        self._is_stopped = True
        self._process.kill()

    def close(self) -> None:
        """Waits for its end."""
        self.stop(self.why_lost)
        self._process.wait()


class _WithoutPandas(MetaPathFinder):
    """Arrow imports pandas with its first array: 0.3 s and 50 MB, for nothing here."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raises `ImportError` for pandas."""
        if name == "pandas":
            raise ImportError(name)


def serve(descriptor: int) -> None:
    """Runs in the process: does what it is asked for, until nobody asks any more."""
    sys.meta_path.insert(0, _WithoutPandas())
    connection = Connection(descriptor)
    connection.send_bytes(b"")
    asked: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(connection, asked), daemon=True).start()
    while True:
        connection.send_bytes(_answer(asked.get()))


def _receive(connection: Connection, asked: SimpleQueue[bytes]) -> None:
    try:
        while True:
            asked.put(connection.recv_bytes())
    except (EOFError, OSError):
        # Also in the middle of a task: whoever asked for it has gone.
        os._exit(0)


def _answer(asked: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(asked)
        return pickle.dumps((function(*arguments), None))
    except BaseException as error:
        try:
            return pickle.dumps((None, error))
        except Exception:
            return pickle.dumps((None, RuntimeError(repr(error))))
