"""What the figures came from: the machine and the versions, without its name."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

TOOLS = {
    "rustc": ("rustc --version", r"\d+\.\d+(?:\.\d+)?"),
    "libpcap": ("tcpdump --version", r"(?<=libpcap version )[\d.]+"),
    "tcptrace": ("tcptrace -version", r"\d+\.\d+(?:\.\d+)?"),
    "tshark": ("tshark --version", r"\d+\.\d+(?:\.\d+)?"),
    "nfpcapd": ("nfpcapd -V", r"\d+\.\d+(?:\.\d+)?"),
}


def _first(pattern: str, path: str) -> str:
    """What a line of a file in /proc says."""
    try:
        found = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    except OSError:
        return "unknown"
    return found[1] if found else "unknown"


def _version(command: str, pattern: str) -> str:
    try:
        done = subprocess.run(command.split(), capture_output=True, text=True, timeout=30)
    except OSError:
        return "not installed"
    found = re.search(pattern, done.stdout + done.stderr)
    return found[0] if found else "unknown"


def load() -> float:
    """How many processes ran or wanted to, over the last minute."""
    return os.getloadavg()[0]


def described(load_before: float) -> list[tuple[str, str]]:
    """Name and value of everything that matters to a figure."""
    memory_kib = _first(r"^MemTotal:\s+(\d+)", "/proc/meminfo")
    memory = f"{int(memory_kib) / 1024**2:.1f} GiB" if memory_kib.isdigit() else memory_kib
    return [
        ("CPU", _first(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo")),
        ("CPUs to run on", str(len(os.sched_getaffinity(0)))),
        ("memory", memory),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("load before", f"{load_before:.1f}"),
        ("load at the end", f"{load():.1f}"),
        ("Python", platform.python_version()),
        *((name, _version(*tool)) for name, tool in TOOLS.items()),
    ]


def of_fleets(load_before: float) -> list[tuple[str, str]]:
    """The same, of what fleets need."""
    packages = ("deltalake", "pyarrow")
    return [
        *(pair for pair in described(load_before) if pair[0] not in TOOLS),
        *((name, version(name)) for name in packages if find_spec(name) is not None),
    ]
