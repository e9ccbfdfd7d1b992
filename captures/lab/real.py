#!/usr/bin/env python3
"""Make captures of real programs with known truth: real.py [--out DIR] [--truth-only] [WORD...]

As run.py, but the applications are real servers and clients, before and after
the fix, and their logs are made from strace.
A case is left out, with a line that says so, when its server is not installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import check
import strace_log
import truth_files
from network import Network
from real_cases import RealCase, real_cases
from real_setup import PORT, PROGRAMS
from run import HERE, build

STRACE = (
    f"strace -f --seccomp-bpf -ttt -yy -s 0 -e trace={strace_log.CALLS} -e signal=none -o".split()
)


def run_real(case: RealCase, out: Path, wire: Path) -> None:
    """Run a case and leave its captures and logs in its folder."""
    folder = out / case.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        Network(case.net, wire, folder / "wire.log") as network,
    ):
        server_trace, client_trace = Path(scratch, "server"), Path(scratch, "client")
        if case.setup:
            case.setup(Path(scratch))
        host = network.server_address
        server = network.start(
            "s",
            *STRACE,
            str(server_trace),
            *command(case.server, Path(scratch), host),
            cwd=PROGRAMS,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_listener(network)
            captures = [
                network.capture(point, folder / f"{point}.pcap") for point in case.net.points()
            ]
            client = command(case.client, Path(scratch), host)
            if network.start(
                "c", *STRACE, str(client_trace), *client, cwd=PROGRAMS, stdout=subprocess.DEVNULL
            ).wait(60):
                raise RuntimeError("the client failed")
            network.finish(captures)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()
        strace_log.convert(server_trace, folder / "server.log", PORT)
        strace_log.convert(client_trace, folder / "client.log", PORT)


def command(words: tuple[str, ...], folder: Path, host: str) -> list[str]:
    """A command with what is known only now; Python programs are run by this Python."""
    known = [w.replace("FOLDER", str(folder)).replace("HOST", host) for w in words]
    return [sys.executable, *known] if known[0].endswith(".py") else known


def wait_for_listener(network: Network) -> None:
    """Return once the server listens."""
    for _ in range(200):
        listening = subprocess.run(
            ["ip", "netns", "exec", network.namespace("s"), "ss", "-Hltn", f"sport = :{PORT}"],
            capture_output=True,
            text=True,
        ).stdout
        if listening:
            return
        time.sleep(0.1)
    raise RuntimeError("the server does not listen")


def main() -> int:
    """Make the captures and their truth, and check it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "out")
    parser.add_argument("--truth-only", action="store_true")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    wire, bad = build() / "wire", 0
    for case in real_cases():
        if arguments.words and not any(w in case.id for w in arguments.words):
            continue
        missing = [p for p in case.needs if not shutil.which(p)]
        if missing:
            print(f"{case.id:36} left out: no {', '.join(missing)}")
            continue
        if not arguments.truth_only:
            run_real(case, arguments.out, wire)
        files = truth_files.write_all(case, arguments.out / case.id)
        complaints = [c for f in files for c in check.complaints(f)]
        print(f"{case.id:36} {len(files)} captures", *complaints, sep="\n        ", flush=True)
        bad += bool(complaints)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
