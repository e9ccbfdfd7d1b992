#!/usr/bin/env python3
"""Make captures of chains of relays with known truth: chains.py [--out DIR] [--seed N] [WORD...]

As run.py, also --truth-only, but between client and server are relays, each of which logs what it
writes. Beside every capture lies one of each of its legs alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chain_truth
import check
from cases.chain_matrix import all_chains
from cases.chains import Chain, ChainCase, first_ports
from chain_hosts import Containers, Hosts
from chain_truth import ALONE, Leg
from run import build, read_arguments

LONGEST_RUN_S = 120
NODELAY = {"+": "nodelay:1 ", "-": ""}
FEW = 4  # connections; of more, TCP_INFO every 0.5 ms would keep the relays from the processor
POINTS = {"lo": "loopback", "any": "host", "br0": "bridge"}


class Running:
    """The hops of one chain while they run."""

    def __init__(
        self, chain: Chain, first: int, network: Hosts, folder: Path, programs: Path
    ) -> None:
        self.chain, self.first, self.network = chain, first, network
        self.folder, self.programs = folder, programs
        self.last = len(chain.hops) - 1
        self.relays: list[subprocess.Popen[str]] = []

    def port(self, hop: int) -> int:
        """Where a hop listens."""
        return self.first + self.last - hop

    def address(self, hop: int) -> str:
        """Where the hop before it finds it."""
        return self.network.address(self.chain.host(hop), self.chain.host(hop - 1))

    def start(self) -> list[subprocess.Popen[str]]:
        """Start all hops, the client last; the two ends."""
        server = self._peer(self.last, "server", self.chain.scripts[1])
        for hop in range(self.last - 1, 0, -1):
            self.relays.append(self._relay(hop))
        return [server, self._peer(0, "client", self.chain.scripts[0])]

    def stop(self) -> None:
        """End the relays, which writes their logs."""
        for relay in self.relays:
            relay.terminate()
        for relay in self.relays:
            relay.wait()

    def legs(self) -> Iterator[Leg]:
        """Each leg, by the port it goes to; the server's is the last."""
        for hop in range(1, self.last + 1):
            views = {"client": self.chain.host(hop - 1), "server": self.chain.host(hop)}
            yield Leg(self.folder, self.port(hop), views)

    def _log(self, port: int, side: str) -> str:
        return str(self.folder / f"{port}.{side}.log")

    def _listen(self, hop: int) -> str:
        return "127.0.0.1" if self.address(hop) == "127.0.0.1" else "0.0.0.0"

    def _peer(self, hop: int, side: str, script: str) -> subprocess.Popen[str]:
        port = self.port(max(hop, 1))
        address = self.address(1) if side == "client" else self._listen(hop)
        mode = "connect" if side == "client" else "listen"
        script = NODELAY[self.chain.hops[hop]] + script
        options = ["--log", self._log(port, side)]
        options += ["--no-watch"] if self.chain.connections > FEW else []
        each = [str(port), script] * self.chain.connections
        return self._start(hop, self.programs / "peer", *options, mode, address, *each)

    def _relay(self, hop: int) -> subprocess.Popen[str]:
        front, back = self.port(hop), self.port(hop + 1)
        options = ["--front-log", self._log(front, "server")]
        options += ["--back-log", self._log(back, "client"), *self.chain.relay]
        sockets = self.chain.hops[hop]
        names = ("--front-nodelay", "--back-nodelay")
        options += [name for name, s in zip(names, sockets, strict=True) if s == "+"]
        ends = (self._listen(hop), str(front), self.address(hop + 1), str(back))
        return self._start(hop, self.programs / "relay", *options, *ends)

    def _start(self, hop: int, program: Path, *words: str) -> subprocess.Popen[str]:
        where = self.network.where(self.chain.host(hop))
        process = self.network.start(where, str(program), *words, stdout=subprocess.PIPE)
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{program.name} did not start")
        return process


def hosts_of(case: ChainCase, programs: Path, folder: Path) -> Hosts:
    """The network of a case, not built yet."""
    wire, log = programs / "wire", folder / "wire.log"
    if case.containers:
        return Containers(wire, log, case.containers)
    return Hosts(case.net, wire, log)


def run_case(case: ChainCase, folder: Path, programs: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with hosts_of(case, programs, folder) as network:
        captures = [network.start_view(v, folder / f"{v}.pcap") for v in network.views()]
        running = chains_of(case, network, folder, programs)
        ends = [end for r in running for end in r.start()]
        try:
            for end in ends:
                if end.wait(LONGEST_RUN_S):
                    raise RuntimeError("a peer failed")
            time.sleep(0.1)
        finally:
            for r in running:
                r.stop()
        network.finish(captures)


def chains_of(case: ChainCase, network: Hosts, folder: Path, programs: Path) -> list[Running]:
    """What runs in a case."""
    ports = first_ports()
    return [Running(c, next(ports), network, folder, programs) for c in case.chains]


def write_truth(case: ChainCase, folder: Path, programs: Path) -> list[Path]:
    """Write the truth of a case's captures."""
    network = hosts_of(case, programs, folder)
    legs = [leg for r in chains_of(case, network, folder, programs) for leg in r.legs()]
    facts = {
        name: {
            "point": POINTS.get(interface, "middle"),
            "case": case.id,
            "relays": case.relays,
            "rtt_ms": sum(case.net.one_way_ms),
        }
        for name, (_, interface) in network.views().items()
    }
    return chain_truth.write_all(folder, legs, facts)


def make(cases: list[ChainCase], out: Path, truth_only: bool = False) -> None:
    """Make these cases."""
    programs = build()
    for number, case in enumerate(cases, 1):
        folder = out / case.id
        if not truth_only:
            run_case(case, folder, programs)
        files = write_truth(case, folder, programs)
        whole = [f for f in files if ALONE not in f.name]
        complaints = [c for f in whole for c in check.complaints(f)]
        stalls = max(len(json.loads(f.read_text())["stalls"]) for f in whole)
        counted = f"{stalls:4} stalls, {len(files)} captures"
        print(f"{number:3}/{len(cases)} {case.id:44} {counted}", *complaints, sep="\n        ")


def main() -> int:
    """Make the captures and their truth."""
    arguments = read_arguments(__doc__ or "")
    words = arguments.words
    chosen = [c for c in all_chains(arguments.seed) if not words or any(w in c.id for w in words)]
    make(chosen, arguments.out, arguments.truth_only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
