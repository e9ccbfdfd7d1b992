"""Writes what is true of a chain's captures, leg by leg: a leg is the connections to one port.

Every hop logs what it writes, so each leg has a log of its client and one of its server; the
rest is as with any other capture (truth_files.py). Beside each whole capture lies one of
each leg alone, as someone takes it who knows of one hop only.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import truth_files
from logs import Peer, read_log
from packets import Packet, read_packets
from truth_files import KINDS, SIDES, Connection
from truth_rows import Row

Pair = frozenset[int]
Packets = dict[Pair, list[Packet]]
ALONE = "--leg-"  # between a capture's name and the port of the only leg in it
NO_DROPS = Path("no wire")  # the wires of a chain lose nothing


class Leg:
    """The connections to one port: who wrote what, and where both sides' packets were seen."""

    def __init__(self, folder: Path, port: int, views: dict[str, str]) -> None:
        self.port, self.views = port, views
        self.logs = {side: read_log(folder / f"{port}.{side}.log") for side in SIDES}

    def connections(self, captures: dict[str, Packets]) -> list[Connection]:
        """What was held in each of them."""
        found = []
        for client_port in sorted(self.logs["client"].keys() | self.logs["server"].keys()):
            pair = frozenset((client_port, self.port))
            seen = {side: captures[self.views[side]].get(pair, []) for side in SIDES}
            if all(seen.values()):
                peers = {side: self.logs[side].get(client_port, Peer()) for side in SIDES}
                peers["client"].server_port = self.port
                found.append(Connection(client_port, peers, seen, NO_DROPS))
        return found


def write_all(folder: Path, legs: list[Leg], facts: dict[str, Row]) -> list[Path]:
    """Cut the legs out of the captures and write all truth files; their paths."""
    captures = {name: by_pair(folder / f"{name}.pcap") for name in facts}
    connections = [c for leg in legs for c in leg.connections(captures)]
    files = []
    for name, packets in captures.items():
        known = facts[name] | {"legs": len(legs)}
        files.append(write_one(folder, name, known, connections, packets))
        ports = [leg.port for leg in legs if any(leg.port in pair for pair in packets)]
        for port in ports if len(legs) > 1 else []:
            alone = f"{name}{ALONE}{port}"
            cut(folder / f"{name}.pcap", folder / f"{alone}.pcap", port)
            mine = [c for c in connections if c.server_port == port]
            own = renumbered({pair: seen for pair, seen in packets.items() if port in pair})
            files.append(write_one(folder, alone, known | {"leg": port}, mine, own))
    return files


def cut(whole: Path, target: Path, port: int) -> None:
    """Keep the packets of one leg."""
    command = ["tcpdump", "-r", str(whole), "-w", str(target), f"tcp port {port}"]
    subprocess.run(command, check=True, capture_output=True)


def by_pair(capture: Path) -> Packets:
    """The packets of each connection."""
    pairs: Packets = defaultdict(list)
    for p in read_packets(capture):
        pairs[frozenset((p.source_port, p.target_port))].append(p)
    return pairs


def renumbered(pairs: Packets) -> Packets:
    """With the tcp.stream that they have where nothing else was captured."""
    order = sorted(pairs, key=lambda pair: pairs[pair][0].stream)
    return {
        pair: [replace(p, stream=number) for p in pairs[pair]] for number, pair in enumerate(order)
    }


def write_one(
    folder: Path, name: str, facts: Row, connections: list[Connection], packets: Packets
) -> Path:
    """Write the truth of one capture."""
    described: list[Row] = []
    rows: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for c in connections:
        seen = packets.get(frozenset((c.client_port, c.server_port)), [])
        found = truth_files.describe([c], seen)
        described += found["connections"]
        for kind in KINDS:
            rows[kind] += found[kind]
    described.sort(key=lambda d: d["connection"])
    truth: Row = {"name": f"{folder.name}/{name}", "capture": f"{name}.pcap"} | facts
    truth |= {"connections": described}
    truth |= {kind: sorted(found, key=truth_files.place) for kind, found in rows.items()}
    target = folder / f"{name}.truth.json"
    target.write_text(json.dumps(truth, indent=1) + "\n")
    return target
