#!/usr/bin/env python3
"""Make captures of TCP stacks other than Linux's: stacks.py [--out DIR] [--truth-only] [WORD...]

As run.py, for the cases of cases/stacks.py. A stack is left out, with a line
that says so, when it cannot be built here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from cases.stacks import stack_cases
from net import LINUX
from run import HERE, build, make_all, read_arguments

PROGRAMS = HERE / "programs"


def build_smoltcp(target: Path) -> None:
    """smoltcp_peer, with cargo."""
    folder = target / "smoltcp"
    manifest = PROGRAMS / "smoltcp_peer" / "Cargo.toml"
    command: list[str | Path] = ["cargo", "build", "--release", "--locked", "--quiet"]
    command += ["--manifest-path", manifest, "--target-dir", folder]
    subprocess.run(command, check=True)
    shutil.copy2(folder / "release" / "smoltcp_peer", target)


def build_gvisor(target: Path) -> None:
    """gvisor_peer, with go."""
    command: list[str | Path] = ["go", "build", "-o", target / "gvisor_peer", "."]
    subprocess.run(command, cwd=PROGRAMS / "gvisor_peer", check=True)


def build_lwip(target: Path) -> None:
    """lwip_peer, with gcc and Debian's liblwip-dev."""
    source, program = PROGRAMS / "lwip_peer.c", target / "lwip_peer"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "lwip"], capture_output=True, text=True, check=True
    )
    command: list[str | Path] = ["gcc", "-O2", "-Wall", "-Wextra", "-pthread", "-o"]
    subprocess.run([*command, program, source, *flags.stdout.split()], check=True)


BUILDERS = {"smoltcp": build_smoltcp, "lwip": build_lwip, "gvisor": build_gvisor}


def buildable(target: Path, wanted: set[str]) -> set[str]:
    """The stacks that could be built, after telling which could not."""
    built = {LINUX}
    for stack in sorted(wanted - built):
        try:
            BUILDERS[stack](target)
            built.add(stack)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{stack} is left out: {error}")
    return built


def main() -> int:
    """Make the captures and their truth, and check it."""
    arguments = read_arguments(__doc__ or "")
    words = arguments.words
    cases = [c for c in stack_cases() if not words or any(w in c.id for w in words)]
    programs = build()
    built = buildable(programs, {stack for c in cases for stack in c.net.stacks})
    return make_all([c for c in cases if built.issuperset(c.net.stacks)], arguments, programs)


if __name__ == "__main__":
    sys.exit(main())
