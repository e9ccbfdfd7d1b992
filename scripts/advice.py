"""Reads TCP_NODELAY from sockets of running programs: `make advice PYTHON=...`, by hand, as root.

Each server runs with each client that speaks its protocol; what is not installed is left out.
Writes docs/advice-checked.tsv. Python's clients are imported from the Python that runs this.
"""

import contextlib
import ctypes
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

TABLE = Path("docs/advice-checked.tsv")
PIDFD_GETFD = 438
PORT = "18765"
READY_S = 2
FAMILIES = (socket.AF_INET, socket.AF_INET6)

NODE_SERVER = "require('http').createServer((q, r) => r.end('x')).listen(%s)"
NODE_CLIENT = """const http = require('http'), agent = new http.Agent({keepAlive: true});
http.get({port: %s, agent}, r => r.resume()); setTimeout(() => 0, 9e4)"""
AIOHTTP_SERVER = """from aiohttp import web
app = web.Application()
app.router.add_get("/", lambda request: asyncio.sleep(0, web.Response(text="x")))
web.run_app(app, host="127.0.0.1", port=%s, print=None)"""
AIOHTTP_CLIENT = """async def main():
    session = aiohttp.ClientSession()
    await (await session.get("http://127.0.0.1:%s/")).read()
    await asyncio.sleep(90)
asyncio.run(main())"""
PYTHON = "import asyncio, http.client, socket, time\n"


def python(code: str, *modules: str) -> list[str]:
    """A command that runs `code` with these modules, and then keeps its connection."""
    imports = "".join(f"import {module}\n" for module in modules)
    return [sys.executable, "-c", f"{PYTHON}{imports}{code % PORT}\ntime.sleep(90)"]


RAW = python("c = socket.create_connection(('127.0.0.1', %s))")
HTTP = [
    ("Python http.client", python("c = http.client.HTTPConnection('127.0.0.1', %s); c.connect()")),
    ("requests", python("s = requests.Session(); s.get('http://127.0.0.1:%s/')", "requests")),
    ("aiohttp client", python(AIOHTTP_CLIENT, "aiohttp")),
    ("Node.js http client", ["node", "-e", NODE_CLIENT % PORT]),
]
MEMCACHE = "c = Client(('127.0.0.1', %s)); c.set('k', 'v'); c.get('k')"
RUNS = [
    (
        ("memcached", ["memcached", "-u", "root", "-U", "0", "-p", PORT]),
        [("pymemcache", python(f"from pymemcache import Client\n{MEMCACHE}", "pymemcache"))],
    ),
    (
        ("redis-server", ["redis-server", "--port", PORT, "--save", ""]),
        [("redis-py", python("r = redis.Redis(port=%s); r.ping()", "redis"))],
    ),
    (("Python http.server", [sys.executable, "-m", "http.server", PORT]), [("", RAW)]),
    (("aiohttp server", python(AIOHTTP_SERVER)), HTTP),
    (("Node.js http server", ["node", "-e", NODE_SERVER % PORT]), HTTP[:1]),
    (("DCMTK storescp", ["storescp", PORT]), [("", RAW)]),
    (("DCMTK storescp, TCP_NODELAY=1", ["env", "TCP_NODELAY=1", "storescp", PORT]), [("", RAW)]),
]


def version(name: str, command: list[str]) -> str:
    """Of the package or program; that of Python or Node.js where these bring it."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version({"redis-py": "redis"}.get(name, name.split()[0]))
    if command[0] == sys.executable:
        return platform.python_version()
    program = next(word for word in command if shutil.which(word) and word != "env")
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = printed.stdout.split("\n")[0].split()
    return next((word.lstrip("v=") for word in found if word.lstrip("v=")[:1].isdigit()), "")


def options(pid: int) -> Iterator[str]:
    """TCP_NODELAY of each connection of a process that uses `PORT`."""
    pidfd = os.pidfd_open(pid)
    for number in os.listdir(f"/proc/{pid}/fd"):
        copy = ctypes.CDLL(None).syscall(PIDFD_GETFD, pidfd, int(number), 0)
        if copy < 0:  # Closed since.
            continue
        with contextlib.suppress(OSError), socket.socket(fileno=copy) as end:
            if end.family in FAMILIES and int(PORT) in (end.getsockname()[1], end.getpeername()[1]):
                yield "on" if end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) else "off"
    os.close(pidfd)


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[int]:
    """Its process id, once it has had the time to start."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        time.sleep(READY_S)
        try:
            yield process.pid
        finally:
            process.kill()


def main() -> None:
    """Writes what was seen."""
    rows: dict[str, str] = {}
    for (server, command), clients in RUNS:
        if shutil.which(command[-2] if command[0] == "env" else command[0]) is None:
            continue
        for client, speaks in clients:
            if shutil.which(speaks[0]) is None:
                continue
            with running(command) as served, running(speaks) as by:
                for name, words, pid in ((server, command, served), (client, speaks, by)):
                    seen = ", ".join(sorted(set(options(pid))))
                    if name and seen:
                        rows[name] = f"{name}\t{version(name, words)}\t{seen}\n"
    TABLE.write_text("program\tversion\tTCP_NODELAY\n" + "".join(rows.values()))


if __name__ == "__main__":
    main()
