#!/usr/bin/env python3
"""Make captures of real programs with known truth: real.py [--out DIR] [--truth-only] [WORD...]

As run.py, but the applications are real servers and clients, before and after
the fix, and their logs are made from strace.
A case is left out, with a line that says so, when its server is not installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import check
import strace_log
import truth_files
from cases import COUNTRY, LOOPBACK, WIRE, Extra
from net import Net
from network import Network
from run import HERE, build

PORT, REQUESTS = 8080, "15"
PROGRAMS = HERE / "programs"
STRACE = f"strace -f -ttt -yy -s 0 -e trace={strace_log.CALLS} -e signal=none -o".split()


@dataclass(frozen=True)
class RealCase:
    """A server and a client: their commands, with HOST and FOLDER for what is known later."""

    id: str
    server: tuple[str, ...]
    client: tuple[str, ...]
    net: Net = WIRE
    extras: tuple[Extra, ...] = ()


def http(id: str, *server: str, net: Net = WIRE, path: str = "/") -> RealCase:
    """A web server, asked again and again on one connection."""
    return RealCase(id, server, ("http_client.py", "HOST", str(PORT), path, REQUESTS), net)


def pieces(id: str, kind: str, *server: str, nodelay: bool) -> RealCase:
    """A client that writes each command in pieces."""
    client = ("pieces_client.py", "HOST", str(PORT), kind, REQUESTS)
    return RealCase(id, server, (*client, "nodelay") if nodelay else client)


def real_cases() -> list[RealCase]:
    """Every case that real.py knows."""
    python, port = sys.executable, str(PORT)
    java = ("java", "-XX:TieredStopAtLevel=1")
    java_nodelay = "-Dsun.net.httpserver.nodelay=true"
    nginx = ("nginx", "-p", "FOLDER", "-c", "nginx.conf")
    cases = []
    for name, net in (("rtt2", WIRE), ("rtt26", COUNTRY), ("loopback", LOOPBACK)):
        cases += [
            http(f"python-http-before-{name}", python, "python_server.py", port, net=net),
            http(f"python-http-after-{name}", python, "python_server.py", port, "nodelay", net=net),
            http(f"node-http-before-{name}", "node", "node_server.js", port, net=net),
            http(f"node-http-after-{name}", "node", "node_server.js", port, "nodelay", net=net),
            http(f"jdk-http-before-{name}", *java, "JavaServer.java", port, net=net),
            http(f"jdk-http-after-{name}", *java, java_nodelay, "JavaServer.java", port, net=net),
            http(f"nginx-before-{name}", *nginx, "NODELAY=off", net=net, path="/file"),
            http(f"nginx-after-{name}", *nginx, "NODELAY=on", net=net, path="/file"),
        ]
    redis = ("redis-server", "--port", port, "--save", "", "--protected-mode", "no")
    memcached = ("memcached", "-u", "root", "-p", port, "-t", "1")
    return [
        *cases,
        pieces("redis-client-before", "redis", *redis, nodelay=False),
        pieces("redis-client-after", "redis", *redis, nodelay=True),
        pieces("memcached-client-before", "memcached", *memcached, nodelay=False),
        pieces("memcached-client-after", "memcached", *memcached, nodelay=True),
    ]


def run_real(case: RealCase, out: Path, wire: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    folder = out / case.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        Network(case.net, wire, folder / "wire.log") as network,
    ):
        server_trace, client_trace = Path(scratch, "server"), Path(scratch, "client")
        command = prepare(case.server, Path(scratch))
        server = network.start(
            "s",
            *STRACE,
            str(server_trace),
            *command,
            cwd=PROGRAMS,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_listener(network)
            captures = [
                network.capture(point, folder / f"{point}.pcap") for point in case.net.points()
            ]
            client = [network.server_address if w == "HOST" else w for w in case.client]
            if network.start(
                "c", *STRACE, str(client_trace), sys.executable, *client, cwd=PROGRAMS
            ).wait(60):
                raise RuntimeError("the client failed")
            network.finish(captures)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()
        strace_log.convert(server_trace, folder / "server.log", PORT)
        strace_log.convert(client_trace, folder / "client.log", PORT)


def prepare(command: tuple[str, ...], folder: Path) -> list[str]:
    """The server's command; nginx wants a folder with its configuration and a file to serve."""
    setting = next((w for w in command if w.startswith("NODELAY=")), None)
    if setting:
        text = (PROGRAMS / "nginx.conf").read_text()
        for name, value in (
            ("PORT", str(PORT)),
            ("NODELAY", setting.split("=")[1]),
            ("FOLDER", str(folder)),
        ):
            text = text.replace(name, value)
        (folder / "nginx.conf").write_text(text)
        (folder / "file").write_bytes(b"x" * 300)
    return [str(folder) if w == "FOLDER" else w for w in command if w != setting]


def wait_for_listener(network: Network) -> None:
    """Return once the server listens."""
    for _ in range(200):
        listening = subprocess.run(
            ["ip", "netns", "exec", network.namespace("s"), "ss", "-Hltn", f"sport = :{PORT}"],
            capture_output=True,
            text=True,
        ).stdout
        if listening:
            return
        time.sleep(0.1)
    raise RuntimeError("the server does not listen")


def main() -> int:
    """Make the captures and their truth, and check it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--truth-only", action="store_true")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    wire, bad = build() / "wire", 0
    for case in real_cases():
        if arguments.words and not any(w in case.id for w in arguments.words):
            continue
        if not shutil.which(case.server[0]):
            print(f"{case.id:36} left out: no {case.server[0]}")
            continue
        if not arguments.truth_only:
            run_real(case, arguments.out, wire)
        files = truth_files.write_all(case, arguments.out / case.id)
        complaints = [c for f in files for c in check.complaints(f)]
        print(f"{case.id:36} {len(files)} captures", *complaints, sep="\n        ", flush=True)
        bad += bool(complaints)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
