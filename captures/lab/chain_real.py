#!/usr/bin/env python3
"""Make captures of real relays with known truth: chain_real.py [--out DIR] [--truth-only] [WORD...]

As chains.py, but the relay is nginx, haproxy, socat or stunnel, and a library that is loaded into
all programs notes what they write (programs/write_log.c).
A case is left out, with a line that says so, when its relay is not installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chain_truth
import write_log
from cases.chain_programs import BACK, FRONT, RealChain, all_real
from chain_hosts import Hosts
from chain_truth import Leg
from net import Net
from run import HERE, build, read_arguments

LONGEST_RUN_S = 120
RELAYED = HERE / "programs" / "relayed.py"


def build_library(target: Path) -> Path:
    """Compile write_log.so when needed."""
    source, library = HERE / "programs" / "write_log.c", target / "write_log.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        flags = ["-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, "-o", library, source, "-ldl"], check=True)
    return library


class Run:
    """One case while it runs."""

    def __init__(self, case: RealChain, network: Hosts, scratch: Path, library: Path) -> None:
        self.case, self.network, self.scratch = case, network, scratch
        self.noting = ("env", f"LD_PRELOAD={library}", f"WRITE_LOG={scratch / 'noted'}")

    def start(self, command: str) -> subprocess.Popen[str]:
        """Start a program whose writes are noted."""
        words = command.replace("FOLDER", str(self.scratch)).split()
        quiet = subprocess.DEVNULL
        return self.network.start("c", *self.noting, *words, stdout=quiet, stderr=quiet)

    def end(self, role: str, port: int, options: str) -> subprocess.Popen[str]:
        """Start one of relayed.py's ends."""
        words = f"{role} {port} {self.case.kind} {options}"
        return self.start(f"{sys.executable} {RELAYED} {words}")

    def set_up(self) -> None:
        """Write what the relay reads."""
        (self.scratch / "settings").write_text(
            self.case.settings.replace("FOLDER", str(self.scratch))
        )
        if "FOLDER/pem" in self.case.settings + self.case.command:
            key, cert = self.scratch / "key", self.scratch / "cert"
            command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=lab -out {cert}"
            subprocess.run([*command.split(), "-keyout", key], check=True, capture_output=True)
            (self.scratch / "pem").write_text(cert.read_text() + key.read_text())

    def wait_for(self, port: int) -> None:
        """Return once somebody listens there."""
        command = f"ip netns exec {self.network.namespace('c')} ss -Hltn sport = :{port}"
        for _ in range(100):
            if subprocess.run(command.split(), capture_output=True, text=True).stdout:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.case.id}: nobody listens on {port}")


def run_case(case: RealChain, folder: Path, programs: Path) -> None:
    """Run a case and leave its capture and logs in its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    network = Hosts(Net("loopback"), programs / "wire", folder / "wire.log")
    with tempfile.TemporaryDirectory() as scratch, network:
        run = Run(case, network, Path(scratch), build_library(programs))
        run.set_up()
        run.end("server", BACK, case.server)
        run.wait_for(BACK)
        if case.command:
            run.start(case.command)
            run.wait_for(FRONT)
        capture = network.start_view("a", folder / "a.pcap")
        client = run.end("client", FRONT if case.command else BACK, case.client)
        if client.wait(LONGEST_RUN_S):
            raise RuntimeError(f"{case.id}: the client failed")
        network.finish([capture])
        write_log.convert(Path(scratch) / "noted", folder, set(ports(case)))


def ports(case: RealChain) -> list[int]:
    """Of each leg."""
    return [FRONT, BACK] if case.command else [BACK]


def write_truth(case: RealChain, folder: Path) -> list[Path]:
    """Write the truth of a case's captures."""
    legs = [Leg(folder, port, {"client": "a", "server": "a"}) for port in ports(case)]
    facts = {"point": "loopback", "case": case.id, "relays": len(legs) - 1, "rtt_ms": 0.0}
    return chain_truth.write_all(folder, legs, {"a": facts})


def main() -> int:
    """Make the captures and their truth."""
    arguments = read_arguments(__doc__ or "")
    programs, words = build(), arguments.words
    chosen = [c for c in all_real() if not words or any(w in c.id for w in words)]
    for number, case in enumerate(chosen, 1):
        program = case.command.split(" ")[0]
        if program and not shutil.which(program):
            print(f"{case.id:44} left out: no {program}")
            continue
        folder = arguments.out / case.id
        if not arguments.truth_only:
            run_case(case, folder, programs)
        files = write_truth(case, folder)
        stalls = max(len(json.loads(f.read_text())["stalls"]) for f in files)
        print(f"{number:3}/{len(chosen)} {case.id:44} {stalls:4} stalls", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
