"""Tries nagle-scan with what a machine may have: no package, the lowest allowed, the newest.

python scripts/matrix.py [--quick] [--aarch64 FOLDER]

With each Python from 3.11 on that is found here, of those that the project names; --quick: with
this one only, and without the newest packages, which the tests have. The engine is that of this
folder. --aarch64: the wheel in dist for that processor, too, with the Python in a folder that
debootstrap made, under qemu-aarch64 (Debian's qemu-user).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEWEST = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["parquet"]]
LOWEST = [line.replace(">=", "==") for line in NEWEST]
SETS = {"nothing": [], "lowest": LOWEST, "newest": NEWEST}
ALONE = """
import nagle_scan
scan = nagle_scan.scan("captures/epoll-fd0.pcap")
assert scan.verdict == "stalls" and scan.summary.stalls == 100
assert scan.render("json") and scan.render("md") and scan.render("xml")
"""
ALL = """
from nagle_scan.report.formats import FORMATS
for format in FORMATS:
    assert len(getattr(scan, f"to_{format.name}")()) > 100, format.name
assert len(scan.stalls) == 100 == len(scan.findings) * 100
assert "svg" in scan._repr_html_() and scan.latency("client") is not None
connection = scan.connection(1)
for draw in (connection.ladder, connection.sequence, connection.timeline):
    assert draw()._repr_png_()
assert len(connection.packets()) == len(connection.segments())
"""


def pythons(quick: bool) -> Iterator[tuple[str, str]]:
    """Version and path of this one, or of each that the project names and that is found."""
    if quick:
        yield f"{sys.version_info.major}.{sys.version_info.minor}", sys.executable
        return
    named = re.findall(r":: (3\.\d+)'", str(PROJECT["classifiers"]))
    for version in named:
        found = shutil.which(f"python{version}")
        # pyenv has a name for each, whether it is there or not.
        if found and not subprocess.run([found, "-c", ""], capture_output=True).returncode:
            yield version, found
        else:
            print(f"Python {version}: not found here")


def tried(python: str, packages: list[str]) -> str:
    """What went wrong; empty if nothing did."""
    with tempfile.TemporaryDirectory() as folder:
        own = f"{folder}/bin/python"
        subprocess.run([python, "-m", "venv", folder], check=True)
        steps = [[own, "-c", ALONE + (ALL if packages else "")]]
        if packages:
            steps.insert(0, [own, "-m", "pip", "install", "--quiet", *packages])
        for step in steps:
            if problem := failure(step, ROOT / "analyzer"):
                return problem
    return ""


def failure(step: list[str], path: Path) -> str:
    """The last line of what a program says that fails, with the packages in this folder."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(
        step, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def tried_on_aarch64(root: Path) -> str:
    """As `tried`, with the wheel for that processor and no packages."""
    wheel = next((ROOT / "dist").glob("nagle_scan-*_aarch64.whl"), None)
    python = next((root / "usr/bin").glob("python3.*[0-9]"), None)
    if wheel is None or python is None:
        return "no wheel in dist: make wheel ARCH=aarch64" if python else f"no Python in {root}"
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        return failure(["qemu-aarch64", "-L", str(root), str(python), "-c", ALONE], Path(folder))


def main() -> int:
    """Exit status 1 if something went wrong."""
    quick, failed = "--quick" in sys.argv, False
    for version, python in pythons(quick):
        # The lowest packages have no wheels for newer Pythons.
        is_lowest = PROJECT["requires-python"] == f">={version}"
        left_out = {"newest"} if quick else set()
        left_out |= set() if is_lowest else {"lowest"}
        for name in (name for name in SETS if name not in left_out):
            problem = tried(python, SETS[name])
            failed = failed or bool(problem)
            print(f"Python {version}, {name}: {problem or 'ok'}", flush=True)
    if "--aarch64" in sys.argv:
        problem = tried_on_aarch64(Path(sys.argv[sys.argv.index("--aarch64") + 1]))
        failed = failed or bool(problem)
        print(f"aarch64, nothing: {problem or 'ok'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
