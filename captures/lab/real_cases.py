"""The real programs that real.py runs: servers and clients, before and after the fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import real_setup
from cases import COUNTRY, LOOPBACK, WIRE, Extra
from net import Net
from real_setup import PORT

REQUESTS = "15"
DEBIAN_PYTHON = "/usr/bin/python3"  # the one that python3-tornado belongs to
NETS = {"rtt2": WIRE, "rtt26": COUNTRY, "loopback": LOOPBACK}
Setup = Callable[[Path], None]  # in a folder of its own


@dataclass(frozen=True)
class RealCase:
    """A server and a client: their commands, with HOST and FOLDER for what is known later."""

    id: str
    server: tuple[str, ...]
    client: tuple[str, ...]
    net: Net = WIRE
    setup: Setup | None = None
    programs: tuple[str, ...] = ()  # needed besides the first word of each command
    extras: tuple[Extra, ...] = ()

    @property
    def needs(self) -> list[str]:
        """Programs without which it cannot run."""
        commands = (self.server[0], self.client[0], *self.programs)
        return [p for p in commands if not p.endswith(".py") and "FOLDER" not in p]


def http(
    id: str, *server: str, net: Net = WIRE, path: str = "/", setup: Setup | None = None
) -> RealCase:
    """A web server, asked again and again on one connection."""
    return RealCase(id, server, ("http_client.py", "HOST", str(PORT), path, REQUESTS), net, setup)


def pieces(id: str, kind: str, *server: str, nodelay: bool, setup: Setup | None = None) -> RealCase:
    """A client that writes each command in pieces."""
    client = ("pieces_client.py", "HOST", str(PORT), kind, REQUESTS)
    return RealCase(id, server, (*client, "nodelay") if nodelay else client, setup=setup)


def real_cases() -> list[RealCase]:
    """Every case that real.py knows."""
    return [*web_servers(), *databases(), *http_calls(), *websockets()]


def web_servers() -> list[RealCase]:
    """Head and body written apart, over three networks."""
    port = str(PORT)
    java = ("java", "-XX:TieredStopAtLevel=1")
    java_nodelay = "-Dsun.net.httpserver.nodelay=true"
    python, nginx = "python_server.py", ("nginx", "-p", "FOLDER", "-c")
    cases = []
    for name, net in NETS.items():
        for when, switch in (("before", "off"), ("after", "on")):
            option = ("nodelay",) if switch == "on" else ()
            cases += [
                http(f"python-http-{when}-{name}", python, port, *option, net=net),
                http(f"node-http-{when}-{name}", "node", "node_server.js", port, *option, net=net),
                http(
                    f"nginx-{when}-{name}",
                    *(*nginx, f"nodelay-{switch}.conf"),
                    net=net,
                    path="/file",
                    setup=real_setup.nginx,
                ),
            ]
        cases += [
            http(f"jdk-http-before-{name}", *java, "JavaServer.java", port, net=net),
            http(f"jdk-http-after-{name}", *java, java_nodelay, "JavaServer.java", port, net=net),
        ]
    for when, setting in (("before", "nagle"), ("after", "nodelay")):
        server = ("FOLDER/go_server", port, setting)
        cases.append(
            replace(http(f"go-http-{when}", *server, setup=real_setup.go), programs=("go",))
        )
    return cases


def databases() -> list[RealCase]:
    """Servers that set TCP_NODELAY or answer in one write: only the client can stall."""
    port = str(PORT)
    mariadbd = ("mariadbd", "--no-defaults", "--user=root", "--datadir=FOLDER/data")
    servers: dict[str, tuple[tuple[str, ...], Setup | None]] = {
        "redis": (("redis-server", "--port", port, "--save", "", "--protected-mode", "no"), None),
        "memcached": (("memcached", "-u", "root", "-p", port, "-t", "1"), None),
        "postgres": (
            ("setpriv", "--reuid=postgres", "postgres", "-D", "FOLDER/data"),
            real_setup.postgres,
        ),
        "mariadb": (
            (*mariadbd, f"--port={port}", "--socket=FOLDER/socket", "--skip-grant-tables"),
            real_setup.mariadb,
        ),
    }
    needed = {"postgres": ("postgres", "initdb"), "mariadb": ("mariadb-install-db",)}
    return [
        replace(
            pieces(f"{name}-client-{when}", name, *server, nodelay=nodelay, setup=setup),
            programs=needed.get(name, ()),
        )
        for name, (server, setup) in servers.items()
        for when, nodelay in (("before", False), ("after", True))
    ]


def http_calls() -> list[RealCase]:
    """JDK HttpServer upper-cases 100 characters for Apache HttpClient: 30 calls.

    From the same network, and from across the country, where the caller acknowledges as Linux does
    or, as a Mac, at once.
    """
    server = ("java", "-cp", "FOLDER/classes")
    client = ("java", "-cp", "FOLDER/classes:FOLDER/jars/*", "Caller", "HOST")
    nets = {
        "rtt2": WIRE,
        "rtt26": COUNTRY,
        "prompt-rtt26": replace(COUNTRY, client_quickack=True),
    }
    return [
        RealCase(
            f"httpserver-call-{when}-{name}",
            (*server, f"-Dsun.net.httpserver.nodelay={nodelay}", "UpperCaseServer"),
            client,
            net,
            real_setup.httpserver,
            ("mvn",),
        )
        for name, net in nets.items()
        for when, nodelay in (("before", "false"), ("after", "true"))
    ]


def websockets() -> list[RealCase]:
    """Tornado pushes messages of random length to PHP, which sends its own in fragments."""
    server, client = (DEBIAN_PYTHON, "websocket_server.py"), ("php", "websocket_client.php", "HOST")
    return [
        RealCase(
            f"websocket-{when}",
            (*server, str(PORT), option),
            (*client, str(PORT), option),
            LOOPBACK,
        )
        for when, option in (("before", "nagle"), ("after", "nodelay"))
    ]
