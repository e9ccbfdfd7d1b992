"""Chains of relays: a client, relays, a server, all on one host or each in a container.

Every hop logs what it writes, so each leg, the connections to one port, has a log of its client
and one of its server; the rest is as with any other capture (truth_rows.py). Beside each whole
capture lies one of each leg alone, as someone takes it who knows of one hop only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import derive
import write_log
from cases import NETS, Scripts, spoken, unrolled
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
POINTS = {"lo": "loopback", "any": "host", BRIDGE: "bridge"}


@dataclass(frozen=True)
class Chain:
    """A client, relays, a server.

    Its sockets are named in order from the client to the server, '+' with TCP_NODELAY: '+ +- +'
    has one relay, whose socket towards the server holds what Nagle tells it to.
    """

    sockets: str
    scripts: Scripts
    connections: int = 1

    @property
    def hops(self) -> list[str]:
        """The sockets of each hop, from the client to the server."""
        return self.sockets.split()


@dataclass(frozen=True)
class ChainCase:
    """One run: chains that run at the same time, each with its own ports."""

    id: str
    chains: tuple[Chain, ...]
    in_containers: bool = False  # each hop in one of its own

    @property
    def relays(self) -> int:
        """How many there are; without any it is a look-alike."""
        return sum(len(chain.hops) - 2 for chain in self.chains)

    @property
    def hosts(self) -> str:
        """A letter for each host."""
        return "abcdefg"[: len(self.chains[0].hops)] if self.in_containers else "a"


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
        yield ChainCase(id, (Chain(sockets, spoken(talk), connections),))
    twins = Chain("+ -", spoken(REPLY), 4), Chain("+ -", spoken("30: 80 / 90 12"))
    yield ChainCase("two-services-alike-4", (twins[0],) * 2)
    yield ChainCase("two-services-no-think", (twins[1],) * 2)
    yield ChainCase("containers-client", (Chain("- ++ +", spoken(REQUEST), 2),), in_containers=True)


# -- running --------------------------------------------------------------------------------------


class Containers(Network):
    """A network namespace for each hop, and a host's bridge that joins them."""

    def __init__(self, hosts: str, log: Path) -> None:
        self.hosts = hosts
        super().__init__(NETS["veth"], Path(), log)

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
            self._address(host, "eth0", address(host))


def address(host: str) -> str:
    """The IP address of a container."""
    return f"10.10.4.{ord(host) - ord('a') + 2}"


def views(case: ChainCase) -> dict[str, tuple[str, str]]:
    """The captures: name -> (namespace, interface); at every container, and at their host."""
    if not case.in_containers:
        return {"a": ("c", "lo")}
    return {h: (h, "any") for h in case.hosts} | {"bridge": ("m", BRIDGE), "any": ("m", "any")}


class Running:
    """The hops of one chain while they run."""

    def __init__(self, case: ChainCase, number: int, network: Network, folder: Path) -> None:
        self.case, self.chain = case, case.chains[number]
        self.first = FIRST_PORT + PORTS_OF_A_CHAIN * number
        self.network, self.folder = network, folder
        self.last = len(self.chain.hops) - 1
        self.relays: list[Process] = []
        self.noted = folder / f"{self.first}.noted"

    def start(self) -> list[Process]:
        """Start all hops, the client last; the two ends."""
        server = self._peer(self.last, "server", "listen")
        self.relays += [self._relay(hop) for hop in range(self.last - 1, 0, -1)]
        return [server, self._peer(0, "client", "connect")]

    def stop(self) -> None:
        """End the relays, and turn what was noted of them into the logs of both their sides."""
        for relay in self.relays:
            relay.terminate()
        for relay in self.relays:
            relay.wait()
        calls = write_log.read(self.noted) if self.relays else []
        for hop in range(1, self.last):
            for port, side in ((self._port(hop), "server"), (self._port(hop + 1), "client")):
                Path(self._log(port, side)).write_text(write_log.logs(calls, int(port))[side])
        self.noted.unlink(missing_ok=True)

    def _port(self, hop: int) -> str:
        return str(port_of(self.first, self.last, hop))

    def _address(self, hop: int) -> str:
        """Where the hop before it finds it."""
        return address(host_of(self.case, hop)) if self.case.in_containers else "127.0.0.1"

    def _log(self, port: str, side: str) -> str:
        return str(self.folder / f"{port}.{side}.log")

    def _listen(self) -> str:
        return "0.0.0.0" if self.case.in_containers else "127.0.0.1"

    def _peer(self, hop: int, side: str, mode: str) -> Process:
        port = self._port(max(hop, 1))
        nodelay = "nodelay:1 " if self.chain.hops[hop] == "+" else ""
        script = nodelay + unrolled(self.chain.scripts[SIDES.index(side)])
        options = ["--log", self._log(port, side)]
        options += ["--no-watch"] if self.chain.connections > FEW else []
        at = self._address(1) if side == "client" else self._listen()
        each = [port, script] * self.chain.connections
        return self.network.start_ready(
            self._where(hop), str(tool("peer")), *options, mode, at, *each
        )

    def _relay(self, hop: int) -> Process:
        front, back = (str(int(option == "+")) for option in self.chain.hops[hop])
        here = (self._listen(), self._port(hop), front)
        onward = (self._address(hop + 1), self._port(hop + 1), back)
        watched = (f"LD_PRELOAD={tool('write_log.so')}", f"WRITE_LOG={self.noted}")
        words = ("env", *watched, str(tool("relay")), *here, *onward)
        return self.network.start_ready(self._where(hop), *words)

    def _where(self, hop: int) -> str:
        return host_of(self.case, hop) if self.case.in_containers else "c"


