#!/usr/bin/env python3
"""Make captures with known truth: run.py [--out DIR] [--truth-only] [WORD...]

Runs every case whose id contains one of the WORDs (all without one), each in
fresh network namespaces (so: as root), into DIR/CASE/:
    CAPTURE.pcap(ng)        one per capture point, and the case's extra captures
    CAPTURE.truth.json      what is true of that capture
    client.log server.log   the applications' own logs      wire.log  what the wires did
With --truth-only, writes the truth of captures already made again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import check
import derive
import truth_files
import user_stacks
from cases import FIRST_PORT, Case, Extra, all_cases
from net import STACK_INTERFACE
from network import Network

HERE = Path(__file__).resolve().parent
LONGEST_RUN_S = 60
SOURCES = {
    "wire": ("wire.c", "path.c", "path.h"),
    "peer": ("peer.c",),
    "relay": ("programs/relay.c",),
}


def build() -> Path:
    """Compile wire, peer and relay when needed; the folder they are in."""
    target = HERE / "build"
    target.mkdir(exist_ok=True)
    for name, sources in SOURCES.items():
        program = target / name
        files = [HERE / source for source in sources]
        newest = max(file.stat().st_mtime for file in files)
        if not program.exists() or program.stat().st_mtime < newest:
            code = [file for file in files if file.suffix == ".c"]
            flags = ["-O2", "-Wall", "-Wextra", "-pthread", "-lm"]
            subprocess.run(["gcc", "-o", program, *code, *flags], check=True)
    return target


def run_case(case: Case, out: Path, programs: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    folder = out / case.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Network(case.net, programs / "wire", folder / "wire.log") as network:
        tcpdump = ("-s", str(case.snaplen)) if case.snaplen else ()
        captures = [
            network.capture(point, folder / f"{point}.pcap", tcpdump, only=case.only)
            for point in case.net.points()
        ]
        captures += [
            start_extra(network, e, folder) for e in case.extras if not e.late_s and not e.derive
        ]
        server = start_peer(network, case, "server", folder, programs)
        client = start_peer(network, case, "client", folder, programs)
        captures += start_late(network, case, folder)
        if client.wait(LONGEST_RUN_S) or server.wait(LONGEST_RUN_S):
            raise RuntimeError("a peer failed")
        network.finish(captures, linger_s=0.3 + case.net.rtt_ms / 1000)
    for extra in case.extras:
        if extra.derive:
            derive.make(
                extra.derive,
                folder / f"{extra.point}.pcap",
                folder / f"{extra.name}{extra.suffix}",
            )


def start_peer(
    network: Network, case: Case, side: str, folder: Path, programs: Path
) -> subprocess.Popen[str]:
    """Start the client or the server and return once it is ready."""
    command = [
        *user_stacks.priority(case.net, side),
        str(programs / user_stacks.program(case.net, side)),
        "--log",
        str(folder / f"{side}.log"),
        *peer_options(case, side),
        "listen" if side == "server" else "connect",
        network.server_address,
    ]
    for i, scripts in enumerate(case.flows):
        port = FIRST_PORT if case.one_port else FIRST_PORT + i
        command += [str(port), scripts[side == "server"]]
    peer = network.start(side[0], *command, stdout=subprocess.PIPE)
    if peer.stdout is None or peer.stdout.readline() != "ready\n":
        raise RuntimeError(f"the {side} did not start")
    return peer


def peer_options(case: Case, side: str) -> list[str]:
    """What the program at one side must know of its stack."""
    if case.net.has_stack(side[0]):
        return ["--tun", STACK_INTERFACE, "--own", user_stacks.ADDRESSES[side[0]].own]
    rcvbuf = case.server_rcvbuf if side == "server" else case.client_rcvbuf
    return ["--congestion", case.net.congestion, *(["--rcvbuf", str(rcvbuf)] if rcvbuf else [])]


def start_extra(network: Network, extra: Extra, folder: Path) -> subprocess.Popen[str]:
    """Start the capture of an Extra."""
    if extra.pcapng:
        return network.capture_pcapng(extra.point, folder / f"{extra.name}.pcapng")
    return network.capture(
        extra.point, folder / f"{extra.name}.pcap", extra.tcpdump, extra.interface, extra.only
    )


def start_late(network: Network, case: Case, folder: Path) -> list[subprocess.Popen[str]]:
    """Start the late captures, each at its time from now."""
    late: list[subprocess.Popen[str]] = []
    started = time.monotonic()
    for extra in sorted((e for e in case.extras if e.late_s), key=lambda e: e.late_s):
        time.sleep(max(0.0, extra.late_s - (time.monotonic() - started)))
        late.append(start_extra(network, extra, folder))
    return late


def read_arguments(description: str) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--truth-only", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of the hard cases")
    parser.add_argument("words", nargs="*")
    return parser.parse_args()


def make_all(chosen: list[Case], arguments: argparse.Namespace, programs: Path) -> int:
    """Run these cases, write their truth and check it; 1 when the check complains."""
    bad = 0
    for number, case in enumerate(chosen, 1):
        if not arguments.truth_only:
            run_case(case, arguments.out, programs)
        files = truth_files.write_all(case, arguments.out / case.id)
        complaints = [c for f in files for c in check.complaints(f)]
        stalls = max(len(json.loads(f.read_text())["stalls"]) for f in files)
        print(
            f"{number:3}/{len(chosen)} {case.id:36} {stalls:3} stalls, {len(files)} captures",
            flush=True,
        )
        for complaint in complaints:
            print(f"        {complaint}")
        bad += bool(complaints)
    print(f"{len(chosen)} cases, {bad} with complaints")
    return bad > 0


def main() -> int:
    """Make the captures and their truth, and check it."""
    arguments = read_arguments(__doc__ or "")
    words = arguments.words
    chosen = [c for c in all_cases(arguments.seed) if not words or any(w in c.id for w in words)]
    return make_all(chosen, arguments, build())


if __name__ == "__main__":
    sys.exit(main())
