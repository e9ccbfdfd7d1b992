"""Real servers and clients: those of programs.toml.

Their writes are logged by strace, or by programs/write_log.c, which is loaded into all of them,
notes what the kernel had not sent right after each write, and may refuse TCP_NODELAY to one side.
strace makes a program react later, which a client and a server that only take turns do not mind.
"""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import derive
import strace_log
import truth_rows
import write_log
from accuracy_report import SUBSCRIBER
from cases import NETS, Extra, Run, net_of
from logs import Peer, read_log
from network import Net, Network, Process
from packets import Direction, read_packets
from tools import HERE, PROGRAMS, tool
from truths import SIDES, Row, place

TABLES = tomllib.loads((HERE / "programs.toml").read_text())
PATHS = NETS | {name: net_of(fields) for name, fields in TABLES["nets"].items()}
PORT = 8080
LONGEST_RUN_S = 120
HTTP = "PYTHON http_client.py HOST PORT / 15"
STRACE = f"strace -f --seccomp-bpf -ttt -yy -s 0 -e trace={strace_log.CALLS} -e signal=none -o"
NOT_THE_PROGRAM = ("congestion_window", "zero_window", "retransmission", "kernel")
HOLDS = ("stalls", "short_holds")
KEPT, DESCRIPTORS = 40, 20_000  # connections of an overloaded server, and what it may open


@dataclass(frozen=True, kw_only=True)
class RealCase(Run):
    """A server, a client that talks, and those that only listen."""

    server: str
    client: str
    listeners: tuple[str, ...] = ()
    switch: str = ""
    setup: str = ""
    needs: tuple[str, ...] = ()
    traced: bool = False  # by strace
    refused: str = ""  # the side that is refused TCP_NODELAY
    kept: int = 0  # connections, of more


def programs() -> Iterator[RealCase]:
    """Every program: before and after its fix, as its package ships it, overloaded."""
    for name, row in TABLES["real"].items():
        for when, switch in zip(("before", "after"), row["switch"], strict=True):
            for path in row.get("on", "").split() or [""]:
                net = PATHS[path or row.get("net", "rtt2")]
                id = f"{name}-{when}-{path}".rstrip("-")
                yield case_of(id, row, net, switch=switch, traced=True)
    for name, row in TABLES["shipped"].items():
        for run in row["runs"].split():
            how, _, path = run.rpartition("-")
            refused = "" if how == "shipped" else how.removesuffix("-refused")
            yield case_of(f"{name}-{run}", row, PATHS[path], refused=refused)
    for name, row in TABLES["overloaded"].items():
        yield case_of(name, row, NETS["loopback"], kept=KEPT)


def case_of(id: str, row: dict[str, Any], net: Net, **more: Any) -> RealCase:  # noqa: ANN401
    """A row of the table; of a fan-out also what a filter on one subscriber would have captured."""
    listeners = row.get("listeners", [])
    if listeners and isinstance(listeners[-1], int):
        listeners = listeners[:1] * listeners[-1]
    server, client = row["server"], row.get("client", HTTP)
    needs = (server.split()[0], client.split()[0], *row.get("needs", ()))
    points = net.points() if listeners else ()
    return RealCase(
        id=id,
        net=net,
        extras=tuple(Extra(f"{point}{SUBSCRIBER}", point) for point in points),
        server=server,
        client=client,
        listeners=tuple(listeners),
        setup="\n".join(TABLES["setup"][name] for name in row.get("setup", "").split()),
        needs=tuple(need for need in needs if need.islower()),
        **more,
    )


def missing(case: RealCase) -> list[str]:
    """Programs that are not installed."""
    found = os.environ["PATH"] + "".join(f":{p}" for p in Path("/usr/lib/postgresql").glob("*/bin"))
    os.environ["PATH"] = ":".join(dict.fromkeys(found.split(":")))
    return [program for program in case.needs if not shutil.which(program)]


class Running:
    """One case while it runs."""

    def __init__(self, case: RealCase, network: Network, scratch: Path) -> None:
        self.case, self.network, self.scratch = case, network, scratch
        scratch.chmod(0o755)
        self.noted = scratch / "noted"
        self.noted.touch()
        self.noted.chmod(0o666)
        # A server that is not root may not reach where it was built.
        self.library = shutil.copy(tool("write_log.so"), scratch)

    def filled(self, text: str, seed: str) -> str:
        """A text of the table with what is known now."""
        known = {"HOST": self.network.server_address, "PORT": str(PORT), "SEED": seed}
        known |= {"FOLDER": str(self.scratch), "PYTHON": sys.executable, "SWITCH": self.case.switch}
        for word, value in known.items():
            text = text.replace(word, value)
        return text

    def set_up(self) -> None:
        """Make what the server reads."""
        script = self.filled(self.case.setup, "")
        subprocess.run(["sh", "-ec", script], cwd=PROGRAMS, check=True, capture_output=True)
        self.scratch.chmod(0o755)

    def watching(self, side: str) -> list[str]:
        """The words before a program's command, so that its writes are logged."""
        if self.case.traced:
            return [*STRACE.split(), str(self.scratch / side)]
        refusing = ["REFUSE_NODELAY=1"] if side == self.case.refused else []
        return ["env", f"LD_PRELOAD={self.library}", f"WRITE_LOG={self.noted}", *refusing]

    def start(self, side: str, command: str, seed: str) -> Process:
        """Start a program that is watched."""
        words = [*self.watching(side), *shlex.split(self.filled(command, seed))]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return self.network.start(side[0], *words, cwd=PROGRAMS, start_new_session=True, **quiet)

    def talk(self) -> None:
        """Let the listeners come, then the client talk; end the listeners."""
        listeners = [
            self.start("client", command, f"{self.case.id}{number}")
            for number, command in enumerate(self.case.listeners)
        ]
        time.sleep(1.5 if listeners else 0)
        if self.start("client", self.case.client, self.case.id).wait(LONGEST_RUN_S):
            raise RuntimeError(f"{self.case.id}: the client failed")
        time.sleep(0.3)
        for listener in listeners:
            end(listener)

    def write_logs(self, folder: Path) -> None:
        """Writes the watched calls as logs of both sides."""
        if self.case.traced:
            for side in SIDES:
                strace_log.convert(self.scratch / side, folder / f"{side}.log", PORT)
        else:
            for side, text in write_log.logs(write_log.read(self.noted), PORT).items():
                (folder / f"{side}.log").write_text(text)


