"""Tries nagle-scan with the lowest packages that the project allows: `make lowest`.

Newer Pythons than the lowest that it allows have no wheels of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["parquet"]]
LOWEST = [line.replace(">=", "==") for line in NEEDED]
TRIED = """
import sys
from pathlib import Path
import nagle_scan
from nagle_scan.report.formats import FORMATS
scan = nagle_scan.scan("captures/epoll-fd0.pcap")
assert scan.verdict == "stalls" and len(scan.stalls) == scan.summary.stalls == 100
for format in FORMATS:
    file = Path(sys.argv[1], format.example)
    scan.write(file)
    assert file.stat().st_size > 100, format.name
assert len(scan.findings) == 1
assert "svg" in scan._repr_html_() and scan.latency("client") is not None
connection = scan.connection(1)
for draw in (connection.ladder, connection.sequence, connection.timeline):
    assert draw()._repr_png_()
assert len(connection.packets()) == len(connection.segments())
"""


def main() -> None:
    """Raises `CalledProcessError` where something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        own = f"{folder}/bin/python"
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer")}
        for words in (["-m", "pip", "install", "--quiet", *LOWEST], ["-c", TRIED, folder]):
            subprocess.run([own, *words], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    main()
