"""The programs: how each is started, who listens, and who talks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import real_setup
from real_cases import DEBIAN_PYTHON as PYTHON
from real_setup import PORT

from real_programs import setup

Command = tuple[str, ...]  # HOST, SEED and FOLDER stand for what is known only later
SERVED, ASKED = str(PORT), ("HOST", str(PORT), "SEED")


@dataclass(frozen=True)
class Program:
    """A server, a client that talks, and those that only listen."""

    server: Command
    client: Command
    listeners: tuple[Command, ...] = ()
    setup: Callable[[Path], None] | None = None
    needs: tuple[str, ...] = ()  # besides the server's first word
    refused: tuple[str, ...] = ("server", "client")  # the sides that set TCP_NODELAY


def typed(what: str, into: str) -> Command:
    """A program that reads from its standard input what typist.py types."""
    return "sh", "-c", f"{PYTHON} typist.py SEED {what} | {into}"


def together(ask: Command, *seeds: str) -> Command:
    """Clients that do not wait for each other."""
    commands = [" ".join(ask).replace("SEED", seed) for seed in seeds]
    return "sh", "-c", f"{' & '.join(commands)}; wait"


def all_of_them() -> dict[str, Program]:
    """Every program, by name; those with listeners are named fanout."""
    return redis() | mosquitto() | postgres() | other_databases() | web() | others()


def redis() -> dict[str, Program]:
    """Requests, pipelines, and one or two publishers."""
    server = ("redis-server", "--port", SERVED, "--save", "", "--protected-mode", "no")
    ask = (PYTHON, "redis_client.py", *ASKED)
    publish, subscribe = (*ask, "publish", "40"), (*ask, "subscribe", "0")
    return {
        "redis-requests": Program(server, (*ask, "request", "40")),
        "redis-pipeline": Program(server, (*ask, "pipeline", "40")),
        "redis-fanout": Program(server, publish, (subscribe,) * 3),
        "redis-publishers": Program(
            server, together(publish, "SEED", "SEED+"), (subscribe, subscribe)
        ),
    }


def mosquitto() -> dict[str, Program]:
    """Nagle is on as shipped, unless the broker's switch is set."""
    client = f"-h HOST -p {SERVED} -t news"
    subscribe = ("mosquitto_sub", *client.split())
    broker = Program(
        ("mosquitto", "-c", "FOLDER/mosquitto.conf"),
        typed("40 SIZE", f"mosquitto_pub {client} -l"),
        (subscribe, (*subscribe, "-q", "1")),
        setup.mosquitto,
        refused=(),
    )
    switched = replace(broker, setup=setup.mosquitto_nodelay, refused=("server",))
    return {"mosquitto-fanout": broker, "mosquitto-nodelay-fanout": switched}


def postgres() -> dict[str, Program]:
    """Queries, and NOTIFY."""
    psql = f"psql -qAt -h HOST -p {SERVED} -U postgres postgres"
    listen = ("sh", "-c", f"(echo 'LISTEN news;'; sleep 99) | {psql}")
    queries = Program(
        ("setpriv", "--reuid=postgres", "postgres", "-D", "FOLDER/data"),
        typed("40 \"SELECT 'SIZE';\" \"SELECT repeat('x', 2500);\"", psql),
        setup=real_setup.postgres,
        needs=("initdb", "psql"),
    )
    notify = typed("40 \"NOTIFY news, 'SIZE';\"", psql)
    fanout = replace(queries, client=notify, listeners=(listen, listen))
    return {"postgres-queries": queries, "postgres-fanout": fanout}


def other_databases() -> dict[str, Program]:
    """MariaDB, and memcached, whose client leaves Nagle on."""
    mariadbd = f"mariadbd --no-defaults --user=root --datadir=FOLDER/data --port={SERVED}"
    return {
        "mariadb-queries": Program(
            (*mariadbd.split(), "--socket=FOLDER/socket", "--skip-grant-tables"),
            typed("40 \"SELECT 'SIZE';\"", f"mariadb -n -u root -h HOST -P {SERVED}"),
            setup=real_setup.mariadb,
            needs=("mariadb-install-db",),
        ),
        "memcached": Program(
            ("memcached", "-u", "root", "-p", SERVED, "-t", "1"),
            (PYTHON, "memcached_client.py", *ASKED, "60"),
            refused=("server",),
        ),
    }


def web() -> dict[str, Program]:
    """Pages in pieces, and chats."""
    ask = (PYTHON, "http_client.py", *ASKED)
    pages, speak, listen = ((*ask, role, "40") for role in ("pages", "speak", "listen"))
    servers: dict[str, Command] = {
        "aiohttp": (PYTHON, "aiohttp_server.py", SERVED, "SEED"),
        "tornado": (PYTHON, "tornado_server.py", SERVED, "SEED"),
        "node": ("node", "node_server.js", SERVED, "SEED"),
    }
    found = {f"{name}-pages": Program(server, pages) for name, server in servers.items()}
    for name in ("aiohttp", "tornado"):
        found[f"{name}-fanout"] = Program(servers[name], speak, (listen, listen))
    return found


def others() -> dict[str, Program]:
    """A terminal and a disk."""
    mounted = "mount --bind FOLDER/home /root"
    unknown = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    client = f"ssh -tt -i FOLDER/key {unknown} -p {SERVED} root@HOST 'timeout 7 cat; true'"
    return {
        "ssh": Program(
            ("sh", "-c", f"{mounted} && exec dropbear -F -r FOLDER/host_key -p {SERVED}"),
            typed("40 SIZE", client),
            setup=setup.ssh,
            needs=("dropbear", "ssh"),
        ),
        "nbd": Program(
            ("nbd-server", "-d", "-C", "FOLDER/nbd.conf"),
            (PYTHON, "nbd_client.py", *ASKED, "60"),
            setup=setup.nbd,
        ),
    }