def end(program: Process) -> None:
    """End it and what it started."""
    os.killpg(program.pid, signal.SIGTERM)
    program.wait()


def record(case: RealCase, folder: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))
    with (
        tempfile.TemporaryDirectory() as scratch,
        Network(case.net, folder / "wire.log") as network,
    ):
        run = Running(case, network, Path(scratch))
        run.set_up()
        server = run.start("server", case.server, case.id)
        try:
            network.wait_for_listener("s", PORT)
            captures = [
                network.capture(p, folder / f"{p}.pcap", f"tcp port {PORT}")
                for p in case.net.points()
            ]
            run.talk()
            network.finish(captures)
        finally:
            end(server)
        run.write_logs(folder)
    if case.kept:
        keep_some(folder, case.kept)
    for extra in case.extras:
        whole, one = (folder / f"{name}.pcap" for name in (extra.point, extra.name))
        derive.only(f"tcp port {subscriber(folder)}", whole, one)


def keep_some(folder: Path, count: int) -> None:
    """Cut capture and logs to `count` connections, spread over all of them."""
    capture, whole = folder / "loopback.pcap", folder / "whole"
    ports = sorted(read_log(folder / "client.log"))
    kept = set(ports[:: len(ports) // count][:count])
    capture.rename(whole)
    derive.only(" or ".join(f"tcp port {port}" for port in sorted(kept)), whole, capture)
    whole.unlink()
    for log in (folder / f"{side}.log" for side in SIDES):
        lines = [line for line in log.read_text().splitlines() if int(line.split()[1]) in kept]
        log.write_text("".join(f"{line}\n" for line in lines))


def subscriber(folder: Path) -> int:
    """The client that wrote least."""
    clients = read_log(folder / "client.log")
    return min(clients, key=lambda port: sum(n for _, _, n in clients[port].writes))


# -- truth ----------------------------------------------------------------------------------------


def truth(case: RealCase, folder: Path) -> list[Row]:
    """The truth of each capture; raises `RuntimeError` if not all was logged or captured."""
    rows = truth_rows.of_run(case, folder)
    if not case.traced:
        logs = {side: read_log(folder / f"{side}.log") for side in SIDES}
        if missing := "; ".join(gaps(folder, logs)):
            raise RuntimeError(missing)
        for row in rows:
            settle(row, logs)
    return rows


def settle(truth: Row, logs: dict[str, dict[int, Peer]]) -> None:
    """Mark as undecidable what Nagle held as well as a loss or a full window did.

    A held segment is not a stall in this capture if its first copy was lost on the way.
    """
    ports = {c["connection"]: c["client"]["port"] for c in truth["connections"]}
    held = {place(stall) for kind in HOLDS for stall in truth[kind]}
    lost = {place(w) for w in truth["other_waits"] if w["cause"] == "retransmission"}
    for kind in HOLDS:
        truth[kind] = [stall for stall in truth[kind] if place(stall) not in lost]
    for wait in truth["other_waits"]:
        peer = logs[wait["by"]][ports[wait["connection"]]]
        was_held = place(wait) in held & lost
        if wait["cause"] in NOT_THE_PROGRAM and (was_held or may_be_held(peer, wait)):
            wait["undecidable"] = True


def may_be_held(peer: Peer, wait: Row) -> bool:
    """Nagle was on, and the kernel had not sent all of the write, or may not have.

    Where the cause is the kernel itself, the bytes left before it could be asked.
    """
    at = bisect_right([first for _, first, _ in peer.writes], wait["from_rel"]) - 1
    time, (not_sent, *_) = peer.infos[at]
    return not peer.option("nodelay", time) and (not_sent > 0 or wait["cause"] == "kernel")


def gaps(folder: Path, logs: dict[str, dict[int, Peer]]) -> Iterator[str]:
    """The bytes that the log or the capture at the sender lacks."""
    for side, peers in logs.items():
        whole = folder / "loopback.pcap"
        packets = read_packets(whole if whole.exists() else folder / f"{side}.pcap")
        for client, peer in peers.items():
            sent = Direction(packets, *((client, PORT) if side == "client" else (PORT, client)))
            new = [(sent.offset(p.seq), p.length) for p in sent.new_segments()]
            end = sum(length for _, length in new)
            if new and sum(new[-1]) != end:
                yield f"{side} {client}: segments that were not captured"
            if end > sum(length for _, _, length in peer.writes):
                yield f"{side} {client}: more bytes were sent than logged"