def host_of(case: ChainCase, hop: int) -> str:
    """Where a hop runs."""
    return case.hosts[hop] if case.in_containers else "a"


def port_of(first: int, last: int, hop: int) -> int:
    """Where a hop listens."""
    return first + last - hop


def record(case: ChainCase, folder: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    log = folder / "wire.log"
    network = (
        Containers(case.hosts, log)
        if case.in_containers
        else Network(NETS["loopback"], Path(), log)
    )
    with network:
        captures = [
            network.capture_at(*at, folder / f"{view}.pcap", "tcp")
            for view, at in views(case).items()
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


@dataclass(frozen=True)
class Leg:
    """The connections to one port, and the captures at their client's and their server's host."""

    port: int
    views: dict[str, str]


def legs_of(case: ChainCase) -> Iterator[Leg]:
    """Each leg, by the port it goes to; of a chain the server's is the last."""
    for number, chain in enumerate(case.chains):
        first, last = FIRST_PORT + PORTS_OF_A_CHAIN * number, len(chain.hops) - 1
        for hop in range(1, last + 1):
            seen = {"client": host_of(case, hop - 1), "server": host_of(case, hop)}
            yield Leg(port_of(first, last, hop), seen)


def truth(case: ChainCase, folder: Path) -> list[Row]:
    """The truth of each capture; those of one leg are cut out of the others."""
    legs = list(legs_of(case))
    captures = {view: read_packets(folder / f"{view}.pcap") for view in views(case)}
    connections = [c for leg in legs for c in connections_of(leg, folder, captures)]
    rows = []
    for view, packets in captures.items():
        facts = {"point": POINTS[views(case)[view][1]], "case": case.id, "relays": case.relays}
        facts |= {"rtt_ms": 0.0, "legs": len(legs)}
        rows.append(row_of(view, facts, describe(connections, packets)))
        ports = [leg.port for leg in legs if any(is_to(p, leg.port) for p in packets)]
        for port in ports if len(legs) > 1 else []:
            alone = f"{view}{ALONE}{port}"
            derive.only(f"tcp port {port}", folder / f"{view}.pcap", folder / f"{alone}.pcap")
            own = read_packets(folder / f"{alone}.pcap")
            rows.append(row_of(alone, facts | {"leg": port}, describe(connections, own)))
    return rows


def connections_of(
    leg: Leg, folder: Path, captures: dict[str, list[Packet]]
) -> Iterator[Connection]:
    """The connections of a leg, each with the segments that were held."""
    logs = {side: read_log(folder / f"{leg.port}.{side}.log") for side in SIDES}
    for client_port in sorted(logs["client"].keys() | logs["server"].keys()):
        pair = {client_port, leg.port}
        seen = {
            side: [p for p in captures[view] if {p.source_port, p.target_port} == pair]
            for side, view in leg.views.items()
        }
        if all(seen.values()):
            peers = {side: logs[side].get(client_port, Peer()) for side in SIDES}
            peers["client"].server_port = leg.port
            yield Connection(client_port, peers, seen, NO_DROPS)


def is_to(packet: Packet, port: int) -> bool:
    """It belongs to the leg of this port."""
    return port in (packet.source_port, packet.target_port)


def row_of(view: str, facts: Row, described: Row) -> Row:
    """The truth of one capture."""
    head = {"name": f"{facts['case']}/{view}", "capture": f"{view}.pcap"}
    return {**head, **facts, **described}
