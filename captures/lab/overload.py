#!/usr/bin/env python3
"""The capture of an overloaded RPC server: overload.py [--out DIR] [--connections N]

A server with a thread for each connection and its load generator, both with TCP_NODELAY, on one
machine that has too little processor for them: replies take tens of ms. Both log their writes; of
the capture, a few dozen connections are kept. The whole one stays in DIR/CASE/full.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import check
import truth_files
from cases import LOOPBACK, Extra
from logs import read_log
from net import Net
from network import Network
from real import wait_for_listener
from real_setup import PORT, PROGRAMS
from run import HERE

KEPT, ROUNDS, SLEEP_MS, DESCRIPTORS = 40, 12, 200, 20_000


@dataclass(frozen=True)
class Overload:
    """What truth_files wants to know of the run."""

    id: str = "rpc-threads-overloaded"
    net: Net = LOOPBACK
    extras: tuple[Extra, ...] = ()


def compile_programs(folder: Path) -> None:
    """Server and load generator."""
    for name in ("rpc_server", "rpc_load"):
        gcc = ("gcc", "-O2", "-Wall", "-Wextra", "-pthread", "-o")
        subprocess.run([*gcc, folder / name, PROGRAMS / f"{name}.c"], check=True)


def run(case: Overload, folder: Path, connections: int) -> str:
    """Make the full capture and both logs; what the load generator says of latencies."""
    full = folder / "full"
    full.mkdir(parents=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        Network(case.net, Path(), folder / "wire.log") as network,
    ):
        compile_programs(Path(scratch))
        log = folder / "server.log"
        server = network.start("s", f"{scratch}/rpc_server", str(PORT), str(log))
        wait_for_listener(network)
        options = ("-s", "96", "-B", "131072")
        capture = network.capture("loopback", full / "loopback.pcap", options)
        log = folder / "client.log"
        load = (f"{scratch}/rpc_load", network.server_address, str(PORT), str(log))
        amounts = (str(connections), str(ROUNDS), str(SLEEP_MS))
        client = network.start("c", *load, *amounts, stdout=subprocess.PIPE)
        said = client.communicate(timeout=120)[0]
        network.finish([capture])
        server.terminate()
        server.wait()
    return said


def keep_some(folder: Path) -> None:
    """Cut capture and logs to a few dozen connections, spread over all of them."""
    ports = sorted(read_log(folder / "client.log"))
    kept = set(ports[:: len(ports) // KEPT][:KEPT])
    only = " or ".join(f"tcp port {port}" for port in sorted(kept))
    source, target = folder / "full" / "loopback.pcap", folder / "loopback.pcap"
    command = ["tcpdump", "-Z", "root", "-r", str(source), "-w", str(target), only]
    subprocess.run(command, check=True, capture_output=True)
    for side in ("client", "server"):
        log = folder / f"{side}.log"
        lines = [line for line in log.read_text().splitlines() if int(line.split()[1]) in kept]
        log.write_text("".join(f"{line}\n" for line in lines))


def main() -> int:
    """Make it, and its truth, and check that."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--connections", type=int, default=3000)
    arguments = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))
    case = Overload()
    folder = arguments.out / case.id
    shutil.rmtree(folder, ignore_errors=True)
    print(run(case, folder, arguments.connections), end="")
    keep_some(folder)
    files = truth_files.write_all(case, folder)
    complaints = [text for file in files for text in check.complaints(file)]
    print(f"{len(files)} capture", *complaints, sep="\n        ")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
