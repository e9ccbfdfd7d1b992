"""Chains of relays: a client, relays, a server, all on one host or each in a container.

Every hop logs what it writes, so each leg, the connections to one port, has a log of its client
and one of its server; the rest is as with any other capture (truth_rows.py). Beside each whole
capture lies one of each leg alone, as someone takes it who knows of one hop only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import derive
import write_log
from cases import NETS, spoken, unrolled
from logs import Peer, read_log
from network import Network, Process, sh
from packets import Packet, read_packets
from tools import tool
from truth_rows import Connection, describe
from truths import SIDES, Row

FIRST_PORT = 8100  # of the server; one more for each relay before it
PORTS_OF_A_CHAIN = 100
LONGEST_RUN_S = 120
FEW = 4  # connections; of more, TCP_INFO every 0.5 ms would keep the relays from the processor
ALONE = "--leg-"  # between a capture's name and the port of the only leg in it
NO_DROPS = Path("no wire")  # the wires of a chain lose nothing
BRIDGE = "br0"


@dataclass(frozen=True)
class Leg:
    """The connections to one port, and the hosts of their client and their server."""

    port: int
    client: str
    server: str


@dataclass(frozen=True)
class Chain:
    """A client, relays, a server.

    Its sockets are named in order from the client to the server, '+' with TCP_NODELAY: '+ +- +'
    has one relay, which leaves Nagle's algorithm on towards the server.
    """

    sockets: str
    talk: str  # as in cases.toml
    connections: int = 1

    @property
    def hops(self) -> list[str]:
        """The sockets of each hop, from the client to the server."""
        return self.sockets.split()

    def legs(self, first_port: int, hosts: str) -> list[Leg]:
        """Its legs, from the client to the server, which has the first port."""
        hops = hosts if len(hosts) > 1 else hosts * len(self.hops)
        ports = range(first_port + len(hops) - 2, first_port - 1, -1)
        return [Leg(port, *ends) for port, ends in zip(ports, pairwise(hops), strict=True)]


@dataclass(frozen=True)
class ChainCase:
    """One run: chains that run at the same time, each with its own ports."""

    id: str
    chains: tuple[Chain, ...]
    hosts: str = "a"  # a letter for each: of all hops, or of each its own

    def legs(self, number: int) -> list[Leg]:
        """The legs of one of the chains."""
        return self.chains[number].legs(FIRST_PORT + PORTS_OF_A_CHAIN * number, self.hosts)


# -- the cases ------------------------------------------------------------------------------------


# Requests and replies in pieces, and how far apart; 300 us apart, so that a relay reads and writes
# the pieces one by one.
REPLY, REQUEST, BOTH = (
    "14: 80 think=2000 / 90 12",
    "14: 250 150 think=2000 / 90",
    "14: 250 150 think=2000 / 90 12",
)
APART, THREE = "14: 80 think=2000 / 90 +300 12", "14: 80 think=2000 / 90 +300 12 +300 30"
PAUSES, THINKS = "14: 80 think=2000 / 90 +40000 12", "14: 80 think=0-5000 / 90 12"


def all_chains() -> Iterator[ChainCase]:
    """Every chain, by who really holds data back."""
    for id, sockets, talk, connections in (
        ("server-2-relays", "+ ++ ++ -", REPLY, 2),
        ("client-2-relays", "- ++ ++ +", REQUEST, 2),
        ("front-2-of-3", "+ ++ -+ ++ +", APART, 2),
        ("server-and-front", "+ ++ -+ ++ -", THREE, 2),
        ("server-and-front-fixed", "+ ++ -+ ++ +", THREE, 2),
        ("client-and-server", "- ++ ++ -", BOTH, 2),
        ("client-and-server-fixed", "- ++ ++ +", BOTH, 2),
        ("load-server-10", "+ ++ ++ -", "14: 80 think=0-30000 / 90 12", 10),
        ("nodelay-everywhere", "+ ++ ++ +", REPLY, 2),
        ("nodelay-server-pauses-40000", "+ ++ ++ +", PAUSES, 4),
        ("stalling-server-4", "+ -", THINKS, 4),
        ("stalling-server-50", "+ -", THINKS, 50),
    ):
        yield ChainCase(id, (Chain(sockets, talk, connections),))
    twins = Chain("+ -", REPLY, 4), Chain("+ -", "30: 80 / 90 12")
    yield ChainCase("two-services-alike-4", (twins[0],) * 2)
    yield ChainCase("two-services-no-think", (twins[1],) * 2)
    yield ChainCase("containers-client", (Chain("- ++ +", REQUEST, 2),), "abc")


# -- running --------------------------------------------------------------------------------------


class Containers(Network):
    """A network namespace for each host, and a bridge that joins them."""

    def __init__(self, hosts: str, log: Path) -> None:
        self.hosts = hosts
        super().__init__(NETS["veth"], log)

    def _remove_namespaces(self) -> None:
        for which in "m" + self.hosts:
            sh(f"ip netns del {self.prefix}{which}", check=False)

    def _build(self) -> None:
        for which in "m" + self.hosts:
            sh(f"ip netns add {self.prefix}{which}")
            self._ip(which, "link set lo up")
        self._ip("m", f"link add {BRIDGE} type bridge")
        self._ip("m", f"link set {BRIDGE} up")
        for host in self.hosts:
            ends = f"veth{host} netns {self.prefix}m type veth peer name eth0 netns"
            sh(f"ip link add {ends} {self.prefix}{host}")
            self._ip("m", f"link set veth{host} master {BRIDGE} up")
            self._address(host, "eth0", container(host))


def container(host: str) -> str:
    """The IP address of a container."""
    return f"10.10.4.{ord(host) - ord('a') + 2}"


class Running:
    """The hops of one chain while they run."""

    def __init__(self, case: ChainCase, number: int, network: Network, folder: Path) -> None:
        self.chain, self.legs = case.chains[number], case.legs(number)
        self.network, self.folder = network, folder
        self.noted = folder / f"{self.legs[-1].port}.noted"
        self.is_local = len(case.hosts) == 1
        self.relays: list[Process] = []

    def start(self) -> list[Process]:
        """Start all hops, the client last; the two ends."""
        server = self._peer(self.legs[-1], "server")
        hops = [*zip(self.chain.hops[1:-1], pairwise(self.legs), strict=True)]
        self.relays = [self._relay(sockets, *legs) for sockets, legs in reversed(hops)]
        return [server, self._peer(self.legs[0], "client")]

    def stop(self) -> None:
        """End the relays, and turn what was noted of them into the logs of both their sides."""
        for relay in self.relays:
            relay.terminate()
        for relay in self.relays:
            relay.wait()
        calls = write_log.read(self.noted) if self.relays else []
        for front, back in pairwise(self.legs):
            for leg, side in ((front, "server"), (back, "client")):
                self._log(leg, side).write_text(write_log.logs(calls, leg.port)[side])
        self.noted.unlink(missing_ok=True)

    def _log(self, leg: Leg, side: str) -> Path:
        return self.folder / f"{leg.port}.{side}.log"

    def _address(self, leg: Leg) -> str:
        return "127.0.0.1" if self.is_local else container(leg.server)

    def _peer(self, leg: Leg, side: str) -> Process:
        number = SIDES.index(side)
        nodelay = "nodelay:1 " if self.chain.hops[-number] == "+" else ""
        script = nodelay + unrolled(spoken(self.chain.talk)[number])
        command = [str(tool("peer")), "--log", str(self._log(leg, side))]
        command += ["--no-watch"] if self.chain.connections > FEW else []
        command += [("connect", "listen")[number], self._address(leg)]
        command += [str(leg.port), script] * self.chain.connections
        return self.network.start_ready((leg.client, leg.server)[number], *command)

    def _relay(self, sockets: str, front: Leg, back: Leg) -> Process:
        command = ["env", f"LD_PRELOAD={tool('write_log.so')}", f"WRITE_LOG={self.noted}"]
        command += [str(tool("relay"))]
        for leg, option in zip((front, back), sockets, strict=True):
            command += [self._address(leg), str(leg.port), str(int(option == "+"))]
        return self.network.start_ready(front.server, *command)


def record(case: ChainCase, folder: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    interface = "any" if len(case.hosts) > 1 else "lo"
    with Containers(case.hosts, folder / "wire.log") as network:
        captures = [
            network.capture_at(host, interface, folder / f"{host}.pcap", "tcp")
            for host in case.hosts
        ]
        running = [Running(case, n, network, folder) for n in range(len(case.chains))]
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


# -- truth ----------------------------------------------------------------------------------------


def truth(case: ChainCase, folder: Path) -> list[Row]:
    """The truth of each capture; those of one leg are cut out of the others."""
    legs = [leg for number in range(len(case.chains)) for leg in case.legs(number)]
    captures = {host: read_packets(folder / f"{host}.pcap") for host in case.hosts}
    connections = [c for leg in legs for c in connections_of(leg, folder, captures)]
    facts: Row = {"point": "loopback" if case.hosts == "a" else "host", "case": case.id}
    # A chain without relays is a look-alike.
    facts |= {"relays": len(legs) - len(case.chains), "rtt_ms": 0.0, "legs": len(legs)}
    rows = []
    for host, packets in captures.items():
        rows.append(row_of(host, facts, describe(connections, packets)))
        for leg in legs if len(legs) > 1 else []:
            if host in (leg.client, leg.server):
                alone = f"{host}{ALONE}{leg.port}"
                path = folder / f"{alone}.pcap"
                derive.only(f"tcp port {leg.port}", folder / f"{host}.pcap", path)
                own = describe(connections, read_packets(path))
                rows.append(row_of(alone, facts | {"leg": leg.port}, own))
    return rows


def row_of(name: str, facts: Row, described: Row) -> Row:
    """The truth of one capture."""
    return {"name": f"{facts['case']}/{name}", "capture": f"{name}.pcap", **facts, **described}


def connections_of(
    leg: Leg, folder: Path, captures: dict[str, list[Packet]]
) -> Iterator[Connection]:
    """The connections of a leg, each with the segments that were held."""
    logs = {side: read_log(folder / f"{leg.port}.{side}.log") for side in SIDES}
    for client_port in sorted(logs["client"].keys() | logs["server"].keys()):
        pair = {client_port, leg.port}
        seen = {
            side: [p for p in captures[host] if {p.source_port, p.target_port} == pair]
            for side, host in zip(SIDES, (leg.client, leg.server), strict=True)
        }
        if all(seen.values()):
            peers = {side: logs[side].get(client_port, Peer()) for side in SIDES}
            peers["client"].server_port = leg.port
            yield Connection(client_port, peers, seen, NO_DROPS)
