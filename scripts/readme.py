"""Puts the real output of nagle-scan into the README: `make readme`; `--check` only compares."""

import subprocess
import sys
from pathlib import Path

README = Path("README.md")
COMMAND = [".venv/bin/nagle-scan", "captures/epoll-fd0.pcap"]
BEGIN, END = "$ nagle-scan captures/epoll-fd0.pcap\n", "```\n"
LINES_SHOWN = 32


def updated(readme: str) -> str:
    """The README with what the command prints now."""
    output = subprocess.run(COMMAND, capture_output=True, text=True, check=False).stdout
    shown = "".join(output.splitlines(keepends=True)[:LINES_SHOWN])
    before, rest = readme.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}{shown}...\n{END}{after}"


def main() -> int:
    """Exit status 1 if `--check` finds the README stale."""
    readme = README.read_text()
    if "--check" in sys.argv:
        return int(readme != updated(readme))
    README.write_text(updated(readme))
    return 0


if __name__ == "__main__":
    sys.exit(main())
