"""Runs a Case: peer.c or a stack in user space at both ends, and tcpdump wherever it is wanted."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from string import ascii_letters, digits

import derive
from cases import FIRST_PORT, Case, Extra, unrolled
from network import AT_ONCE, LINUX, STACK_INTERFACE, STACKS, Network, Process
from tools import tool
from truths import SIDES

LONGEST_RUN_S = 60


def missing(case: Case) -> list[str]:
    """Stacks that cannot be built here."""
    lacking = []
    for stack in set(case.net.stacks) - {LINUX}:
        try:
            tool(program_of(stack))
        except subprocess.CalledProcessError:
            lacking.append(program_of(stack))
    return lacking


def program_of(stack: str) -> str:
    """The program that runs a stack: its name without the ACK delay."""
    return f"{stack.rstrip(digits)}_peer"


def record(case: Case, folder: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    with Network(case.net, folder / "wire.log") as network:
        captures = [
            network.capture(point, folder / f"{point}.pcap", case.only)
            for point in case.net.points()
        ]
        prompt = [e for e in case.extras if not e.late_s and not e.derive]
        captures += [start_extra(network, extra, folder) for extra in prompt]
        server, client = (start_peer(network, case, side, folder) for side in SIDES[::-1])
        captures += start_late(network, case, folder)
        if client.wait(LONGEST_RUN_S) or server.wait(LONGEST_RUN_S):
            raise RuntimeError("a peer failed")
        network.finish(captures, linger_s=0.3 + case.net.rtt_ms / 1000)
    for extra in case.extras:
        if extra.derive:
            source, target = f"{extra.point}.pcap", f"{extra.name}{extra.suffix}"
            derive.make(extra.derive, folder / source, folder / target)


def start_peer(network: Network, case: Case, side: str, folder: Path) -> Process:
    """Start the client or the server and return once it is ready."""
    number = SIDES.index(side)
    role, address = ("connect", "listen")[number], network.server_address
    command = [str(tool("peer")), "--log", str(folder / f"{side}.log")]
    if case.net.has_stack(side[0]):
        stack, script = case.net.stacks[number], case.flows[0][number]
        option = "nodelay" if "nodelay:1" in script else "nagle"
        ack_delay_us = int(stack.lstrip(ascii_letters) or 0) * 1000
        words = [tool(program_of(stack)), STACK_INTERFACE, STACKS[side[0]].own, option]
        words += [ack_delay_us, role, address, FIRST_PORT]
        # It takes the kernel's part: other programs must not delay it.
        command = [*AT_ONCE, *command, "--through", " ".join(map(str, ["exec", *words]))]
    else:
        command += ["--congestion", case.net.congestion]
        if case.client_rcvbuf and side == "client":
            command += ["--rcvbuf", str(case.client_rcvbuf)]
    command += [role, address]
    for i, scripts in enumerate(case.flows):
        port = FIRST_PORT if case.one_port else FIRST_PORT + i
        command += [str(port), unrolled(scripts[number])]
    return network.start_ready(side[0], *command)


def start_extra(network: Network, extra: Extra, folder: Path) -> Process:
    """Start the capture of an Extra."""
    path = folder / f"{extra.name}{extra.suffix}"
    options = (*extra.tcpdump, extra.only)
    return network.capture(extra.point, path, *options, interface=extra.interface)


def start_late(network: Network, case: Case, folder: Path) -> list[Process]:
    """Start the late captures, each at its time from now."""
    late: list[Process] = []
    started = time.monotonic()
    for extra in sorted((e for e in case.extras if e.late_s), key=lambda e: e.late_s):
        time.sleep(max(0.0, extra.late_s - (time.monotonic() - started)))
        late.append(start_extra(network, extra, folder))
    return late
