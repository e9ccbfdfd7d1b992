"""The lab's compiled programs, which its Makefile builds."""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


def tool(name: str) -> Path:
    """A program of the lab, up to date; raises `CalledProcessError` where it cannot be built."""
    target = Path("build") / name
    subprocess.run(["make", "--silent", "-C", HERE, target], check=True)
    return HERE / target
