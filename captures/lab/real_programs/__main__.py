#!/usr/bin/env python3
"""Make captures of programs as they are shipped: python -m real_programs [--out DIR] [WORD...]

Run in captures/lab. As real.py, but programs/write_log.c, loaded into all programs, notes each
write and what the kernel had not sent right after it, and may refuse TCP_NODELAY to one side.
A case is left out, with a line that says so, when its server is not installed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from pathlib import Path

import check
import truth_files
import write_log
from chain_real import build_library
from logs import Peer, read_log
from network import Network
from packets import Direction, read_packets
from real import wait_for_listener
from real_setup import PORT
from run import HERE, build, read_arguments
from truth_files import SIDES, place
from truth_rows import Row

from real_programs.table import ProgramCase, all_cases

OWN = HERE / "real_programs"
LONGEST_RUN_S = 120
BUFFER = ("-B", "16384")  # KiB: a busy machine must not lose frames
NOT_THE_PROGRAM = ("congestion_window", "zero_window", "retransmission", "kernel")
HOLDS = ("stalls", "short_holds")
PROBE = "joins a small segment in flight"  # a tail loss probe sends new data past Nagle


class Run:
    """One case while it runs."""

    def __init__(self, case: ProgramCase, network: Network, scratch: Path) -> None:
        self.case, self.network, self.scratch = case, network, scratch
        scratch.chmod(0o755)
        self.noted = scratch / "noted"
        self.noted.touch()
        self.noted.chmod(0o666)
        library = build_library(scratch)
        self.watching = ("env", f"LD_PRELOAD={library}", f"WRITE_LOG={self.noted}")

    def start(self, side: str, words: tuple[str, ...], seed: str) -> subprocess.Popen[str]:
        """Start a program that is watched."""
        known = {"HOST": self.network.server_address, "SEED": seed, "FOLDER": str(self.scratch)}
        for word, value in known.items():
            words = tuple(w.replace(word, value) for w in words)
        refusing = ("REFUSE_NODELAY=1",) if side == self.case.refused else ()
        return self.network.start(
            side[0],
            *self.watching,
            *refusing,
            *words,
            cwd=OWN / "ends",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def talk(self) -> None:
        """Let the listeners come, then the client talk; end the listeners."""
        listeners = []
        for number, command in enumerate(self.case.program.listeners):
            listeners.append(self.start("client", command, f"{self.case.id}{number}"))
        time.sleep(1.5 if listeners else 0)
        if self.start("client", self.case.program.client, self.case.id).wait(LONGEST_RUN_S):
            raise RuntimeError(f"{self.case.id}: the client failed")
        time.sleep(0.3)
        for listener in listeners:
            end(listener)


def end(program: subprocess.Popen[str]) -> None:
    """End it and what it started."""
    os.killpg(program.pid, signal.SIGTERM)
    program.wait()


def run_case(case: ProgramCase, folder: Path, wire: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "wire.log"
    with tempfile.TemporaryDirectory() as scratch, Network(case.net, wire, log) as network:
        run = Run(case, network, Path(scratch))
        if case.program.setup:
            case.program.setup(Path(scratch))
            Path(scratch).chmod(0o755)
        server = run.start("server", case.program.server, case.id)
        try:
            wait_for_listener(network)
            captures = [
                network.capture(point, folder / f"{point}.pcap", BUFFER, only=f"tcp port {PORT}")
                for point in case.net.points()
            ]
            run.talk()
            network.finish(captures)
        finally:
            end(server)
        for side, text in write_log.logs(write_log.read(run.noted), PORT).items():
            (folder / f"{side}.log").write_text(text)
    for extra in case.extras:
        port = subscriber(folder)
        whole, one = (folder / f"{name}.pcap" for name in (extra.point, extra.name))
        command = ["tcpdump", "-r", str(whole), "-w", str(one), f"tcp port {port}"]
        subprocess.run(command, check=True, capture_output=True)


def subscriber(folder: Path) -> int:
    """The client that wrote least."""
    clients = read_log(folder / "client.log")
    return min(clients, key=lambda port: sum(n for _, _, n in clients[port].writes))


def write_truth(case: ProgramCase, folder: Path) -> list[Path]:
    """Write the truth files."""
    files = truth_files.write_all(case, folder)
    logs = {side: read_log(folder / f"{side}.log") for side in SIDES}
    for file in files:
        truth = json.loads(file.read_text())
        settle(truth, logs)
        file.write_text(json.dumps(truth, indent=1) + "\n")
    return files


def settle(truth: Row, logs: dict[str, dict[int, Peer]]) -> None:
    """Mark as undecidable what Nagle held as well as a loss or a full window did.

    A held segment whose first copy was lost on its way to this capture is no stall in it.
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


def gaps(case: ProgramCase, folder: Path) -> list[str]:
    """What the log or the capture at the sender lacks."""
    found = []
    for side in SIDES:
        point = "loopback" if "loopback" in case.net.points() else side
        packets = read_packets(folder / f"{point}.pcap")
        for client, peer in read_log(folder / f"{side}.log").items():
            ports = (client, PORT) if side == "client" else (PORT, client)
            sent = Direction(packets, *ports)
            ends = [sent.offset(p.seq) + p.length for p in sent.new_segments()]
            starts = [sent.offset(p.seq) for p in sent.new_segments()]
            written = sum(n for _, _, n in peer.writes)
            if starts != [0, *ends][: len(starts)]:
                found.append(f"{side} {client}: segments that were not captured")
            if ends and ends[-1] > written:
                found.append(f"{side} {client}: {ends[-1]} bytes sent, {written} logged")
    return found


def main() -> int:
    """Make the captures and their truth, and check it."""
    arguments = read_arguments(__doc__ or "")
    os.environ["PATH"] += "".join(f":{p}" for p in Path("/usr/lib/postgresql").glob("*/bin"))
    wire, words, bad = build() / "wire", arguments.words, 0
    for case in all_cases():
        if words and not any(word in case.id for word in words):
            continue
        program = case.program
        missing = [p for p in (program.server[0], *program.needs) if not shutil.which(p)]
        if missing:
            print(f"{case.id:40} left out: no {', '.join(missing)}")
            continue
        folder = arguments.out / case.id
        if not arguments.truth_only:
            run_case(case, folder, wire)
        files = write_truth(case, folder)
        complaints = [c for f in files for c in check.complaints(f)] + gaps(case, folder)
        complaints = [c for c in complaints if not (case.net.loss and PROBE in c)]
        stalls = max(len(json.loads(f.read_text())["stalls"]) for f in files)
        print(f"{case.id:40} {stalls:4} stalls", *complaints, sep="\n        ", flush=True)
        bad += bool(complaints)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
